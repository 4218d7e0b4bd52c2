package inbox

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/queue"
	"edigw/store/spool"
)

// Acknowledgements that are kept for one message: Message-IDs can be guessed,
// and nothing is verified yet.
const (
	acksMost = 20
	acksSpan = longest
)

// strayLines is how many lines a minute the log has of receipts that nobody
// asked for, or that are put off: anybody can post them.
const strayLines = 30

// errTooMany tells the partner to try again later.
var errTooMany = errors.New("inbox: too many acknowledgements for one message within an hour")

// Acknowledge meets as2.Acks: the raw bytes are durable before anybody judges
// them. One that names no message of ours is answered and forgotten: to try
// again would not help the partner.
func (b *Inbox) Acknowledge(ctx context.Context, a as2.Ack) error {
	return b.acknowledge(ctx, "as2", a)
}

// Acknowledge meets as4.Acks, with the promises of Inbox.Acknowledge.
func (b ForAS4) Acknowledge(ctx context.Context, a as4.Ack) error {
	return b.acknowledge(ctx, "as4", as2.Ack{MessageID: a.MessageID, Header: a.Header, Body: a.Body})
}

func (b *Inbox) acknowledge(ctx context.Context, protocol string, a as2.Ack) error {
	m, err := b.carrier(ctx, protocol, a.MessageID)
	if errors.Is(err, queue.ErrNotFound) {
		if b.budget.take("lines of stray acks", strayLines, time.Minute, b.Now()) {
			b.Log.Warn("receipt for a message that is not ours; the log has at most 30 a minute", keyProtocol, protocol, "as2_from", a.From, "as2_to", a.To, keyMessageID, a.MessageID)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("inbox: find the message of a receipt: %w", err)
	}
	// Strangers use up the budget of strangers: who knows the token of a build
	// has one of his own.
	purse := "stray ack "
	if b.knows(ctx, m.ID, a.Token) {
		purse = "ack "
	}
	if !b.budget.take(purse+m.ID, acksMost, acksSpan, b.Now()) {
		if !b.budget.take("lines of "+purse+m.ID, 1, time.Minute, b.Now()) {
			return errTooMany
		}
		b.Log.Warn("receipt put off", keyPartner, m.Partner, keyMessage, m.ID, keyErr, errTooMany)
		return errTooMany
	}
	ctx = context.WithoutCancel(ctx)
	raw, err := b.keepReceipt(as2.Receipt{Header: a.Header, Body: a.Body, Token: a.Token})
	if err != nil {
		return err
	}
	o, err := b.Lanes.Acknowledge(ctx, a.MessageID, raw)
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return fmt.Errorf("inbox: settle a receipt for %s: %w", m.ID, err)
	}
	b.Log.Info("receipt came", keyPartner, m.Partner, keyMessage, m.ID, keyMessageID, m.MessageID, keyDetail, o.Detail)
	return nil
}

// knows reports whether token is that of a build of the message.
func (b *Inbox) knows(ctx context.Context, message, token string) bool {
	if token == "" {
		return false
	}
	builds, err := b.Store.Builds(ctx, message)
	known := false
	for _, x := range builds {
		if x.Token != "" && subtle.ConstantTimeCompare([]byte(x.Token), []byte(token)) == 1 {
			known = true
		}
	}
	return err == nil && known
}

// carrier is the message that a receipt is about.
func (b *Inbox) carrier(ctx context.Context, protocol, messageID string) (queue.Message, error) {
	if as2.CheckMessageID(messageID) != nil {
		return queue.Message{}, queue.ErrNotFound
	}
	m, err := b.Store.Carried(ctx, messageID)
	if err == nil && m.Protocol != protocol {
		return queue.Message{}, queue.ErrNotFound // a receipt of another protocol says nothing about it
	}
	return m, err
}

// keepReceipt makes a raw receipt durable and returns its spool name.
func (b *Inbox) keepReceipt(r as2.Receipt) (string, error) {
	if err := b.Spool.HasRoom(int64(len(r.Body)) + margin); err != nil {
		return "", fmt.Errorf("inbox: no room for a receipt: %w", err)
	}
	w, err := b.Spool.Create(spool.Receipt, 0)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if err := r.Write(w); err != nil {
		return "", fmt.Errorf("inbox: keep a receipt: %w", err)
	}
	name, _, err := w.Commit()
	return name, err
}
