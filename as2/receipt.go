package as2

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
)

// tokenField carries the token of the URL that a kept receipt was posted to.
// It is ours: partners cannot set it, since Write overwrites it.
const tokenField = "Edigw-Receipt-Token"

// Receipt is an MDN as it arrived, kept as evidence: headers and the bytes of
// the body, not believed yet.
type Receipt struct {
	Header http.Header
	Body   []byte
	Token  string // of the URL that it was posted to; empty if it came in a response
}

// Write writes the receipt as a header block and a body.
func (r Receipt) Write(w io.Writer) error {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Del(tokenField)
	if r.Token != "" {
		h.Set(tokenField, r.Token)
	}
	if err := h.Write(w); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\r\n"); err != nil {
		return err
	}
	_, err := w.Write(r.Body)
	return err
}

// ReadReceipt reads what Write wrote. Bodies over 1 MiB, which Write never got
// from Send or a Handler, are refused.
func ReadReceipt(r io.Reader) (Receipt, error) {
	const most = 1 << 20
	br := bufio.NewReader(io.LimitReader(r, 2*most))
	h, err := textproto.NewReader(br).ReadMIMEHeader()
	if err != nil {
		return Receipt{}, fmt.Errorf("read the headers of a kept receipt: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(br, most+1))
	if err != nil {
		return Receipt{}, fmt.Errorf("read a kept receipt: %w", err)
	}
	if len(body) > most {
		return Receipt{}, fmt.Errorf("read a kept receipt: longer than %d bytes", most)
	}
	header := http.Header(h)
	out := Receipt{Header: header, Body: body, Token: header.Get(tokenField)}
	header.Del(tokenField)
	return out, nil
}
