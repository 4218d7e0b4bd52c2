package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

const order = "ISA*00*          *00*          *ZZ*NORTHWIND      *ZZ*ACMESUPPLY     *261130*0429*U*00401*000000077*0*P*>~GS*PO*N*A*20261130*0429*1*X*004010~ST*850*0001~BEG*00*SA*PO-4500**20261130~SE*3*0001~GE*1*1~IEA*1*000000077~"

func TestReceivedDocumentIsDurableWithAllThatIsKnown(t *testing.T) {
	t.Parallel()
	h := open(t)
	if a, dup := h.receive(message("<1@n.example>", order, "wire-1")); a != nil || dup {
		t.Errorf("answer %v, duplicate %v", a, dup)
	}
	all := h.messages(queue.In)
	if len(all) != 1 {
		t.Fatalf("%d messages", len(all))
	}
	m := all[0]
	if m.State != queue.Delivered || m.Partner != "northwind" || m.MessageID != "<1@n.example>" || m.Business.Type != "850" || m.Payload.SHA256 != digest(order) {
		t.Errorf("message is %+v", m)
	}
	if h.spooled(spool.Payload, m.Payload.SHA256) != order {
		t.Error("the payload is not in the spool")
	}
	r := h.record(m)
	if want := "As2-From: NORTHWIND\r\nMessage-Id: <1@n.example>\r\n\r\nwire-1"; h.spooled(spool.Inbox, r.Request) != want {
		t.Errorf("the request is kept as %q", h.spooled(spool.Inbox, r.Request))
	}
	if diff := cmp.Diff([]string{"2026-12-01/order.x12", "2026-12-01/order.x12.json"}, h.tree()); diff != "" {
		t.Fatalf("files differ:\n%s", diff)
	}
	if h.read("2026-12-01/order.x12") != order {
		t.Error("the document in the folder is another one")
	}
	f := h.facts("2026-12-01/order.x12.json")
	if diff := cmp.Diff(r.Facts, f); diff != "" {
		t.Errorf("facts differ from the record:\n%s", diff)
	}
	want := Facts{ID: m.ID, Partner: "northwind", Protocol: "as2", MessageID: "<1@n.example>", From: "NORTHWIND", To: "ACME", Subject: "Order",
		Received: time.Date(2026, 12, 1, 8, 59, 59, 0, time.UTC), FileName: "order.x12", ContentType: "application/edi-x12", Size: int64(len(order)), SHA256: digest(order),
		Kind: "x12", Type: "850", References: f.References, Signed: true, Signer: "ab12", MIC: "abc=, sha-256", Disposition: "automatic-action/MDN-sent-automatically; processed"}
	if diff := cmp.Diff(want, f); diff != "" || len(f.References) == 0 {
		t.Errorf("facts differ (%d references):\n%s", len(f.References), diff)
	}
	if info, err := os.Stat(filepath.Join(h.Dir, "northwind", "2026-12-01", "order.x12")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestDuplicateGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.receive(message("<1@n.example>", order, "wire-1"))
	for _, r := range []as2.Received{
		message("<1@n.example>", order, "wire-2"),                         // built anew
		refused("<1@n.example>", "wire-1", "certificate is not in force"), // the same bytes, which do not verify today
		message("<1@n.example>", order+" other", "wire-3"),                // one id for two documents
		func() as2.Received { r := message("<1@n.example>", order, "wire-4"); r.Answer = nil; return r }(),
	} {
		a, dup := h.receive(r)
		if !dup || a == nil || string(a.Body) != "MDN for wire-1" {
			t.Errorf("got %+v, duplicate %v", a, dup)
		}
		h.advance(2 * time.Minute)
	}
	if n := len(h.messages(queue.In)); n != 1 || len(h.tree()) != 2 || h.count(spool.Payload) != 1 || h.count(spool.Inbox) != 1 {
		t.Errorf("%d messages, files %v, %d payloads", n, h.tree(), h.count(spool.Payload))
	}
	if h.events(queue.EventReplayedKey) != 3 || h.events(queue.EventKeyReused) != 1 {
		t.Errorf("%d repeats and %d reused ids are events", h.events(queue.EventReplayedKey), h.events(queue.EventKeyReused))
	}
	if n := testutil.ToFloat64(h.repeats.WithLabelValues("northwind")); n != 4 {
		t.Errorf("duplicates_total is %v", n)
	}
}

func TestOtherNamesOrOtherIDAreOtherMessages(t *testing.T) {
	t.Parallel()
	h := open(t)
	a, b, c := message("<1@n.example>", order, "w1"), message("<2@n.example>", order, "w2"), message("<1@n.example>", order, "w3")
	c.To = "ACME2"
	for _, r := range []as2.Received{a, b, c} {
		if _, dup := h.receive(r); dup {
			t.Errorf("%s to %s is taken for a duplicate", r.MessageID, r.To)
		}
	}
	if n := len(h.messages(queue.In)); n != 3 || len(h.tree()) != 6 {
		t.Errorf("%d messages, files %v", n, h.tree())
	}
}

func TestRow33HundredConcurrentCopiesAreOneMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	firsts := 0
	for i := range 100 {
		wg.Go(func() {
			_, dup, err := h.Receive(context.Background(), message("<1@n.example>", order, fmt.Sprint("wire-", i)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if !dup {
				firsts++
			}
		})
	}
	wg.Wait()
	h.couriers.work.Wait()
	if n := len(h.messages(queue.In)); firsts != 1 || n != 1 || len(h.tree()) != 2 {
		t.Errorf("%d firsts, %d messages, files %v", firsts, n, h.tree())
	}
}

func TestRefusedMessageIsALetterAndNoDuplicate(t *testing.T) {
	t.Parallel()
	h := open(t)
	for range 3 { // the same is one letter
		if a, dup := h.receive(refused("<1@n.example>", "wire-1", "signer is unknown")); a != nil || dup {
			t.Errorf("answer %v, duplicate %v", a, dup)
		}
	}
	open := h.letters(queue.LetterOpen)
	if len(open) != 1 || open[0].Reason != fault.ReasonSignature || open[0].Detail != "signer is unknown" || open[0].Direction != queue.In {
		t.Fatalf("letters are %+v", open)
	}
	m := h.messages(queue.In)[0]
	if m.State != queue.Dead || m.Payload.SHA256 != "" || !strings.HasSuffix(h.spooled(spool.Inbox, h.record(m).Request), "wire-1") {
		t.Errorf("message is %+v", m)
	}
	if _, dup := h.receive(message("<1@n.example>", order, "wire-2")); dup {
		t.Error("a message that was refused before is taken for a duplicate")
	}
	all := h.messages(queue.In)
	if len(all) != 2 || all[0].State != queue.Superseded || all[1].State != queue.Delivered || all[1].Previous != all[0].ID {
		t.Errorf("messages are %+v", all)
	}
	if n := len(h.letters(queue.LetterOpen)); n != 0 {
		t.Errorf("%d letters are still open", n)
	}
}

func TestFloodOfRefusedMessagesIsBounded(t *testing.T) {
	t.Parallel()
	h := open(t)
	for i := range 200 {
		r := refused(fmt.Sprintf("<%d@n.example>", i), fmt.Sprint("wire-", i), "not signed")
		if i%2 == 0 {
			r.MessageID = ""
		}
		h.receive(r)
	}
	big := refused("<big@n.example>", strings.Repeat("x", 3<<20), "not signed")
	big.Partner = "contoso"
	h.receive(big)
	if n := len(h.letters(queue.LetterOpen)); n != refusedMost+1 || h.count(spool.Inbox) != refusedMost+1 {
		t.Errorf("%d letters, %d requests are kept", n, h.count(spool.Inbox))
	}
	flood := func() (found []queue.Event) {
		events, err := h.store.Events(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Type == queue.EventRefused && e.Message == "" {
				found = append(found, e)
			}
		}
		return found
	}
	if told := flood(); len(told) != 1 || told[0].Partner != "northwind" || !strings.Contains(told[0].Text, "more than 30 messages were refused within 10m0s") {
		t.Errorf("that others are not kept is told by %+v, want one event", told)
	}
	all := h.messages(queue.In)
	r := h.record(all[len(all)-1])
	if n := len(h.spooled(spool.Inbox, r.Request)); !r.Cut || n > maxRefused+1000 {
		t.Errorf("%d bytes of a refused message are kept, cut %v", n, r.Cut)
	}
	h.advance(refusedSpan)
	h.receive(refused("<later@n.example>", "later", "not signed"))
	if n := len(h.letters(queue.LetterOpen)); n != refusedMost+2 {
		t.Errorf("%d letters after the span", n)
	}
	for i := range refusedMost + 5 {
		h.receive(refused(fmt.Sprintf("<again-%d@n.example>", i), fmt.Sprint("again-", i), "not signed"))
	}
	if n := len(flood()); n != 2 {
		t.Errorf("%d events about two floods", n)
	}
}

func TestStoreThatFailsMakesThePartnerTryAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.store.set(0)
	if _, _, err := h.Receive(context.Background(), message("<1@n.example>", order, "wire-1")); !errors.Is(err, errStore) {
		t.Fatalf("got %v", err)
	}
	if len(h.tree()) != 0 {
		t.Errorf("files %v of a message that was not acknowledged", h.tree())
	}
	h.store.set(-1)
	if _, dup := h.receive(message("<1@n.example>", order, "wire-1")); dup || len(h.tree()) != 2 {
		t.Errorf("duplicate %v, files %v", dup, h.tree())
	}
}

func TestDocumentThatChangedOnTheWayIsNotKept(t *testing.T) {
	t.Parallel()
	h := open(t)
	r := message("<1@n.example>", order, "wire-1")
	r.Payload = strings.NewReader(order[1:])
	if _, _, err := h.Receive(context.Background(), r); err == nil || len(h.messages(queue.In)) != 0 {
		t.Errorf("kept, %v", err)
	}
}

func TestReceiptThatIsOwedStandsInLine(t *testing.T) {
	t.Parallel()
	h := open(t)
	owing := func(wire string) as2.Received {
		r := message("<1@n.example>", order, wire)
		r.Answer.URL = "https://as2.northwind.example/mdn"
		return r
	}
	h.receive(owing("wire-1"))
	all := h.messages(queue.Out)
	if len(all) != 1 {
		t.Fatalf("%d outbound messages", len(all))
	}
	m := all[0]
	if m.Kind != queue.KindReceipt || m.Lane != "northwind/receipts" || m.State != queue.Queued || m.MessageID != "<mdn-wire-1@edi.acme.example>" || fmt.Sprint(h.woken) != "[northwind/receipts]" {
		t.Errorf("receipt is %+v, woken %v", m, h.woken)
	}
	builds, err := h.store.Builds(context.Background(), m.ID)
	if err != nil || len(builds) != 1 || h.spooled(spool.Wire, builds[0].SHA256) != "MDN for wire-1" || !bytes.Contains(builds[0].Record, []byte("northwind.example/mdn")) {
		t.Errorf("builds are %+v, %v", builds, err)
	}
	h.advance(time.Hour)
	if _, dup := h.receive(owing("wire-2")); !dup || len(h.messages(queue.Out)) != 1 {
		t.Errorf("duplicate %v: %d receipts although the first is still in line", dup, len(h.messages(queue.Out)))
	}
	start, err := queue.Next(m, queue.Input{Trigger: queue.OnFail, At: h.now(), LetterID: "l1", Reason: fault.ReasonLocal}, queue.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Record(context.Background(), &start); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the third copy comes too soon
		h.receive(owing("wire-3"))
	}
	all = h.messages(queue.Out)
	if len(all) != 2 || all[0].State != queue.Superseded || all[1].State != queue.Queued || all[1].MessageID != m.MessageID || len(h.letters(queue.LetterOpen)) != 0 {
		t.Errorf("receipts are %+v", all)
	}
}

// names is a list of partners with one agreement.
type names as2.Agreement

func (n names) ByNames(from, to string) (as2.Agreement, string, bool) {
	return as2.Agreement(n), "northwind", from == n.To && to == n.From
}

func TestOverTheWireADuplicateGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	h := open(t)
	handler, err := as2.NewHandler(as2.Options{Partners: names{From: "ACME", To: "NORTHWIND"}, Inbox: h, Acks: h, Scratch: t.TempDir(),
		Domain: "edi.acme.example", Now: h.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	post := func() (string, http.Header) {
		req, err := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(order))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"AS2-From": "NORTHWIND", "AS2-To": "ACME", "AS2-Version": "1.1", "Message-ID": "<1@n.example>",
			"Content-Type": "application/edi-x12", "Content-Disposition": `attachment; filename="../order.x12"`, "Disposition-Notification-To": "x", "Authorization": "Basic c2VjcmV0"} {
			req.Header.Set(k, v)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		return string(body), resp.Header
	}
	first, head := post()
	if !strings.Contains(first, "Disposition: automatic-action/MDN-sent-automatically; processed\r\n") {
		t.Fatalf("the answer is\n%s", first)
	}
	second, head2 := post()
	h.couriers.work.Wait()
	if first != second || head.Get("Message-ID") != head2.Get("Message-ID") {
		t.Error("the second copy got another receipt")
	}
	if diff := cmp.Diff([]string{"2026-12-01/order.x12", "2026-12-01/order.x12.json"}, h.tree()); diff != "" {
		t.Errorf("files differ:\n%s", diff)
	}
	if kept := h.spooled(spool.Inbox, h.record(h.messages(queue.In)[0]).Request); strings.Contains(kept, "c2VjcmV0") || !strings.HasSuffix(kept, "\r\n\r\n"+order) {
		t.Errorf("the request is kept as\n%s", kept)
	}
}
