package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
)

// step moves a message by one trigger, as its lane does.
func (h *house) step(m queue.Message, in queue.Input) queue.Message {
	h.t.Helper()
	in.At = h.now()
	res, err := queue.Next(m, in, queue.Rules{})
	if err == nil {
		err = h.store.Record(context.Background(), &res)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	m, err = h.store.Message(context.Background(), m.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

// TestRefusalThatIsBeingSentIsWaitedFor: it cannot be called back, and would
// be sent again after a failure, behind the receipt that says the contrary.
func TestRefusalThatIsBeingSentIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.sends.MDN.Mode, p.sends.MDN.URL = as2.MDNAsync, "https://as2.northwind.example/mdn"
	p.send("<1@northwind.example>", orderX12)
	dead, refusal := p.messages(queue.In)[0], p.messages(queue.Out)[0]
	p.mend()
	refusal = p.step(refusal, queue.Input{Trigger: queue.OnStart, By: "gw1"})
	var no *NotPossible
	if err := p.process(dead.ID); !errors.As(err, &no) || !strings.Contains(no.Why, "being sent at this moment") {
		t.Fatalf("processed while the refusal is on its way: %v", err)
	}
	if p.send("<1@northwind.example>", orderX12); len(p.messages(queue.In)) != 1 || len(p.messages(queue.Out)) != 1 || len(p.letters(queue.LetterOpen)) != 1 {
		t.Fatalf("accepted while the refusal is on its way: %+v", p.messages(queue.In))
	}
	p.step(refusal, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonLocal})
	if err := p.process(dead.ID); err != nil {
		t.Fatal(err)
	}
	owed := p.messages(queue.Out)
	if len(owed) != 2 || owed[0].State != queue.Superseded || owed[1].State != queue.Queued {
		t.Errorf("owed: %+v", owed)
	}
}

// TestRefusalIsOwedAgain: a partner who sends a refused message again seems not
// to have the receipt that he asked to be posted.
func TestRefusalIsOwedAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	again := func() {
		r := refused("<1@n.example>", "wire-1", "signer is unknown")
		r.Answer.URL = "https://as2.northwind.example/mdn"
		h.receive(r)
	}
	again()
	again()
	if n := len(h.messages(queue.Out)); n != 1 {
		t.Fatalf("%d receipts while one is under way", n)
	}
	h.step(h.messages(queue.Out)[0], queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonLocal})
	h.advance(2 * time.Minute)
	again()
	owed := h.messages(queue.Out)
	if len(owed) != 2 || owed[0].State != queue.Superseded || owed[1].State != queue.Queued || owed[1].Previous != owed[0].ID {
		t.Errorf("owed: %+v", owed)
	}
	if n := len(h.letters(queue.LetterOpen)); n != 1 || len(h.messages(queue.In)) != 1 {
		t.Errorf("%d letters, %d messages", n, len(h.messages(queue.In)))
	}
}

// TestFloodOfRefusedMessagesIsNoFloodOfLines: whoever knows two names can send
// them.
func TestFloodOfRefusedMessagesIsNoFloodOfLines(t *testing.T) {
	t.Parallel()
	h := open(t)
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 500 {
		h.receive(refused(fmt.Sprintf("<%d@n.example>", i), fmt.Sprint("wire-", i), "not signed"))
	}
	if n := strings.Count(log.String(), "\n"); n != 2*refusedMost {
		t.Errorf("%d lines, want %d", n, 2*refusedMost)
	}
	// What is not kept cannot be owed a receipt: the partner is to come again.
	later := refused("<async@n.example>", "wire-async", "not signed")
	later.Answer = &as2.Answer{MessageID: "<mdn@edi.acme.example>", URL: "https://as2.northwind.example/mdn"}
	if _, _, err := h.Receive(t.Context(), later); !errors.Is(err, errUnkept) {
		t.Errorf("an asynchronous receipt that is never sent: %v", err)
	}
}
