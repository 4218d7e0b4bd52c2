package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/inbox"
	"edigw/internal/testpki"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/web"
)

// opened is a gateway of the installation in this process, not started.
func (s *site) opened() *gateway {
	s.Helper()
	var g *gateway
	s.unlocked(func() (err error) {
		g, err = open(context.Background(), s.path("edigw.yaml"), slog.New(slog.DiscardHandler))
		return err
	})
	s.Cleanup(func() { g.store.Close() })
	return g
}

// unlocked runs what needs the lock of the data folder. A process that another
// test is just starting holds a copy of every lock until it is itself.
func (s *site) unlocked(do func() error) {
	s.Helper()
	s.await("the data folder is free", func() bool {
		err := do()
		var locked *sqlite.LockedError
		if err != nil && !errors.As(err, &locked) {
			s.Fatal(err)
		}
		return err == nil
	})
}

// stored puts a body into the spool that is so old.
func (g *gateway) stored(tb testing.TB, k spool.Kind, text string, age time.Duration) string {
	tb.Helper()
	w, err := g.spool.Create(k, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	name, _, err := w.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	if age == 0 {
		return name
	}
	if err := g.store.Bodies().Put(tb.Context(), string(k), name, []byte(text), time.Now().Add(-age)); err != nil {
		tb.Fatal(err)
	}
	return name
}

func (g *gateway) has(k spool.Kind, name string) bool {
	_, err := g.spool.Size(k, name)
	return !errors.Is(err, fs.ErrNotExist)
}

// ended records a document that was delivered so long ago.
func (g *gateway) ended(tb testing.TB, id, partner, file string, age time.Duration) {
	tb.Helper()
	at := time.Now().Add(-age)
	m := queue.Message{ID: id, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: id,
		Payload: queue.Payload{SHA256: file, Size: 1}, State: queue.Delivered, Accepted: at, Finished: at}
	if err := g.store.Record(tb.Context(), &queue.Result{Message: &m}); err != nil {
		tb.Fatal(err)
	}
}

const testDay = 24 * time.Hour

func TestRetentionSparesADocumentThatArrivesAtThatMoment(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	g := s.opened()
	old := g.stored(t, spool.Payload, "old", 500*testDay)
	fresh := g.stored(t, spool.Payload, "came again, its row is not written yet", 0)
	g.ended(t, "m1", "northwind", old, 500*testDay)
	g.ended(t, "m2", "northwind", fresh, 500*testDay)
	if err := g.retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.has(spool.Payload, old) || !g.has(spool.Payload, fresh) {
		t.Errorf("old kept: %v, fresh kept: %v", g.has(spool.Payload, old), g.has(spool.Payload, fresh))
	}
	g.now = func() time.Time { return time.Now().Add(2 * testDay) }
	if err := g.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.has(spool.Payload, fresh) {
		t.Error("nobody named it, and it is still there two days later")
	}
}

func TestRetentionOfAPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "retention: {payloads: 30d, evidence: 20d}\n")
	g := s.opened()
	theirs := g.stored(t, spool.Payload, "theirs", 40*testDay)
	others := g.stored(t, spool.Payload, "another's", 40*testDay)
	g.ended(t, "m1", "northwind", theirs, 40*testDay)
	g.ended(t, "m2", "other", others, 40*testDay)
	if err := g.retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.has(spool.Payload, theirs) || !g.has(spool.Payload, others) {
		t.Errorf("theirs kept: %v, another's kept: %v", g.has(spool.Payload, theirs), g.has(spool.Payload, others))
	}
}

func TestRetentionTrimsTheLedger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	g := s.opened()
	if err := g.store.AddEvents(t.Context(), queue.Event{At: time.Now().Add(-500 * testDay), Type: queue.EventStarted, Text: "old"},
		queue.Event{At: time.Now(), Type: queue.EventStarted, Text: "young"}); err != nil {
		t.Fatal(err)
	}
	if err := g.retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := g.store.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].Text != "young" {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestARequestStaysWhileItsLetterIsOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	g := s.opened()
	needed := g.stored(t, spool.Inbox, "refused, its letter is open", 900*testDay)
	settled := g.stored(t, spool.Inbox, "settled", 900*testDay)
	record, err := json.Marshal(inbox.Record{Request: needed})
	if err != nil {
		t.Fatal(err)
	}
	m := queue.Message{ID: "m1", Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.In, Protocol: "as2", State: queue.Dead, Letter: "l1", Accepted: time.Now()}
	l := queue.Letter{ID: "l1", Message: "m1", Partner: "northwind", Lane: "northwind", Protocol: "as2", Direction: queue.In, Reason: fault.ReasonFormat, Status: queue.LetterOpen}
	if err := g.store.Record(t.Context(), &queue.Result{Message: &m, Build: &queue.Build{Message: "m1", N: 1, Record: record}, Opened: &l}); err != nil {
		t.Fatal(err)
	}
	if err := g.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !g.has(spool.Inbox, needed) || g.has(spool.Inbox, settled) {
		t.Errorf("needed kept: %v, settled kept: %v", g.has(spool.Inbox, needed), g.has(spool.Inbox, settled))
	}
}

