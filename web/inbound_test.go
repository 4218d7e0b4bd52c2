package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
)

func (l *lanes) LaneView(key string) queue.LaneView { return l.View(key) }

func (l *lanes) Inbound(_ context.Context, message string) (Inbound, error) {
	if in, ok := l.inbound[message]; ok {
		return in, nil
	}
	return Inbound{}, queue.ErrNotFound
}

// received makes a received document; what was found out about it is in.
func (b *bench) received(id string, s queue.State, in Inbound) queue.Message {
	b.t.Helper()
	b.n++
	m := queue.Message{ID: "i" + id, Partner: id, Lane: id + "/inbox", Kind: queue.KindDocument, Direction: queue.In, Protocol: "as2", Key: "k" + id, State: s, NextAt: now, Accepted: now}
	if err := b.store.Record(b.t.Context(), &queue.Result{Message: &m}); err != nil {
		b.t.Fatal(err)
	}
	b.lanes.inbound = map[string]Inbound{m.ID: in}
	return m
}

// A received message tells how it came, what we answered, and what followed.
func TestAReceivedMessageTellsHowItCame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	receipt, post := b.accept("northwind", "mdn"), b.bury("northwind", "post")
	m := b.received("northwind", queue.Received, Inbound{
		From: "NORTHWIND", To: "ACME-AS2", Signed: true, Encrypted: true, Signer: "ab12", MIC: "abc=, sha256", Disposition: "automatic-action/MDN-sent-automatically; processed",
		Asked: true, ReceiptURL: "https://user:secret@as2.northwind.example/mdn?token=secret", Receipt: &receipt, Post: &post, Request: RequestWhole,
		Files: []InboundFile{{N: 1, Name: "order.x12", ContentType: "application/edi-x12", Size: 12, SHA256: "ff"}},
	})
	m.State = queue.Delivered
	err := b.store.Record(t.Context(), &queue.Result{Message: &m, Events: []queue.Event{{At: now, Type: queue.EventDelivered, Partner: "northwind", Message: m.ID, Facts: map[string]string{"file": "2026-12-01/order.x12"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Direction string
		Received  received
	}
	page := b.get("/messages/" + m.ID).want(http.StatusOK)
	page.json(&got)
	want := received{
		From: "NORTHWIND", To: "ACME-AS2", Signed: true, Encrypted: true, Signer: "ab12", MIC: "abc=, sha256", Disposition: "automatic-action/MDN-sent-automatically; processed",
		Receipt: receivedReceipt{How: "posted", URL: "https://as2.northwind.example/mdn", Message: &follower{receipt.ID, "queued", ""}},
		Webhook: &follower{post.ID, "dead", post.Letter}, Folder: "inbox/northwind/2026-12-01/order.x12", Request: "whole",
		Files: []InboundFile{{1, "order.x12", "application/edi-x12", 12, "ff", nil}},
	}
	equal(t, "received", want, got.Received)
	if strings.Contains(string(page.body), "secret") {
		t.Errorf("the answer has a secret: %s", page.body)
	}
	for name, x := range map[string]struct {
		in   Inbound
		want string
	}{"in the response": {Inbound{Asked: true}, "response"}, "not asked for": {Inbound{}, "none"}} {
		b.lanes.inbound[m.ID] = x.in
		b.get("/messages/" + m.ID).json(&got)
		if got.Received.Receipt.How != x.want {
			t.Errorf("%s: %q", name, got.Received.Receipt.How)
		}
	}
	for name, id := range map[string]string{"sent": receipt.ID, "record gone": m.ID} {
		delete(b.lanes.inbound, m.ID)
		if page := b.get("/messages/" + id).want(http.StatusOK); strings.Contains(string(page.body), `"received":{`) {
			t.Errorf("%s: %s", name, page.body)
		}
	}
}

// Letters of what partners sent are told apart from those of what we send, and
// a bulk replay says how many it left out.
func TestLettersOfReceivedMessagesAreNotReplayed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out := b.bury("northwind", "a")
	in := b.received("northwind", queue.Queued, Inbound{})
	b.step(in, queue.Input{Trigger: queue.OnFail, LetterID: "l-in", Reason: fault.ReasonSignature, Note: "signed by somebody else"})
	for query, want := range map[string][]string{"": {"l-in", out.Letter}, "?direction=in": {"l-in"}, "?direction=out": {out.Letter}} {
		ids, _ := b.get("/letters" + query).ids()
		equal(t, "letters"+query, want, ids)
	}
	for _, path := range []string{"/letters", "/letters/groups", "/messages"} {
		b.get(path + "?direction=sideways").problem(BadRequest)
	}
	var groups list[letterGroup]
	b.get("/letters/groups?direction=in").json(&groups)
	if len(groups.Items) != 1 || groups.Items[0].Direction != "in" || groups.Items[0].Open != 1 {
		t.Errorf("groups %+v", groups.Items)
	}
	var j job
	b.post("/letters/replays", `{"filter": {"partner": "northwind"}, "dry_run": true}`).want(http.StatusOK).json(&j)
	if j.Counts.Total != 1 || j.Counts.Inbound != 1 {
		t.Errorf("counts %+v", j.Counts)
	}
	if p := b.post("/letters/replays", `{"ids": ["l-in"]}`).problem(NothingSelected); !strings.Contains(p.Detail, "processed again") {
		t.Errorf("detail %q", p.Detail)
	}
}
