// Package wiretest is what tests of senders share: a spool whose small bodies can
// fail, and what must hold of every sender when they do. Nothing of it may leave a
// test.
package wiretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// Put writes content into a spool.
func Put(t *testing.T, s *spool.Spool, kind spool.Kind, content []byte) (name string, size int64) {
	t.Helper()
	w, err := s.Create(kind, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	name, size, err = w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return name, size
}

// Cabinet keeps small bodies, until it fails.
type Cabinet struct {
	Err   error // of Get and Size
	After int   // so many calls still go well

	bodies map[string][]byte
}

// NewCabinet gives an empty one.
func NewCabinet() *Cabinet { return &Cabinet{bodies: map[string][]byte{}} }

func (c *Cabinet) failure() error {
	if c.After--; c.After >= 0 {
		return nil
	}
	return c.Err
}

// Put implements spool.Small.
func (c *Cabinet) Put(_ context.Context, kind, name string, body []byte, _ time.Time) error {
	c.bodies[kind+name] = bytes.Clone(body)
	return nil
}

// Get implements spool.Small.
func (c *Cabinet) Get(_ context.Context, kind, name string) ([]byte, error) {
	if err := c.failure(); err != nil {
		return nil, err
	}
	body, ok := c.bodies[kind+name]
	if !ok {
		return nil, queue.ErrNotFound
	}
	return body, nil
}

// Size implements spool.Small.
func (c *Cabinet) Size(ctx context.Context, kind, name string) (int64, error) {
	body, err := c.Get(ctx, kind, name)
	return int64(len(body)), err
}

// Delete implements spool.Small.
func (c *Cabinet) Delete(context.Context, string, time.Time, ...string) (int, error) { return 0, nil }

// Names implements spool.Small.
func (c *Cabinet) Names(context.Context, string, time.Time, string, int) ([]string, error) {
	return nil, nil
}

// Sender is a sender of documents or of receipts.
type Sender interface {
	Prepare(ctx context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome)
	Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string)
}

// Judge is a sender of documents, which judges acknowledgements that are kept.
type Judge interface {
	Sender
	Judge(ctx context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome
}

// House is a gateway with one partner, in the hands of the test of a sender.
type House interface {
	// Reopen keeps small bodies in c, and forgets what was read before.
	Reopen(c *Cabinet)
	// Deliver takes a document in and makes one exchange of it; raw is the
	// acknowledgement that was kept.
	Deliver() (m queue.Message, raw string)
	// Made are the builds so far, and Sent how many requests came to the partner.
	Made() []queue.Build
	Sent() int
	// Senders are those of documents, which also judges, and of receipts.
	Senders() (documents Judge, receipts Sender)
}

// StoreIsSilent holds a sender to this: what cannot be read now is neither gone nor
// damaged. Nothing is built anew (delivery.md §2), nothing is sent, and no message
// becomes a letter.
func StoreIsSilent(t *testing.T, h House, why error) {
	t.Helper()
	c := NewCabinet()
	h.Reopen(c)
	m, raw := h.Deliver()
	h.Reopen(c)
	c.Err = fmt.Errorf("bodies: %w", why)
	stopped := func(what string, o *fault.Outcome) {
		t.Helper()
		if o == nil || o.Cause != fault.CauseStopped || o.Phase.Reached() || o.Ack != nil {
			t.Errorf("%s: %+v", what, o)
		}
	}
	documents, receipts := h.Senders()
	b := h.Made()[0]
	_, fresh, o := documents.Prepare(t.Context(), m, h.Made())
	if stopped("sent again", o); fresh {
		t.Error("it was built anew")
	}
	_, _, o = documents.Prepare(t.Context(), m, nil)
	stopped("built", o)
	sent, _ := documents.Exchange(t.Context(), m, b)
	if stopped("sent", &sent); sent.AckAsked != b.AckAsked {
		t.Errorf("asked for %q", sent.AckAsked)
	}
	judged := documents.Judge(t.Context(), m, h.Made(), raw)
	stopped("judged", &judged)
	_, _, o = receipts.Prepare(t.Context(), m, h.Made())
	stopped("an owed receipt", o)
	sent, _ = receipts.Exchange(t.Context(), m, queue.Build{SHA256: b.SHA256, Record: []byte("{}")})
	if stopped("an owed receipt, sent", &sent); sent.AckAsked != fault.AckNotAsked {
		t.Errorf("asked for %q", sent.AckAsked)
	}
	if n := h.Sent(); n != 1 {
		t.Errorf("%d went out, want 1", n)
	}
	c.Err = nil
	if again, fresh, o := documents.Prepare(t.Context(), m, h.Made()); o != nil || fresh || again.SHA256 != b.SHA256 {
		t.Errorf("afterwards: %+v, %+v", again, o)
	}
}

// StoreIsBroken holds it to this: other bytes under the same Message-ID are for
// those that are gone, not for those that stay unreadable. People are told by a
// letter.
func StoreIsBroken(t *testing.T, h House) {
	t.Helper()
	c := NewCabinet()
	h.Reopen(c)
	m, _ := h.Deliver()
	h.Reopen(c)
	c.Err = errors.New("database disk image is malformed")
	documents, receipts := h.Senders()
	for name, to := range map[string]Sender{"document": documents, "receipt": receipts} {
		if _, fresh, o := to.Prepare(t.Context(), m, h.Made()); o == nil || o.Cause != fault.CausePayload || fresh {
			t.Errorf("%s: fresh %v, %+v", name, fresh, o)
		}
	}
}
