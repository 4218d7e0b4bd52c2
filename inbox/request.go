package inbox

import (
	"fmt"
	"io"
	"net/http"

	"edigw/store/spool"
)

// maxRefused is how much is kept in any case of the body of a message that was
// refused: enough to see why, too little to fill the disk with.
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

// request begins to keep the request of an arrival, unless it is kept already.
func (b *Inbox) request(a *arrival) (keeping, error) {
	if a.request != "" {
		return keeping{name: a.request}, nil
	}
	w, err := b.writeRequest(a.Header, a.Wire)
	return keeping{writer: w}, err
}

// keeping is a request on its way into the spool, or one that lies there.
type keeping struct {
	name   string
	writer *spool.Writer
}

// Commit makes it durable and returns its spool name.
func (k keeping) Commit() (string, error) {
	if k.writer == nil {
		return k.name, nil
	}
	name, _, err := k.writer.Commit()
	return name, err
}

// Abort gives it up if it was not committed.
func (k keeping) Abort() {
	if k.writer != nil {
		k.writer.Abort()
	}
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
