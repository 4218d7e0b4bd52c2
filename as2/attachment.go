package as2

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"edigw/internal/rawmime"
	"edigw/internal/tame"
)

// multipartRelated is the type of a document of several parts (RFC 6362).
const multipartRelated = "multipart/related"

// Attachment is one part of a document of several.
type Attachment struct {
	Name        string // safe to create; may be empty
	ContentType string
	Size        int64  // without its transfer encoding
	SHA256      string // of the same; lower-case hex
}

// attachments looks at each part of a multipart/related: that its content can
// be read, and what it is. root is the number of the part that the others
// belong to (RFC 2387 §3.2), −1 if there is none.
func (p part) attachments() (all []Attachment, root int, err error) {
	if p.mediaType != multipartRelated {
		return nil, -1, nil
	}
	root = -1
	parts := rawmime.NewMultipart(p.body(), p.params["boundary"], maxParts)
	for {
		next, err := parts.Next()
		if errors.Is(err, io.EOF) {
			return all, root, nil
		} else if err != nil {
			return nil, -1, err
		}
		one, id, err := attachment(next)
		if err != nil {
			return nil, -1, err
		}
		if root < 0 || id != "" && id == p.params["start"] {
			root = len(all)
		}
		all = append(all, one)
	}
}

// attachment reads one part; id is its Content-ID.
func attachment(r io.Reader) (a Attachment, id string, err error) {
	p, content, id, err := attached(r)
	if err != nil {
		return a, "", err
	}
	sum := sha256.New()
	if a.Size, err = copyAll(sum, content); err != nil {
		return a, "", err
	}
	a.Name, a.ContentType, a.SHA256 = p.fileName, tame.Clip(tame.Line(p.contentType), maxWords), hex.EncodeToString(sum.Sum(nil))
	if a.ContentType == "" {
		a.ContentType = "text/plain" // RFC 2045 §5.2
	}
	return a, id, nil
}

// attached reads the header of a part; its content follows.
func attached(r io.Reader) (p part, content io.Reader, id string, err error) {
	br := bufio.NewReader(r)
	h, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return p, nil, "", err
	}
	// What is no Content-Type is told as it is: it spoils nothing else.
	p, _ = newPart(h.Get("Content-Type"), h.Get("Content-Transfer-Encoding"), h.Get("Content-Disposition"), nil)
	content, err = rawmime.DecodeTransfer(br, p.encoding)
	return p, content, strings.TrimSpace(h.Get("Content-ID")), err
}

// nth is the content of one part, which was looked at before.
func (p part) nth(n int) (io.Reader, error) {
	parts := rawmime.NewMultipart(p.body(), p.params["boundary"], maxParts)
	for range n {
		if _, err := parts.Next(); err != nil {
			return nil, err
		}
	}
	next, err := parts.Next()
	if err != nil {
		return nil, err
	}
	_, content, _, err := attached(next)
	return content, err
}
