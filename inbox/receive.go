package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// margin is the space that rows, facts and receipts of one message may take.
const margin = 1 << 20

// maxRaces is how often a decision is taken anew because somebody else changed
// what it was about.
const maxRaces = 5

// Receive keeps a message; it meets as2.Inbox. It returns when a document is
// durable in the spool, with its message and the answer; a courier puts it into
// the partner's folder right after that, and if this fails it is tried again
// later. Of refused messages only so many are kept in a while; the others are
// answered and forgotten.
func (b *Inbox) Receive(ctx context.Context, r as2.Received) (*as2.Answer, bool, error) {
	stored, duplicate, err := b.receive(ctx, incomingAS2(r))
	if stored == nil {
		return nil, duplicate, err
	}
	return stored.AS2, duplicate, err
}

// ForAS4 is the inbox as AS4 sees it.
type ForAS4 struct{ *Inbox }

// Receive meets as4.Inbox, and promises what Inbox.Receive does.
func (b ForAS4) Receive(ctx context.Context, r as4.Received) (*as4.Answer, bool, error) {
	in, err := b.takenAS4(r)
	if err != nil {
		return nil, false, err
	}
	stored, duplicate, err := b.receive(ctx, in)
	if stored == nil {
		return nil, duplicate, err
	}
	return stored.AS4, duplicate, err
}

// receive keeps a message. The answer is that of the first copy; nil if there
// was none.
func (b *Inbox) receive(ctx context.Context, in incoming) (*answer, bool, error) {
	a := &arrival{incoming: in, key: in.key()}
	done, err := b.turns.wait(ctx, turnOf(a.Partner, a.key))
	if err != nil {
		return nil, false, err
	}
	defer done()
	ctx = context.WithoutCancel(ctx) // what is here whole is kept, even if the partner left
	for range maxRaces {
		answer, duplicate, err := b.decide(ctx, a)
		if !errors.Is(err, queue.ErrConflict) {
			return answer, duplicate, err
		}
	}
	return nil, false, fmt.Errorf("inbox: message %.200q of %s changes all the time: %w", a.MessageID, a.Partner, queue.ErrConflict)
}

// arrival is a message with what was made durable of it so far.
type arrival struct {
	incoming
	key      string
	business queue.Business
	request  string // spool name
	cut      bool
	again    *asked // who has it opened again after it was refused; nil: the partner sent it
	payload  bool   // it is durable
	post     string // message that carries it to a webhook
}

// turnOf names what one at a time may do: keep a message of this key.
func turnOf(partner, key string) string { return partner + "\x00" + key }

// keyMark begins the keys of inbound messages and of receipts; a key that a
// caller gives for an outbound document is ASCII.
const keyMark = "←"

// key is the same for messages that are the same to the protocol: From, To and
// Message-ID (RFC 4130 §5.5, AS4 §3.2). Without a Message-ID the bytes are.
func (in incoming) key() string {
	h := sha256.New()
	for _, s := range in.Identity {
		io.WriteString(h, s)
		h.Write([]byte{0})
	}
	if in.MessageID == "" {
		io.WriteString(h, in.WireSHA256)
	}
	return keyMark + hex.EncodeToString(h.Sum(nil))
}

func (b *Inbox) decide(ctx context.Context, a *arrival) (*answer, bool, error) {
	editions, err := b.Store.Editions(ctx, a.Partner, a.key)
	if err != nil {
		return nil, false, fmt.Errorf("inbox: look for an earlier copy: %w", err)
	}
	for _, e := range editions {
		if e.Message.Payload.SHA256 == "" { // it was refused
			continue
		}
		builds, err := b.Store.Builds(ctx, e.Message.ID)
		if err != nil {
			return nil, false, fmt.Errorf("inbox: read the answer to the first copy: %w", err)
		}
		record, err := ReadRecord(builds)
		if err != nil {
			return nil, false, err
		}
		if a.Accepted || record.WireSHA256 == a.WireSHA256 {
			return record.answered(), true, b.again(ctx, a, e.Message, record)
		}
	}
	if !a.Accepted {
		return nil, false, b.refuse(ctx, a, editions)
	}
	return nil, false, b.accept(ctx, a, editions)
}

