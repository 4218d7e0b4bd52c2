package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/inbox"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
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

// stored puts a file into the spool that is so old.
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
	at := time.Now().Add(-age)
	path := filepath.Join(string(g.yaml().Data), spoolName, string(k), name[:2], name)
	if err := os.Chtimes(path, at, at); err != nil {
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
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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
	if err := first.doors.open("partners", "tcp", s.receive, nil, nil); err != nil {
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
