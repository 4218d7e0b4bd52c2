package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"edigw/edi"
	"edigw/fault"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Run proves that a store keeps its contract. open gives an empty store for
// one test and closes it with the test's Cleanup.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, group := range []map[string]func(*run){acceptRules, recordRules, lineRules, listRules, eventRules, historyRules, replayRules, retentionRules} {
		for name, rule := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rule(&run{T: t, Store: open(t), ctx: t.Context()})
			})
		}
	}
}

// run is one rule being tried on a store of its own.
type run struct {
	*testing.T
	Store
	ctx context.Context
	n   int
}

// t0 is when everything begins. Stores keep microseconds.
var t0 = time.Date(2026, 12, 1, 2, 10, 0, 123456000, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// equal compares deeply; an empty slice or map equals none.
func (r *run) equal(what string, want, got any) {
	r.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		r.Errorf("%s: -want +got\n%s", what, d)
	}
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// id gives a new id that sorts by age.
func (r *run) id(prefix string) string {
	r.n++
	return fmt.Sprintf("%s%06d", prefix, r.n)
}

// arrival is a document of 100 bytes for a partner; content tells documents
// apart.
func arrival(id, partner, key, content string) queue.Arrival {
	sum := sha256.Sum256([]byte(content))
	return queue.Arrival{
		Message: queue.Message{
			ID: id, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: key,
			CorrelationID: "C-" + id, Actor: fault.Actor{Name: "erp", From: "192.0.2.7"}, Source: "api",
			Payload: queue.Payload{SHA256: hex.EncodeToString(sum[:]), Size: 100, FileName: "f-" + id + ".edi", ContentType: "application/edi-x12"},
			Business: queue.Business{Kind: edi.X12, Type: "810", References: []edi.Reference{
				{Name: "invoice", Value: "R-" + id}, {Name: "order", Value: "PO-" + key}}},
		},
		Identity: queue.Identity{From: "ACME-AS2", To: partner, Domain: "edi.acme.example", Brackets: true},
		Now:      t0, LetterID: "L-" + id,
	}
}

// properties are one of the message and one of its payloads.
func properties(name, value string) queue.Properties {
	return queue.Properties{Message: []queue.Property{{Name: name, Value: value}}, Part: []queue.Property{{Name: "Part" + name, Value: value}}}
}

// accept queues a new document of a partner.
func (r *run) accept(partner string) queue.Message {
	r.Helper()
	id := r.id("m")
	return r.acceptAs(arrival(id, partner, "K-"+id, id))
}

func (r *run) acceptAs(a queue.Arrival) queue.Message {
	r.Helper()
	ad, err := r.Accept(r.ctx, a)
	r.must(err)
	if ad.Outcome != queue.AdmitNew {
		r.Fatalf("outcome %s, want new", ad.Outcome)
	}
	return ad.Message
}

// change writes a message after a change.
func (r *run) change(m queue.Message, how func(*queue.Message)) queue.Message {
	r.Helper()
	how(&m)
	r.must(r.Record(r.ctx, &queue.Result{Message: &m}))
	return m
}

// to moves a message to a state by way of those that lie between.
func (r *run) to(m queue.Message, states ...queue.State) queue.Message {
	r.Helper()
	for _, s := range states {
		m = r.change(m, func(m *queue.Message) {
			m.State, m.NextAt, m.Incarnation = s, time.Time{}, ""
			switch {
			case s == queue.Waiting || s == queue.AwaitingAck:
				m.NextAt = after(time.Minute)
			case s == queue.Sending:
				m.Incarnation = "gw1"
			case s.Terminal():
				m.Finished = t0
			}
		})
	}
	return m
}

// deliver takes a queued message to its end; older letters are overtaken.
func (r *run) deliver(m queue.Message) queue.Message {
	r.Helper()
	m = r.to(m, queue.Sending)
	m.State, m.Proof, m.Finished, m.Incarnation = queue.Delivered, queue.ProofReceipt, t0, ""
	r.must(r.Record(r.ctx, &queue.Result{Message: &m, Overtakes: true}))
	return m
}

// bury makes a queued message a letter.
func (r *run) bury(m queue.Message, reason fault.Reason, outage string) (queue.Message, queue.Letter) {
	r.Helper()
	l := queue.Letter{
		ID: r.id("l"), Message: m.ID, Partner: m.Partner, Lane: m.Lane, Protocol: m.Protocol, Direction: m.Direction,
		Reason: reason, Class: "transient", Status: queue.LetterOpen, Detail: "connection refused", Outage: outage, Created: after(time.Duration(r.n) * time.Second), First: t0,
	}
	m.State, m.Letter, m.NextAt, m.Finished = queue.Dead, l.ID, time.Time{}, t0
	r.must(r.Record(r.ctx, &queue.Result{Message: &m, Opened: &l}))
	return m, l
}

// dead accepts a document and makes it a letter.
func (r *run) dead(partner string, reason fault.Reason, outage string) (queue.Message, queue.Letter) {
	r.Helper()
	return r.bury(r.accept(partner), reason, outage)
}

// received records a message of the partner that was refused, with its letter.
func (r *run) received(partner string, reason fault.Reason) (queue.Message, queue.Letter) {
	r.Helper()
	m := queue.Message{ID: r.id("m"), Partner: partner, Lane: queue.InboxLane(partner), Kind: queue.KindDocument, Direction: queue.In, Protocol: "as2", Accepted: t0}
	m.Key = "k" + m.ID
	return r.bury(m, reason, "")
}

// closed closes the letter of a dead message as discarded.
func (r *run) closed(m queue.Message, l queue.Letter) (queue.Message, queue.Letter) {
	r.Helper()
	m.State, m.Letter, m.Finished = queue.Discarded, "", t0
	l.Status, l.ClosedAs, l.Closed, l.Actor, l.Note = queue.LetterClosed, queue.ClosedDiscarded, t0, fault.Actor{Name: "ana", Role: "operator", From: "local"}, "sent by mail"
	r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
	return m, l
}

func ids(all []queue.Message) []string {
	var names []string
	for _, m := range all {
		names = append(names, m.ID)
	}
	return names
}

func letterIDs(all []queue.Letter) []string {
	var names []string
	for _, l := range all {
		names = append(names, l.ID)
	}
	return names
}
