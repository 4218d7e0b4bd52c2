package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2"
	"edigw/queue"
	"edigw/store/spool"
)

// sent puts an outbound message into the store.
func (h *house) sent(id, messageID string) {
	h.t.Helper()
	m := queue.Message{ID: id, Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: id,
		MessageID: messageID, State: queue.Queued, Accepted: h.now()}
	if err := h.store.Record(context.Background(), &queue.Result{Message: &m}); err != nil {
		h.t.Fatal(err)
	}
}

func ack(id, body string) as2.Ack {
	return as2.Ack{Token: "t0k3n", MessageID: id, From: "NORTHWIND", To: "ACME", Header: http.Header{"Content-Type": {"multipart/report"}}, Body: []byte(body)}
}

func TestReceiptIsDurableBeforeItIsJudged(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.sent("m1", "<1@edi.acme.example>")
	if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "MDN")); err != nil {
		t.Fatal(err)
	}
	want := []as2.Receipt{{Header: http.Header{"Content-Type": {"multipart/report"}}, Body: []byte("MDN"), Token: "t0k3n"}}
	if diff := cmp.Diff(want, h.lanes.got); diff != "" {
		t.Errorf("the lane got another receipt:\n%s", diff)
	}
}

func TestReceiptForNothingOfOursIsForgotten(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.receive(message("<theirs@n.example>", order, "wire-1"))
	for _, id := range []string{"", "<unknown@edi.acme.example>", "with blank", "<theirs@n.example>"} {
		if err := h.Acknowledge(context.Background(), ack(id, "MDN")); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if len(h.lanes.got) != 0 || h.count(spool.Receipt) != 0 {
		t.Errorf("%d judged, %d kept", len(h.lanes.got), h.count(spool.Receipt))
	}
}

func TestLaneThatFailsMakesThePartnerTryAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.sent("m1", "<1@edi.acme.example>")
	h.lanes.err = errors.New("store is broken")
	if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "MDN")); err == nil {
		t.Error("the receipt is taken although nobody knows what it means")
	}
	h.lanes.err = queue.ErrNotFound // forgotten meanwhile
	if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "MDN")); err != nil {
		t.Error(err)
	}
}

func TestFloodOfReceiptsIsPutOff(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.sent("m1", "<1@edi.acme.example>")
	h.sent("m2", "<2@edi.acme.example>")
	late := 0
	for i := range 3 * acksMost {
		if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", fmt.Sprint("forged ", i))); err != nil {
			late++
		}
	}
	if late != 2*acksMost || h.count(spool.Receipt) != acksMost {
		t.Errorf("%d put off, %d kept", late, h.count(spool.Receipt))
	}
	if err := h.Acknowledge(context.Background(), ack("<2@edi.acme.example>", "MDN")); err != nil {
		t.Errorf("another message's receipt: %v", err)
	}
	// Strangers cannot lock out the partner, who knows the token of the build.
	build := queue.Build{Message: "m1", N: 1, MessageID: "<1@edi.acme.example>", SHA256: "00", Token: "t0k3n", Sent: true, Created: h.Now()}
	if err := h.Store.Record(t.Context(), &queue.Result{Build: &build}); err != nil {
		t.Fatal(err)
	}
	if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "the partner's own")); err != nil {
		t.Errorf("with the token: %v", err)
	}
	h.advance(acksSpan)
	if err := h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "MDN")); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}

func TestBudgetForgetsOldShares(t *testing.T) {
	t.Parallel()
	h := open(t)
	for i := range maxShares {
		h.budget.take(fmt.Sprint(i), 1, acksSpan, h.now())
	}
	if h.budget.take("one more", 1, acksSpan, h.now()) {
		t.Error("memory is not bounded")
	}
	h.advance(2 * acksSpan)
	if !h.budget.take("one more", 1, acksSpan, h.now()) || len(h.budget.spent) != 1 {
		t.Errorf("%d shares are remembered", len(h.budget.spent))
	}
}

// TestStrayReceiptsDoNotFillTheLog: anybody can post receipts, and has no more
// than so many lines a minute.
func TestStrayReceiptsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	h := open(t)
	var log bytes.Buffer
	h.Inbox.Log = slog.New(slog.NewTextHandler(&log, nil))
	h.sent("m1", "<1@edi.acme.example>")
	post := func() int {
		log.Reset()
		for i := range 200 {
			_ = h.Acknowledge(context.Background(), ack(fmt.Sprintf("<nobody-%d@edi.acme.example>", i), "MDN"))
		}
		return bytes.Count(log.Bytes(), []byte("\n"))
	}
	if n := post(); n != strayLines {
		t.Errorf("%d lines, want %d", n, strayLines)
	}
	h.advance(time.Minute)
	if n := post(); n != strayLines {
		t.Errorf("%d lines in the next minute, want %d", n, strayLines)
	}
	log.Reset()
	for range 200 { // 20 are kept, the others put off
		_ = h.Acknowledge(context.Background(), ack("<1@edi.acme.example>", "MDN"))
	}
	if n := bytes.Count(log.Bytes(), []byte("put off")); n != 1 {
		t.Errorf("%d lines of receipts that are put off, want 1", n)
	}
}