// accept makes an accepted message durable and gives its document to a courier.
func (b *Inbox) accept(ctx context.Context, a *arrival, editions []queue.Edition) error {
	if err := b.store(a); err != nil {
		return err
	}
	m, err := b.message(a, editions)
	if err != nil {
		return err
	}
	m.State = queue.Received
	m.Payload = queue.Payload{SHA256: a.SHA256, Size: a.Size, FileName: a.FileName, ContentType: a.ContentType}
	m.Business = a.business
	e := received(&m, a)
	// The turn begins before anybody can see the message: whoever looks for
	// documents that are left must not hand this one on as well.
	done, err := b.turns.wait(ctx, m.ID)
	if err != nil {
		return err
	}
	if err := b.record(ctx, a, &m, nil, e, editions); err != nil {
		done()
		return err
	}
	// It is safe: whatever happens from here on, the partner gets his answer.
	if a.post != "" {
		done()
		return nil
	}
	p := &parcel{message: m, facts: a.facts, fresh: true, done: done}
	if full := b.couriers.pass(p); full != nil {
		b.handOn(ctx, p) // who sends faster than the disk writes waits for it
		done()
	}
	return nil
}

// store makes payload and request durable, once.
func (b *Inbox) store(a *arrival) error {
	if a.payload {
		return nil
	}
	if err := b.Spool.HasRoom(a.Size + a.WireSize + margin); err != nil {
		return fmt.Errorf("inbox: no room for a message of %s: %w", a.Partner, err)
	}
	keep, err := b.request(a)
	if err != nil {
		return err
	}
	defer keep.Abort()
	w, err := b.Spool.Create(spool.Payload, 0)
	if err != nil {
		return err
	}
	defer w.Abort()
	scanner := edi.NewScanner()
	if err := a.Write(w, scanner); err != nil {
		return fmt.Errorf("inbox: keep a document of %s: %w", a.Partner, err)
	}
	other := make(chan error, 1)
	go func() { // at the same time, so that one write of the disk can do for both
		var err error
		a.request, err = keep.Commit()
		other <- err
	}()
	name, size, err := w.Commit()
	if err = errors.Join(err, <-other); err != nil {
		return err
	}
	if a.SHA256 == "" {
		a.SHA256, a.facts.SHA256 = name, name
	}
	if name != a.SHA256 || size != a.Size {
		return fmt.Errorf("inbox: a document of %s came as %s (%d bytes) and reads back as %s (%d bytes)", a.Partner, a.SHA256, a.Size, name, size)
	}
	a.payload = true
	a.business = a.facts.recognised(scanner.Close())
	return nil
}

// message begins the row of an inbound message.
func (b *Inbox) message(a *arrival, editions []queue.Edition) (queue.Message, error) {
	now := b.Now()
	id, err := queue.NewID(now, b.Random)
	if err != nil {
		return queue.Message{}, err
	}
	m := queue.Message{
		ID: id, Partner: a.Partner, Lane: queue.InboxLane(a.Partner), Kind: queue.KindDocument, Direction: queue.In, Protocol: a.facts.Protocol,
		Key: a.key, MessageID: a.MessageID, Source: a.facts.Protocol, Payload: queue.Payload{Size: a.Size, FileName: a.FileName, ContentType: a.ContentType},
		Round: 1, Build: 1, Accepted: now,
	}
	if n := len(editions); n > 0 {
		m.Edition, m.Previous = editions[n-1].Message.Edition+1, editions[n-1].Message.ID
	}
	return m, nil
}

