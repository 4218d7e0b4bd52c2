package as2

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzReadRelated: what is taken from a producer can be taken apart again, and
// the other way round; nothing is invented.
func FuzzReadRelated(f *testing.F) {
	const related = `multipart/related; boundary=b`
	f.Add(related, []byte("--b\r\nContent-Type: application/edi-x12\r\n\r\nISA~\r\n--b\r\n\r\npdf\r\n--b--\r\n"))
	f.Add(related+`; start="<2>"`, []byte("--b\r\n\r\none\r\n--b\r\nContent-ID: <2>\r\nContent-Transfer-Encoding: base64\r\n\r\ndHdv\r\n--b--\r\n"))
	f.Add(related, []byte("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\n--c--\r\n--b--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		var root bytes.Buffer
		err := ReadRelated(bytes.NewReader(body), contentType, &root)
		if err != nil && !errors.Is(err, ErrRelated) {
			t.Errorf("an error of no kind: %v", err)
		}
		var all int64
		each := TakeApart(bytes.NewReader(body), contentType, func(_ RelatedPart, content io.Reader) error {
			n, err := io.Copy(io.Discard, content)
			all += n
			return err
		})
		if (err == nil) != (each == nil) {
			t.Errorf("read: %v; taken apart: %v", err, each)
		}
		if err == nil && (int64(root.Len()) > all || all > int64(len(body))) {
			t.Errorf("%d bytes of root, %d in all, out of %d", root.Len(), all, len(body))
		}
	})
}
