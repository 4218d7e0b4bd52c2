package inbox

import (
	"fmt"
	"io"
	"net/http"

	"edigw/store/spool"
)

// maxRefused is how much is kept of the body of a message that was refused:
// enough to see why, too little to fill the disk with.
const maxRefused = 1 << 20

// WriteRequest writes a request as it arrived: a header block, an empty line,
// the body.
func WriteRequest(w io.Writer, h http.Header, body io.Reader) error {
	if err := h.Write(w); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\r\n"); err != nil {
		return err
	}
	_, err := io.Copy(w, body)
	return err
}

// keepRequest makes a request durable and returns its spool name.
func (b *Inbox) keepRequest(h http.Header, body io.Reader) (string, error) {
	w, err := b.writeRequest(h, body)
	if err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// writeRequest writes a request; the caller commits or aborts it.
func (b *Inbox) writeRequest(h http.Header, body io.Reader) (*spool.Writer, error) {
	w, err := b.Spool.Create(spool.Inbox, 0)
	if err != nil {
		return nil, err
	}
	if err := WriteRequest(w, h, body); err != nil {
		w.Abort()
		return nil, fmt.Errorf("inbox: keep a request: %w", err)
	}
	return w, nil
}
