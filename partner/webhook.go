package partner

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"edigw/internal/conf"
)

// Webhook is where received documents are posted instead of the inbox folder.
type Webhook struct {
	URL    string
	Secret conf.Secret // signs the posts; read at each use
}

// keyMark begins a secret in the form of Standard Webhooks: base64 follows.
const keyMark = "whsec_"

var errKey = errors.New("begins with " + keyMark + " and goes on with something that is not base64")

// Key reads the secret now and gives the key that signs: the bytes that are
// behind "whsec_" in base64, else the text as it is. Errors name the file and
// never its content.
func (w *Webhook) Key() ([]byte, error) {
	text, err := w.Secret.Read()
	if err != nil {
		return nil, fmt.Errorf("the secret of inbox.webhook: %w", err)
	}
	if text == "" {
		return nil, errors.New("the secret of inbox.webhook: no file is named")
	}
	encoded, marked := strings.CutPrefix(text, keyMark)
	if !marked {
		return []byte(text), nil
	}
	key, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(encoded, "="))
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("the secret of inbox.webhook: %s %w", w.Secret.File(), errKey)
	}
	return key, nil
}

// checkWebhook looks at the address and, once, at the secret.
func (d *draft) checkWebhook() {
	w := d.file.Inbox.Webhook
	if w == nil {
		return
	}
	if address := string(w.URL); address != "" && !webhookURL(address) {
		d.problem("inbox.webhook.url", "https://…, or http on this machine", "received documents would go over the network unprotected")
	}
	d.checkSecret("inbox.webhook.secret_file", w.Secret)
	if _, err := (&Webhook{Secret: w.Secret}).Key(); errors.Is(err, errKey) {
		d.problem("inbox.webhook.secret_file", "whsec_ and base64, or any other text", "%s %v", d.relative(w.Secret.File()), errKey)
	}
}
