package as4

import (
	"bytes"
	"io"
	"slices"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// bundled are the attachments of a message that a signal came along with (ebMS
// 3.0 Core §5.2.4): one signature covers both. body is bounded, so that they fit
// into memory. Of what cannot be read there is no part; then the signature does
// not verify, and says for which.
func (p PMode) bundled(env *ebms.Envelope, contentType string, body []byte) []wssec.Part {
	f, ok := framingByContent(contentType, body)
	if env.User == nil || !ok {
		return nil
	}
	content := map[string][]byte{}
	var parts []wssec.Part
	mime := newSplitter(bytes.NewReader(body), f.boundary)
	defer mime.release()
	for n := 1; ; n++ {
		m, err := mime.next(n)
		if err != nil {
			break
		}
		if f.isRoot(m) || m.id == "" {
			continue
		}
		if content[m.id], err = io.ReadAll(m.content); err != nil {
			break
		}
		parts = append(parts, wssec.Part{ContentID: m.id, MediaType: m.contentType, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content[m.id])), nil
		}})
	}
	p.decryptBundled(env, content, parts)
	return parts
}

// decryptBundled puts what encrypted parts hold in the place of their ciphertext.
func (p PMode) decryptBundled(env *ebms.Envelope, content map[string][]byte, parts []wssec.Part) {
	security, err := wssec.Security(env.Header, "")
	if err != nil {
		return
	}
	sealed, err := wssec.ReadEncrypted(security)
	if err != nil || sealed == nil {
		return
	}
	opening, err := sealed.Unlock(p.Decrypt)
	if err != nil {
		return
	}
	for _, e := range sealed.Parts() {
		i := slices.IndexFunc(parts, func(p wssec.Part) bool { return p.ContentID == e.ContentID })
		var plain bytes.Buffer
		if i < 0 || opening.Decrypt(&plain, e.ContentID, bytes.NewReader(content[e.ContentID])) != nil {
			continue
		}
		content[e.ContentID], parts[i].MediaType = plain.Bytes(), e.MediaType
	}
}
