package inbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/textproto"

	"edigw/as2"
	"edigw/as4"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// Opener opens an AS2 request that was kept once more, under the settings of
// today; *as2.Handler is one.
type Opener interface {
	Reopen(k as2.Kept, take func(as2.Received) error) error
}

// OpenerAS4 does so with an AS4 request; *as4.Handler is one.
type OpenerAS4 interface {
	Reopen(k as4.Kept, take func(as4.Received) error) error
}

// StillRefused says that a refused message is refused under today's settings
// too. Its letter has the reason of today.
type StillRefused struct{ Message, Why string }

// Error says why.
func (e *StillRefused) Error() string { return fmt.Sprintf("message %s: %s", e.Message, e.Why) }

// maxHead bounds the header block of a kept request; the listener took less.
const maxHead = 1 << 20

// asked is who wants a refused message opened again, and why.
type asked struct {
	by   fault.Actor
	note string
}

// reopen opens a refused message again and keeps it like one that came now: as
// the next edition, so that the history of the refusal stays as it is.
func (b *Inbox) reopen(ctx context.Context, id string, by fault.Actor, note string) error {
	done, _ := b.turns.try("reopen\x00" + id)
	if done == nil {
		return &NotPossible{id, "somebody else has just asked for the same"}
	}
	defer done()
	m, err := b.Store.Message(ctx, id)
	if err != nil {
		return err
	}
	// A copy that the partner sends in this moment waits, or was faster.
	free, err := b.turns.wait(ctx, turnOf(m.Partner, m.Key))
	if err != nil {
		return err
	}
	defer free()
	ctx = context.WithoutCancel(ctx)
	for range maxRaces {
		if err = b.reopenOnce(ctx, id, asked{by, note}); !errors.Is(err, queue.ErrConflict) {
			return err
		}
	}
	return err
}

func (b *Inbox) reopenOnce(ctx context.Context, id string, who asked) error {
	m, record, err := b.recorded(ctx, id)
	if err != nil {
		return err
	}
	if why := b.closed(m, record); why != "" {
		return &NotPossible{id, why}
	}
	editions, err := b.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return err
	}
	at := -1
	for i, e := range editions {
		switch {
		case e.Message.ID == id:
			at = i
		case e.Message.Payload.SHA256 != "":
			return &NotPossible{id, "a message of the same Message-ID was accepted as " + e.Message.ID + ", and this would be a repeat of it"}
		}
	}
	if at < 0 || editions[at].Letter == nil {
		return &NotPossible{id, "its letter is closed"}
	}
	k, body, err := b.kept(record)
	if err != nil {
		return err
	}
	defer body.Close()
	err = b.openAgain(m.Protocol, k, func(in incoming) error {
		switch {
		case in.Partner != m.Partner:
			return &NotPossible{id, "its names belong to partner " + in.Partner + " today"}
		case !in.Accepted:
			return b.stillRefused(ctx, editions[at], in, who)
		}
		in.At, in.facts.Received = record.Facts.Received, record.Facts.Received // it has been here since then
		return b.accept(ctx, &arrival{incoming: in, key: m.Key, request: record.Request, again: &who}, editions)
	})
	if errors.Is(err, as2.ErrNoAgreement) || errors.Is(err, as4.ErrNoPMode) {
		return &NotPossible{id, "there is no agreement between its names today: put the partner's file back first"}
	}
	return err
}

// openAgain has the receiver of a protocol open a request.
func (b *Inbox) openAgain(protocol string, k as2.Kept, take func(incoming) error) error {
	if protocol == "as2" {
		return b.Opener.Reopen(k, func(r as2.Received) error { return take(incomingAS2(r)) })
	}
	return b.OpenerAS4.Reopen(as4.Kept(k), func(r as4.Received) error {
		in, err := b.takenAS4(r)
		if err != nil {
			return err
		}
		return take(in)
	})
}

// received is the event of an accepted message, and who had it accepted.
func received(m *queue.Message, a *arrival) queue.Event {
	e := event(*m, queue.EventAccepted, m.Accepted, "received")
	e.Facts = map[string]string{"direction": string(queue.In), "message_id": m.MessageID}
	if a.Warning != "" {
		e.Text += ": " + a.Warning
		e.Facts["warning"] = a.Warning
	}
	if a.again == nil {
		return e
	}
	m.Actor, e.Actor = a.again.by, a.again.by
	e.Text = "refused before, opened again under today's settings and accepted; "
	if a.Answer != nil && a.Answer.URL != "" {
		e.Text += "the new receipt is owed"
	} else {
		e.Text += "the partner was told that it is refused, and learns otherwise only if he sends it again; under another Message-ID it is there twice then"
	}
	return e
}

