// Package wire is what the senders of all protocols need: an HTTP client for
// each partner, wire bytes that are built once and lie in the spool, and
// acknowledgements that are kept as they came. It speaks no protocol and decides
// nothing.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"time"

	"edigw/fault"
	"edigw/internal/scratch"
	"edigw/queue"
	"edigw/store/spool"
)

// Desk is shared by all exchanges of a sender. Its methods may be called
// concurrently.
type Desk struct {
	spool   *spool.Spool
	now     func() time.Time
	clients clients
	cores   chan struct{} // a place for each message that is being built
}

// New gives a Desk that builds at most cores messages at once; 0: one for each
// processor. It opens nothing.
func New(s *spool.Spool, now func() time.Time, cores int) *Desk {
	if cores <= 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	return &Desk{spool: s, now: now, clients: clients{now: now, held: map[string]*client{}}, cores: make(chan struct{}, cores)}
}

// Outdated says why a build cannot be sent again, or "": agreement is the
// fingerprint of what was agreed as it is now. While that cannot be told it
// fails: other bytes under the same Message-ID are for those cases only
// (delivery.md §2).
func (d *Desk) Outdated(b queue.Build, agreement string) (string, error) {
	if b.Agreement != agreement {
		return "certificate, algorithm or identity changed since it was built", nil
	}
	gone, err := d.Gone(b)
	if err != nil || !gone {
		return "", err
	}
	return "the wire bytes were gone (restored from a backup?)", nil
}

// Gone reports whether the wire bytes of a build are not there as they were
// made. What cannot be read now is not gone: that is an error.
func (d *Desk) Gone(b queue.Build) (bool, error) {
	size, err := d.spool.Size(spool.Wire, b.SHA256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, unread(err)
	}
	return size != b.Size, nil
}

// Open opens the wire bytes of a build.
func (d *Desk) Open(b queue.Build) (io.ReadCloser, error) {
	wire, err := d.spool.Open(spool.Wire, b.SHA256)
	if err != nil {
		return nil, unread(err)
	}
	return wire, nil
}

// Document opens the stored document of a message.
func (d *Desk) Document(m queue.Message) (io.ReadSeekCloser, error) {
	payload, err := d.spool.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	return payload, nil
}

func unread(err error) error {
	return fmt.Errorf("%w: the stored message cannot be read: %w", fault.ErrPayload, err)
}

// Build has make write the wire bytes of a message on one of few processors,
// and keeps them in the spool; make returns their digest (lower-case hex) and
// their number. Waiting for the disk comes later: it takes no place, so that the
// bytes of many messages become durable together.
func (d *Desk) Build(ctx context.Context, make func(io.Writer) (sha256 string, size int64, err error)) error {
	w, err := d.spool.Create(spool.Wire, 0)
	if err != nil {
		return err
	}
	defer w.Abort()
	said, n, err := d.compute(ctx, w, make)
	if err != nil {
		return err
	}
	name, size, err := w.Commit()
	if err != nil {
		return err
	}
	if name != said || size != n {
		return fmt.Errorf("the spool holds %s (%d bytes) for wire bytes %s (%d bytes)", name, size, said, n)
	}
	return nil
}

func (d *Desk) compute(ctx context.Context, w io.Writer, make func(io.Writer) (string, int64, error)) (string, int64, error) {
	select {
	case d.cores <- struct{}{}:
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
	defer func() { <-d.cores }()
	return make(Stoppable(ctx, w))
}

// Keep makes an acknowledgement durable as it came and returns its spool name.
func (d *Desk) Keep(write func(io.Writer) error) (string, error) {
	w, err := d.spool.Create(spool.Receipt, 0)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if err := write(w); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// Owed gives the only build of an acknowledgement that we owe: it is never
// built anew, the partner may have taken a first copy of it.
func (d *Desk) Owed(m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	if len(builds) == 0 {
		return queue.Build{}, false, &fault.Outcome{Cause: fault.CausePayload, Detail: "the receipt " + m.MessageID + " was not kept"}
	}
	b := builds[len(builds)-1]
	gone, err := d.Gone(b)
	if err != nil {
		return queue.Build{}, false, Failed(err)
	}
	if gone {
		return queue.Build{}, false, &fault.Outcome{Cause: fault.CausePayload, Detail: "the body of receipt " + m.MessageID + " is gone (restored from a backup?)"}
	}
	return b, false, nil
}

// NotAcknowledged is what is known of an acknowledgement of one that we owe:
// nobody acknowledges those.
func NotAcknowledged() fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, AckAsked: fault.AckNotAsked, Detail: "a receipt is not acknowledged"}
}

// FirstSent is when the oldest build that went out was made.
func FirstSent(builds []queue.Build, otherwise time.Time) time.Time {
	for _, b := range builds {
		if b.Sent {
			return b.Created
		}
	}
	return otherwise
}

// Failed tells an error of our own side as facts. A store that does not answer
// now, a full disk, too few file descriptors and the end of the context pass by
// themselves: the message is tried again and becomes no letter.
func Failed(err error) *fault.Outcome {
	if passes(err) {
		return &fault.Outcome{Cause: fault.CauseStopped, Detail: err.Error()}
	}
	o := fault.Local(err)
	return &o
}

// passes reports whether an error goes by itself.
func passes(err error) bool {
	return fault.OutOfFiles(err) || errors.Is(err, scratch.ErrDisk) || errors.Is(err, queue.ErrUnavailable) || errors.Is(err, queue.ErrNoSpace) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Stoppable gives a writer to w that fails when ctx has ended, so that a long
// write does.
func Stoppable(ctx context.Context, w io.Writer) io.Writer { return stoppable{ctx, w} }

type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s stoppable) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}
