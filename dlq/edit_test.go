package dlq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"edigw/edi"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
	"github.com/google/go-cmp/cmp"
)

// shelf keeps contents in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string]string
	fail error
}

func (s *shelf) Keep(content []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return "", s.fail
	}
	name := digest(string(content))
	s.kept[name] = string(content)
	return name, nil
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// editBench is a bench whose partner has his envelopes checked.
func editBench(t *testing.T) (*bench, *shelf) {
	b, s := newBench(t), &shelf{kept: map[string]string{}}
	b.Contents = s
	b.partners["northwind"].CheckEnvelope = true
	b.partners["northwind"].Stage = partner.StageLive
	return b, s
}

// invoice is a sample document.
func invoice(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "documents", "x12-810-invoice.edi"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// edit is an edit with a reason.
func (b *bench) edit(t *testing.T, letter, content string, confirm ...Code) (Edited, error) {
	return b.Edit(ctx(t), letter, strings.NewReader(content), Ask{Actor: kim, Note: "price corrected", Confirm: confirm})
}

// untouched fails unless the letter stands as it did, alone.
func (b *bench) untouched(t *testing.T, l queue.Letter) {
	t.Helper()
	if got := b.letter(l.ID); got.Status != queue.LetterOpen || got.Version != l.Version {
		t.Errorf("the letter changed: %+v", got)
	}
	m := b.message(l.Message)
	if e, err := b.store.Editions(ctx(t), m.Partner, m.Key); err != nil || e[len(e)-1].Message.ID != m.ID || m.State != queue.Dead {
		t.Errorf("the message changed: %s, %d editions, %v", m.State, len(e), err)
	}
}

func TestEditSendsANewEdition(t *testing.T) {
	t.Parallel()
	b, shelf := editBench(t)
	l := b.failed("northwind", rejects, queue.Attempt{Status: 400})
	first := b.message(l.Message)
	content := invoice(t)
	out, err := b.edit(t, l.ID, content)
	if err != nil {
		t.Fatal(err)
	}
	old, next, letter := b.message(first.ID), b.message(out.Message.ID), b.letter(l.ID)
	if old.State != queue.Superseded || letter.ClosedAs != queue.ClosedSuperseded || letter.Actor != kim || letter.Note != "price corrected" || out.Letter.Version != letter.Version {
		t.Errorf("the old one is %s, its letter %+v", old.State, letter)
	}
	if next.Edition != 1 || next.Previous != first.ID || next.Key != first.Key || next.MessageID == first.MessageID || next.State != queue.Queued || !next.Asked || next.Seq <= first.Seq {
		t.Errorf("the new edition is %+v", next)
	}
	if next.Payload.SHA256 != digest(content) || next.Payload.Size != int64(len(content)) || shelf.kept[next.Payload.SHA256] != content {
		t.Errorf("its document is %+v", next.Payload)
	}
	if next.Properties.None() || !next.Properties.Equal(first.Properties) {
		t.Errorf("its properties are %+v, not %+v", next.Properties, first.Properties)
	}
	if next.Business.Type != "810" || len(next.Business.References) == 0 {
		t.Errorf("recognised as %+v", next.Business)
	}
	if len(b.lanes.woken) == 0 || len(b.lanes.told) == 0 {
		t.Error("the lane was not woken, or not told of its letters")
	}
	for _, e := range b.events(queue.EventSuperseded, queue.EventAccepted) {
		if e.Actor != kim {
			continue
		}
		if e.Facts["sha256"] != next.Payload.SHA256 || e.Facts["previous_sha256"] != first.Payload.SHA256 || !strings.Contains(e.Text, "price corrected") {
			t.Errorf("audit entry %+v", e)
		}
		delete(e.Facts, "sha256")
	}
	if audited := b.events(queue.EventSuperseded); len(audited) != 1 || audited[0].Facts["next"] != next.ID {
		t.Errorf("audit entries %+v", audited)
	}
	b.deliver(next.ID)
	_, err = b.edit(t, l.ID, content)
	if c := conflict(t, err); !strings.HasPrefix(c.Text, "Replaced by a newer edition by Kim") && c.By != kim {
		t.Errorf("the second click is told %+v", c)
	}
}

func TestAnEditIsRefusedForItsContent(t *testing.T) {
	t.Parallel()
	good := invoice(t)
	big := strings.Repeat("a", MaxEdit+1)
	for name, c := range map[string]struct {
		content, want string
		change        func(*partner.Partner)
	}{
		"envelope":          {strings.Replace(good, "SE*24", "SE*23", 1), "SE01 says 23, counted 24 (segment 26); nothing was changed", nil},
		"cut off":           {good[:len(good)-10], "the file ends inside IEA, its terminator is missing (segment 28); nothing was changed", nil},
		"nothing":           {"", "the document has no bytes; nothing was changed", nil},
		"another kind":      {"<a/>", "the document was x12, this is xml; nothing was changed", nil},
		"too large":         {big, "a document of more than 1048576 bytes cannot be edited: have its sender hand in a corrected one; nothing was changed", nil},
		"test for live":     {strings.Replace(good, "*0*P*", "*0*T*", 1), "a test interchange is meant for partner northwind, whose stage is live; nothing was changed", nil},
		"live for test":     {good, "a production interchange is meant for partner northwind, whose stage is test; nothing was changed", func(p *partner.Partner) { p.Stage = partner.StageTest }},
		"unchecked":         {strings.Replace(good, "SE*24", "SE*23", 1), "", func(p *partner.Partner) { p.CheckEnvelope = false }},
		"empty is allowed":  {"", "", func(p *partner.Partner) { p.CheckEnvelope, p.AllowEmpty = false, true }},
		"nothing was wrong": {good, "", nil},
	} {
		b, shelf := editBench(t)
		if c.change != nil {
			c.change(b.partners["northwind"])
		}
		l := b.editable("northwind", queue.Business{Kind: edi.X12, Type: "810"})
		_, err := b.edit(t, l.ID, c.content)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var in *InputError
		if !errors.As(err, &in) || in.Field != "content" || in.Reason != c.want {
			t.Errorf("%s: %v", name, err)
		}
		b.untouched(t, l)
		if len(shelf.kept) != 0 {
			t.Errorf("%s: a refused document was kept", name)
		}
	}
}

// editable is a letter of a document of which this is known.
func (b *bench) editable(partner string, what queue.Business) queue.Letter {
	b.t.Helper()
	identity, _ := b.Identity(partner)
	b.made++
	m := queue.Message{ID: "known-" + partner, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: "INV-known",
		Payload: queue.Payload{SHA256: strings.Repeat("0", 64), Size: 100, FileName: "invoice.edi"}, Business: what, Warned: true}
	ad, err := b.store.Accept(context.Background(), queue.Arrival{Message: m, Identity: identity, Now: b.now(), Problem: &edi.Problem{Text: "SE01 says 1"}, LetterID: "letter-known"})
	if err != nil {
		b.t.Fatalf("accept: %v", err)
	}
	return b.letter(ad.Message.Letter)
}

func TestTheSameContentIsNoEdit(t *testing.T) {
	t.Parallel()
	b, shelf := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	l := b.buried("northwind")
	out, err := b.edit(t, l.ID, "version 1")
	if err != nil {
		t.Fatal(err)
	}
	second := b.fail(out.Message.ID, rejects, queue.Attempt{Status: 400}).Opened
	var in *InputError
	if _, err := b.edit(t, second.ID, "version 1"); !errors.As(err, &in) || in.Field != "content" || !strings.HasPrefix(in.Reason, "nothing was changed: ") {
		t.Errorf("the same again: %v", err)
	}
	b.untouched(t, *second)
	if len(shelf.kept) != 1 {
		t.Errorf("%d contents are kept", len(shelf.kept))
	}
	third, err := b.edit(t, second.ID, "version 2")
	if err != nil || third.Message.Edition != 2 || third.Message.Previous != out.Message.ID {
		t.Fatalf("edition %+v, %v", third.Message, err)
	}
	fourth := b.fail(third.Message.ID, rejects, queue.Attempt{Status: 400}).Opened
	if _, err := b.edit(t, fourth.ID, "version 1"); err != nil { // superseded: nobody has it
		t.Errorf("back to what was given up: %v", err)
	}
}

func TestAnEditNeedsAReason(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	l := b.buried("northwind")
	_, err := b.Edit(ctx(t), l.ID, strings.NewReader(invoice(t)), Ask{Actor: kim, Note: " "})
	var in *InputError
	if !errors.As(err, &in) || in.Field != "reason" {
		t.Errorf("got %v", err)
	}
	b.untouched(t, l)
}

func TestAnEditAsksWhereThePartnerMayHaveTheDocument(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	l := b.failed("northwind", distrusts, queue.Attempt{})
	_, err := b.edit(t, l.ID, invoice(t))
	needs(t, err, PossibleDuplicate)
	b.untouched(t, l)
	if _, err := b.edit(t, l.ID, invoice(t), PossibleDuplicate); err != nil {
		t.Error(err)
	}
}

func TestAParkedDocumentIsEditedOnConfirmation(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	identity, _ := b.Identity("northwind")
	m := queue.Message{ID: "first", Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: "INV-1",
		Payload: queue.Payload{SHA256: digest("as delivered"), Size: 12}, Warned: true}
	if _, err := b.store.Accept(ctx(t), queue.Arrival{Message: m, Identity: identity, Now: t0}); err != nil {
		t.Fatal(err)
	}
	b.deliver("first")
	m.ID, m.Payload = "corrected", queue.Payload{SHA256: digest("corrected"), Size: 9}
	if _, err := b.store.Accept(ctx(t), queue.Arrival{Message: m, Identity: identity, Now: t0, LetterID: "parked"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.edit(t, "parked", "corrected again")
	needs(t, err, ChangedContent)
	_, err = b.edit(t, "parked", "as delivered", ChangedContent)
	if c := conflict(t, err); !strings.Contains(c.Text, "edition first, which is delivered") {
		t.Errorf("what the partner has: %q", c.Text)
	}
	b.untouched(t, b.letter("parked"))
	out, err := b.edit(t, "parked", "corrected again", ChangedContent)
	if err != nil || out.Message.Edition != 2 || out.Message.Previous != "corrected" {
		t.Errorf("edition %+v, %v", out.Message, err)
	}
}

func TestOnlyDocumentsToBeSentAreEdited(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	running := b.failed("northwind", rejects, queue.Attempt{})
	b.lanes.running[running.Message] = true
	_, err := b.edit(t, running.ID, "x")
	conflict(t, err)
	b.untouched(t, running)

	replaying := b.buried("northwind")
	if _, err := b.Replay(ctx(t), replaying.ID, Ask{Actor: kim}); err != nil {
		t.Fatal(err)
	}
	_, err = b.edit(t, replaying.ID, "x")
	if c := conflict(t, err); !strings.HasPrefix(c.Text, "Kim replayed this") {
		t.Errorf("told %q", c.Text)
	}

	orphan := b.buried("northwind")
	delete(b.partners, "northwind")
	_, err = b.edit(t, orphan.ID, "x")
	conflict(t, err)
	b.untouched(t, orphan)

	received := queue.Message{ID: "in", Partner: "contoso", Lane: "contoso", Kind: queue.KindDocument, Direction: queue.In, State: queue.Dead, Letter: "in-letter", Accepted: t0}
	inbound := queue.Letter{ID: "in-letter", Message: "in", Partner: "contoso", Lane: "contoso", Direction: queue.In, Reason: fault.ReasonLocal, Status: queue.LetterOpen, Created: t0}
	if err := b.store.Record(ctx(t), &queue.Result{Message: &received, Opened: &inbound}); err != nil {
		t.Fatal(err)
	}
	b.partner("contoso")
	_, err = b.edit(t, "in-letter", "x")
	conflict(t, err)
	if _, err := b.edit(t, "nothing", "x"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("an unknown letter: %v", err)
	}
}

func TestAnEditOfAnEarlierEditionPointsToTheLater(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	l := b.failed("northwind", distrusts, queue.Attempt{})
	first := b.message(l.Message)
	identity, _ := b.Identity("northwind")
	m := queue.Message{ID: "later", Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: first.Key,
		Payload: queue.Payload{SHA256: digest("later"), Size: 5}, Warned: true}
	if _, err := b.store.Accept(ctx(t), queue.Arrival{Message: m, Identity: identity, Now: t0, LetterID: "parked"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.edit(t, l.ID, "x", PossibleDuplicate)
	if c := conflict(t, err); !strings.Contains(c.Text, "later") {
		t.Errorf("told %q", c.Text)
	}
	b.untouched(t, b.letter("parked"))
	// What the letter of the earlier edition holds goes out from there.
	_, err = b.edit(t, "parked", "x", ChangedContent)
	if err != nil {
		t.Error(err)
	}
}

// TestAnEditIsWholeOrNothing: the document is kept before the transaction, and
// a transaction that fails changes nothing.
func TestAnEditIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	b, shelf := editBench(t)
	l := b.buried("northwind")
	shelf.fail = broken
	if _, err := b.edit(t, l.ID, invoice(t)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	b.untouched(t, l)

	shelf.fail = nil
	kept := 0
	b.Store = &failing{Store: b.store, before: func() error { kept = len(shelf.kept); return broken }}
	if _, err := b.edit(t, l.ID, invoice(t)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	b.untouched(t, l)
	if kept != 1 {
		t.Errorf("%d contents were durable before the transaction", kept)
	}
	if _, err := b.Edit(ctx(t), l.ID, iotest.ErrReader(broken), Ask{Actor: kim, Note: "x"}); !errors.Is(err, broken) {
		t.Errorf("content that cannot be read: %v", err)
	}

	b.Store, b.Contents = b.store, nil
	if _, err := b.edit(t, l.ID, invoice(t)); err == nil {
		t.Error("edited without a place for the document")
	}
	b.untouched(t, l)
}

// failing is a store that cannot record.
type failing struct {
	Store
	before func() error
}

func (s *failing) Record(context.Context, ...*queue.Result) error { return s.before() }

func TestOfManyEditsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	b.partners["northwind"].CheckEnvelope = false
	l := b.buried("northwind")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []Edited
	for i := range 20 {
		wg.Go(func() {
			out, err := b.Edit(context.Background(), l.ID, strings.NewReader(strings.Repeat("x", i+1)), Ask{Actor: kim, Note: "faster"})
			var c *ConflictError
			if err != nil && !errors.As(err, &c) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				mu.Lock()
				won = append(won, out)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	e, err := b.store.Editions(ctx(t), "northwind", b.message(l.Message).Key)
	if err != nil || len(won) != 1 || len(e) != 2 {
		t.Fatalf("%d won, %d editions, %v", len(won), len(e), err)
	}
	if diff := cmp.Diff(won[0].Message, e[1].Message); diff != "" {
		t.Errorf("the edition (-answered +stored):\n%s", diff)
	}
}

// TestAnEditIsNotBuried: an operator confirmed it, so it waits for the test of
// a partner that does not answer.
func TestAnEditIsNotBuried(t *testing.T) {
	t.Parallel()
	b, _ := editBench(t)
	l := b.failed("northwind", retry.Verdict{Class: retry.Permanent, Reason: fault.ReasonFormat, Definite: true, Signal: fault.SignalSuccess}, queue.Attempt{})
	out, err := b.edit(t, l.ID, invoice(t))
	if err != nil || !out.Message.Asked || !out.Message.DeliverBy.IsZero() {
		t.Errorf("message %+v, %v", out.Message, err)
	}
}