// TestADamagedRecordKeepsNoOther: the sweep goes on, the request that the record
// may name stays, and people are told once.
func TestADamagedRecordKeepsNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	g := s.opened()
	needed := g.stored(t, spool.Inbox, "its record is damaged", 900*testDay)
	settled := g.stored(t, spool.Inbox, "settled", 900*testDay)
	for id, record := range map[string]string{"m1": `{"facts": 7, "request": "` + needed + `"}`, "m2": `{"requ`} {
		m := queue.Message{ID: id, Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.In, Protocol: "as2", Key: id, State: queue.Received, Accepted: time.Now()}
		if err := g.store.Record(t.Context(), &queue.Result{Message: &m, Build: &queue.Build{Message: id, N: 1, Record: []byte(record)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !g.has(spool.Inbox, needed) || g.has(spool.Inbox, settled) {
		t.Errorf("needed kept: %v, settled kept: %v", g.has(spool.Inbox, needed), g.has(spool.Inbox, settled))
	}
	events, err := g.store.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].Type != queue.EventDefect || events[0].Message == "" || !strings.Contains(events[0].Text, "2 records") {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestAReloadOutlivesWhoAskedForIt: a closed browser tab leaves no lane behind
// that needs a fix for ever.
func TestAReloadOutlivesWhoAskedForIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	g := s.opened()
	fix := queue.Lane{Key: "northwind", Partner: "northwind", Kind: queue.KindDocument, Fix: &queue.Fix{Cause: "local", Detail: "our key expired", Ours: true}}
	if err := g.store.Record(t.Context(), &queue.Result{Lane: &fix}); err != nil {
		t.Fatal(err)
	}
	if err := g.lanes.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer g.lanes.Stop(t.Context())
	c.file(c.server.URL, "", "timeout: {send: 9s}\n")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := g.reload(gone, fault.Actor{Name: "ana"}); err != nil {
		t.Error(err)
	}
	row, err := g.store.Lane(t.Context(), "northwind")
	if err != nil || row.Fix != nil {
		t.Errorf("the lane still needs a fix: %+v, %v", row.Fix, err)
	}
	events, err := g.store.Events(t.Context(), 0, 10)
	if err != nil || !slices.ContainsFunc(events, func(e queue.Event) bool { return e.Type == queue.EventSettings && e.Actor.Name == "ana" }) {
		t.Errorf("%+v, %v", events, err)
	}
	next := testpki.SelfSigned(t, testpki.RSA(t, 2), "NORTHWIND 2027", testpki.Valid())
	if _, err := (importer{g}).Import(gone, web.Import{Partner: "northwind", Uses: []string{partner.UseVerify, partner.UseEncrypt}, Certificate: next.CertPEM(), By: fault.Actor{Name: "kim"}}); err != nil {
		t.Error(err)
	}
	events, err = g.store.Events(t.Context(), 0, 100)
	if err != nil || !slices.ContainsFunc(events, func(e queue.Event) bool { return e.Type == queue.EventCertificate && e.Actor.Name == "kim" }) {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestWhatALaneWasNotToldIsNotLost: the next reload tells it.
func TestWhatALaneWasNotToldIsNotLost(t *testing.T) {
	t.Parallel()
	old := partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Certificates: true}}, Removed: []string{"contoso"}, Keys: true}
	got := joined(old, partner.Change{Partners: []partner.PartnerChange{{ID: "fabrikam"}}, Added: []string{"contoso"}, Restart: []string{"listen"}})
	want := partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Certificates: true}, {ID: "fabrikam"}}, Added: []string{"contoso"}, Removed: []string{"contoso"}, Keys: true, Restart: []string{"listen"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestChangesAreToldInOneOrder: two reloads of the same change read the same.
func TestChangesAreToldInOneOrder(t *testing.T) {
	t.Parallel()
	for range 50 {
		if got := changedKeys(partner.PartnerChange{Certificates: true, Trust: true, Credentials: true}); got != "settings changed: certificates; TLS trust; login" {
			t.Fatal(got)
		}
	}
}

func TestAReloadDoesEveryStep(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	g := s.opened()
	c.file(c.server.URL, "", "timeout: {send: 9s}\n")
	if err := os.RemoveAll(s.path("outbox")); err != nil {
		t.Fatal(err)
	}
	s.write("outbox", "no folder")
	change, _, err := g.reload(t.Context(), fault.Actor{Name: "ana"})
	if err == nil || len(change.Partners) != 1 {
		t.Fatalf("change %+v, error %v", change, err)
	}
	events, err := g.store.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 2 || !strings.Contains(events[1].Text, "send") {
		t.Errorf("the ledger must know what is in use: %+v, %v", events, err)
	}
}

func TestStoppingDoesNotWaitForOneAfterTheOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := make(chan struct{})
	bad := errors.New("bad")
	err := together(ctx, func(ctx context.Context) error {
		select {
		case <-begun:
			return bad
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(context.Context) error { close(begun); return nil })
	if !errors.Is(err, bad) {
		t.Errorf("the second step waited for the first: %v", err)
	}
}

func TestAGatewayThatCannotListenLetsGoOfItsData(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	first := s.opened()
	if err := first.openDoor("partners", s.receive, &http.Server{}, nil, places{1, 1}); err != nil {
		t.Fatal(err)
	}
	defer first.doors.drop()
	if err := first.store.Close(); err != nil {
		t.Fatal(err)
	}
	second := s.opened()
	if err := second.Start(t.Context()); err == nil {
		t.Fatal("two listen on one address")
	}
	s.unlocked(func() error {
		store, err := sqlite.Open(t.Context(), s.path("data"), sqlite.Options{})
		if err != nil {
			return err
		}
		return store.Close()
	})
}

func TestWhatAKillLeftInTheDataFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	if err := s.opened().store.Close(); err != nil {
		t.Fatal(err)
	}
	s.write("data/backup-20261130T010203.000000000.db", "half a copy")
	s.write("data/domain", "")
	s.opened()
	if left, _ := filepath.Glob(s.path("data", "backup-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if b, err := os.ReadFile(s.path("data", "domain")); err != nil || string(b) != "edi.acme.example\n" {
		t.Errorf("domain %q, %v", b, err)
	}
	if left, _ := filepath.Glob(s.path("data", "domain?*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
