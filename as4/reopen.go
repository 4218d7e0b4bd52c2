package as4

import (
	"errors"
	"io"

	"edigw/as4/ebms"
	"edigw/internal/scratch"
)

// Reopen opens a kept message under the P-Mode of today, as if it came now, and
// gives it to take with the answer that would be its: nothing goes out. Its
// readers are good until take returns. The error is ErrNoPMode, a fault of our
// own side, or take's. It is safe for concurrent use.
//
// What was bound to the connection, a client certificate, is not asked for
// again: what lacked it when it was asked for was refused unread, and of what
// came before that whoever has it opened decides. Signals beside the message
// were taken when it came.
func (h *Handler) Reopen(k Kept, take func(Received) error) error {
	wire := func() io.Reader { return scratch.Reader(io.NewSectionReader(k.Body, 0, k.Size)) }
	f, err := framingOf(k.Header.Get("Content-Type"))
	if err != nil {
		return ErrNoPMode
	}
	raw, err := f.readEnvelope(wire(), int64(h.o.Envelope))
	if errors.Is(err, scratch.ErrDisk) {
		return err
	}
	if err != nil {
		return ErrNoPMode
	}
	env, err := parseEnvelope(raw, h.o.Envelope)
	if env == nil || env.User == nil {
		return ErrNoPMode
	}
	d, err := h.delivery(env, err)
	if err != nil {
		return err
	}
	space := h.o.Room.Space(h.o.Scratch, d.partner, "reopened")
	defer space.Close()
	d.framing, d.header, d.wire, d.size, d.sum, d.space = f, k.Header, wire, k.Size, k.SHA256, space
	rec, err := d.examine()
	if err != nil {
		return err
	}
	return take(rec)
}

// delivery begins to receive a message: it finds its P-Mode. found is what is
// wrong with its header, nil if nothing is. The error is ErrNoPMode, or one of
// ours.
func (h *Handler) delivery(env *ebms.Envelope, found error) (*delivery, error) {
	p, partner, err := h.o.Partners.ByMessage(env.User)
	var mismatch *MismatchError
	switch {
	case errors.As(err, &mismatch):
		if found == nil && !mismatch.excused(env.User) {
			found = mismatch
		}
	case err != nil:
		return nil, err
	}
	return &delivery{h: h, env: env, p: p, partner: partner, problem: found}, nil
}
