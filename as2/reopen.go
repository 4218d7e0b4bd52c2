package as2

import (
	"errors"
	"io"
	"net/http"

	"edigw/internal/scratch"
)

// ErrNoAgreement says that a kept message is of names that have no agreement.
var ErrNoAgreement = errors.New("there is no agreement between the AS2 names of this message")

// Kept is a request as it was kept.
type Kept struct {
	Header http.Header
	Body   io.ReaderAt
	Size   int64  // of the body
	SHA256 string // of the body, lower-case hex
}

// Reopen opens a kept message under the agreement of today, as if it came now,
// and gives it to take with the answer that would be its: nothing goes out. Its
// readers are good until take returns. The error is ErrNoAgreement, a fault of
// our own side, or take's. It is safe for concurrent use.
//
// What was bound to the connection, a client certificate, is not asked for
// again: what lacked it when it was asked for was refused unread, and of what
// came before that whoever has it opened decides.
func (h *Handler) Reopen(k Kept, take func(Received) error) error {
	q, err := parseRequest(k.Header)
	if err != nil {
		return ErrNoAgreement
	}
	a, partner, known := h.o.Partners.ByNames(q.from, q.to)
	if !known {
		return ErrNoAgreement
	}
	space := h.o.Room.Space(h.o.Scratch, partner, "reopened")
	defer space.Close()
	wire := func() io.Reader { return scratch.Reader(io.NewSectionReader(k.Body, 0, k.Size)) }
	d := &delivery{h: h, q: q, a: a, partner: partner, wire: wire, size: k.Size, sum: k.SHA256, space: space}
	rec, err := d.examine(k.Header)
	if err != nil {
		return err
	}
	return take(rec)
}
