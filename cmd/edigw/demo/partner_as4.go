package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/partner"
)

// scriptedAS4 is a trading partner that the demo plays: a real AS4 receiver on
// loopback, with keys and records of its own. It is safe for concurrent use.
type scriptedAS4 struct {
	*premises
	*record[as4.Answer]
	pmode    as4.PMode
	cut      cut
	outdated atomic.Bool // its settings have the agreement before ours
}

// newScriptedAS4 makes the partner of a settings file, seen from its own side. It
// does not listen yet.
func newScriptedAS4(s *partner.Snapshot, id string, k keys, scratch string, log *slog.Logger) (*scriptedAS4, error) {
	settings, ok := s.Partner(id)
	if !ok || settings.AS4 == nil {
		return nil, fmt.Errorf("demo: the sample files have no AS4 partner %s", id)
	}
	at, err := premisesAt(id, settings.AS4.Template.URL)
	if err != nil {
		return nil, err
	}
	p := &scriptedAS4{premises: at, record: newRecord[as4.Answer](), pmode: k.mirrorAS4(id, settings.AS4.Template)}
	receiver, err := as4.NewHandler(as4.Options{
		Partners: p, Inbox: p, Acks: noAcksAS4{}, Scratch: scratch, Domain: id + ".example", Now: time.Now, Log: log, Product: "edigw demo partner",
	})
	if err != nil {
		return nil, err
	}
	p.server = p.counted(p.cut.before(receiver))
	return p, nil
}

// formerAgreement is what the partner's settings hold while they are outdated.
const formerAgreement = "https://agreements.example/acme-proseware/1"

// ByMessage meets as4.Partners: one P-Mode, one gateway.
func (p *scriptedAS4) ByMessage(u *ebms.UserMessage) (as4.PMode, string, error) {
	const gateway = "edigw"
	switch {
	case !sameParty(u.From, p.pmode.To) || !sameParty(u.To, p.pmode.From):
		return as4.PMode{}, "", as4.ErrNoPMode
	case p.outdated.Load():
		no := &as4.MismatchError{Code: "EBMS:0010", Field: "AgreementRef", Want: formerAgreement}
		if u.Agreement != nil {
			no.Got = u.Agreement.Value
		}
		return p.pmode, gateway, no
	}
	return p.pmode, gateway, nil
}

// sameParty reports whether two parties are known by the same ids.
func sameParty(a, b ebms.Party) bool { return slices.Equal(a.IDs, b.IDs) }

// ByMPC meets as4.Partners: nobody pulls here.
func (p *scriptedAS4) ByMPC(string) []as4.Puller { return nil }

// Receive meets as4.Inbox.
func (p *scriptedAS4) Receive(_ context.Context, r as4.Received) (*as4.Answer, bool, error) {
	if !r.Accepted {
		return nil, false, nil
	}
	if len(r.Payloads) != 1 {
		return nil, false, fmt.Errorf("demo: a message with %d payloads, want 1", len(r.Payloads))
	}
	if first, again := p.take(effect{MessageID: r.MessageID, SHA256: r.Payloads[0].SHA256}, r.Answer); again {
		return first, true, nil
	}
	return r.Answer, false, nil
}

// retire goes down for good.
func (p *scriptedAS4) retire() { p.close() }

// noAcksAS4 meets as4.Acks: partners send nothing that asks for a receipt.
type noAcksAS4 struct{}

// Acknowledge refuses.
func (noAcksAS4) Acknowledge(context.Context, as4.Ack) error {
	return errors.New("demo: this partner waits for no receipt")
}
