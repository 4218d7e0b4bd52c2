package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edigw/queue"
)

// maxReferences bounds Edigw-References; longer ones are left out, since the
// receiver has them in the document.
const maxReferences = 2 << 10

// stamp is the instant of a post, as it is signed.
func stamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// sign gives Webhook-Signature as Standard Webhooks has it: HMAC-SHA256 over
// id, instant and body, with dots in between. It reads the document to its end
// and fails if it is not the one that was stored.
func sign(ctx context.Context, key []byte, id string, at time.Time, document io.Reader, stored queue.Payload) (string, error) {
	mac, sum := hmac.New(sha256.New, key), sha256.New()
	io.WriteString(mac, id+"."+stamp(at)+".")
	n, err := io.Copy(io.MultiWriter(mac, sum), stoppable{ctx, document})
	if err != nil {
		return "", fmt.Errorf("the received document cannot be read: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != stored.Size || got != stored.SHA256 {
		return "", fmt.Errorf("the received document was stored as %s (%d bytes) and reads back as %s (%d bytes)", stored.SHA256, stored.Size, got, n)
	}
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// stoppable ends a long read when ctx does.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// describe sets the headers that say what the document is and where it came
// from.
func describe(h http.Header, m queue.Message, o queue.Origin) {
	h.Set("User-Agent", "edigw")
	h.Set("Content-Type", "application/octet-stream")
	set := func(name, value string) {
		if value = headerText(value); value != "" {
			h.Set(name, value)
		}
	}
	set("Content-Type", m.Payload.ContentType)
	if name := m.Payload.FileName; name != "" {
		set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	set("Edigw-Partner", m.Partner)
	set("Edigw-Message-Id", o.MessageID)
	set("Edigw-From", o.From)
	set("Edigw-To", o.To)
	set("Edigw-Sha256", m.Payload.SHA256)
	if list := references(m.Business); len(list) <= maxReferences {
		set("Edigw-References", list)
	}
}

// references are the business references as a query string, in the order of the
// document: po=4500099001&invoice=INV-20931.
func references(b queue.Business) string {
	all := make([]string, len(b.References))
	for i, r := range b.References {
		all[i] = url.QueryEscape(r.Name) + "=" + url.QueryEscape(r.Value)
	}
	return strings.Join(all, "&")
}

// headerText takes out what must not stand in a header: a partner chose it.
func headerText(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s))
}