// record writes the message with all that belongs to it in one transaction:
// the answer, the receipt that is owed, and the end of earlier letters.
func (b *Inbox) record(ctx context.Context, a *arrival, m *queue.Message, letter *queue.Letter, e queue.Event, editions []queue.Edition) error {
	a.facts.ID, a.post = m.ID, ""
	post, err := b.post(m, a.facts)
	if err != nil {
		return err
	}
	if post != nil {
		a.post = post.Message.ID
	}
	kept := Record{Facts: a.facts, Request: a.request, Cut: a.cut, Unread: a.Unread, WireSHA256: a.WireSHA256, Post: a.post, Claims: a.Claims}
	if a.Answer != nil {
		kept.Answer, kept.AnswerAS4 = a.Answer.AS2, a.Answer.AS4
	}
	record, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	build := queue.Build{Message: m.ID, N: 1, Record: record, Sent: true, Created: m.Accepted}
	if a.Answer != nil {
		build.MessageID = a.Answer.MessageID
	}
	results, err := b.replaced(ctx, editions, *m, a.again)
	if err != nil {
		return err
	}
	results = append(results, &queue.Result{Message: m, Build: &build, Opened: letter, Events: []queue.Event{e}})
	owed, err := b.owed(*m, a.Answer, nil)
	if err != nil {
		return err
	}
	lined := slices.DeleteFunc([]*queue.Result{owed, post}, func(r *queue.Result) bool { return r == nil })
	if err := b.Store.Record(ctx, append(results, lined...)...); err != nil {
		return fmt.Errorf("inbox: record a message of %s: %w", a.Partner, err)
	}
	b.Count(*m)
	for _, r := range lined {
		b.Wake(r.Message.Lane)
	}
	b.Log.Info("message received", keyProtocol, m.Protocol, keyPartner, m.Partner, keyMessage, m.ID, keyMessageID, m.MessageID, keyState, m.State, keySize, m.Payload.Size, keyDetail, m.Detail)
	return nil
}

// again takes note of a copy of a message that was accepted before.
func (b *Inbox) again(ctx context.Context, a *arrival, first queue.Message, record Record) error {
	b.repeats.WithLabelValues(a.Partner).Inc()
	other := a.Accepted && !a.same(first, record.Facts)
	if other {
		b.Log.Warn("another document came under the Message-ID of a message; the first was kept", keyProtocol, first.Protocol, keyPartner, a.Partner, keyMessage, first.ID, keyMessageID, first.MessageID)
	} else {
		b.Log.Info("message came again", keyProtocol, first.Protocol, keyPartner, a.Partner, keyMessage, first.ID, keyMessageID, first.MessageID)
	}
	if !other || first.Protocol == "as2" {
		if err := b.oweAgain(ctx, first, record.answered()); err != nil {
			return err
		}
	}
	now := b.Now()
	var told error
	if other && first.Protocol == "as4" {
		told = as4.ErrReused // AS4 §3.2 speaks of the same message: the receipt of the first is not for this one
	}
	if !b.budget.take(fmt.Sprintf("again %s %t", first.ID, other), 1, time.Minute, now) {
		return told
	}
	e := event(first, queue.EventReplayedKey, now, "the same message came again; it got the first answer")
	if other {
		e.Type, e.Text = queue.EventKeyReused, "the Message-ID came again with other content: the partner uses one id for two documents; the first was kept"
	}
	e.Facts = map[string]string{"direction": string(queue.In), "message_id": first.MessageID}
	if err := b.Store.AddEvents(ctx, e); err != nil {
		return fmt.Errorf("inbox: record a repeat of %s: %w", first.ID, err)
	}
	return told
}

// same reports whether an accepted message has the document of the first of its
// Message-ID.
func (in incoming) same(first queue.Message, facts Facts) bool {
	if in.SHA256 != "" {
		return in.SHA256 == first.Payload.SHA256 && in.Size == first.Payload.Size
	}
	return slices.EqualFunc(in.facts.Attachments, facts.Attachments, func(a, b Attachment) bool { return a.SHA256 == b.SHA256 && a.Size == b.Size })
}

// event begins an event about a message.
func event(m queue.Message, t queue.EventType, at time.Time, text string) queue.Event {
	return queue.Event{At: at, Type: t, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Text: text}
}

// reasonOf is never empty.
func reasonOf(r fault.Reason) fault.Reason {
	if r == "" {
		return fault.ReasonFormat
	}
	return r
}