// recorded is a received message with its record.
func (b *Inbox) recorded(ctx context.Context, id string) (queue.Message, Record, error) {
	m, err := b.Store.Message(ctx, id)
	if err != nil || m.Direction != queue.In {
		return m, Record{}, err
	}
	builds, err := b.Store.Builds(ctx, id)
	if err != nil {
		return m, Record{}, err
	}
	record, err := ReadRecord(builds)
	return m, record, err
}

// closed says why a refused message cannot be opened again, empty if it can.
func (b *Inbox) closed(m queue.Message, record Record) string {
	switch {
	case m.State != queue.Dead:
		return "it is " + string(m.State) + " already"
	case record.Facts.AS4.test(): // refused ones were kept once
		return "it is a message to the test service and holds no document: discard its letter"
	case record.Request == "" || m.Protocol == "as2" && b.Opener == nil || m.Protocol == "as4" && b.OpenerAS4 == nil:
		return "its request was not kept: the partner must send it again"
	case record.Unread:
		return "it was refused before its content was read: the partner must send it again"
	case record.Cut:
		return "only the beginning of its request was kept, since there was too little room for all of it: the partner must send it again"
	}
	return ""
}

// kept opens the request of a refused message; the caller closes it.
func (b *Inbox) kept(record Record) (as2.Kept, io.Closer, error) {
	f, err := b.Spool.Open(spool.Inbox, record.Request)
	if errors.Is(err, fs.ErrNotExist) {
		return as2.Kept{}, nil, &NotPossible{record.Facts.ID, "its request is gone, perhaps since a backup was restored: the partner must send it again"}
	}
	if err != nil {
		return as2.Kept{}, nil, err
	}
	k, err := readRequest(f)
	if err != nil {
		return k, nil, errors.Join(err, f.Close())
	}
	k.SHA256 = record.WireSHA256
	return k, f, nil
}

// readRequest reads what WriteRequest wrote.
func readRequest(f io.ReadSeeker) (k as2.Kept, err error) {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return k, errors.New("inbox: a kept request cannot be read from the middle")
	}
	head := make([]byte, maxHead)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return k, fmt.Errorf("inbox: read a kept request: %w", err)
	}
	end := bytes.Index(head[:n], []byte("\r\n\r\n"))
	if end < 0 {
		return k, errors.New("inbox: a kept request has no end of its header")
	}
	skip := int64(end + 4)
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(head[:skip]))).ReadMIMEHeader()
	if err != nil {
		return k, fmt.Errorf("inbox: read the header of a kept request: %w", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return k, fmt.Errorf("inbox: read a kept request: %w", err)
	}
	return as2.Kept{Header: http.Header(h), Body: io.NewSectionReader(at, skip, size-skip), Size: size - skip}, nil
}

// stillRefused gives a letter the reason of today.
func (b *Inbox) stillRefused(ctx context.Context, e queue.Edition, in incoming, who asked) error {
	m, l := e.Message, *e.Letter
	l.Reason, l.Detail = reasonOf(in.Reason), problemOf(in.Problem)
	m.Detail = l.Detail
	told := event(m, queue.EventLetterChanged, b.Now(), "opened again and refused again: "+l.Detail)
	told.Letter, told.Actor = l.ID, who.by
	told.Facts = map[string]string{"direction": string(queue.In), "reason": string(l.Reason), "message_id": m.MessageID}
	if who.note != "" {
		told.Facts["note"] = who.note
	}
	if err := b.Store.Record(ctx, &queue.Result{Message: &m, Closed: &l, Events: []queue.Event{told}}); err != nil {
		return fmt.Errorf("inbox: record that a message of %s is refused again: %w", m.Partner, err)
	}
	return &StillRefused{m.ID, l.Detail}
}

// Processing says what Process would do with a received message.
type Processing struct {
	Refused bool   // the partner was told that it is refused: it is opened again
	Async   bool   // the new receipt goes out by itself; else the partner still believes that it is refused
	Why     string // why it cannot be done; empty: it can
}

// Processing looks at a received message whose letter is open. The error is
// queue.ErrNotFound or the store's.
func (b *Inbox) Processing(ctx context.Context, id string) (Processing, error) {
	m, record, err := b.recorded(ctx, id)
	if err != nil {
		return Processing{}, err
	}
	p := Processing{Refused: m.Payload.SHA256 == "", Async: record.owes()}
	if p.Refused {
		p.Why = b.closed(m, record)
	}
	return p, nil
}
