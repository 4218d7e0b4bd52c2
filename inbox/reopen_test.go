package inbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2"
	"edigw/queue"
	"edigw/store/spool"
)

const orderX12 = "ISA*00*          *00*          *ZZ*NORTHWIND      *ZZ*ACME           *261201*0800*U*00401*000000042*0*P*>~GS*PO*NORTHWIND*ACME*20261201*0800*1*X*004010~ST*850*0001~BEG*00*SA*PO-4711**20261201~SE*3*0001~GE*1*1~IEA*1*000000042~"

// TestRefusedMessageIsOpenedAgain: the certificate is imported, the document
// goes on as if it came now, and the partner who sends it again gets the new
// receipt.
func TestRefusedMessageIsOpenedAgain(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	build, header, receipt := p.send("<1@northwind.example>", orderX12)
	if got := p.disposition(build, header, receipt); got != "processed/error: authentication-failed" {
		t.Fatalf("answered %q", got)
	}
	dead := p.messages(queue.In)[0]
	letter := p.letters(queue.LetterOpen)[0]
	can, err := p.Processing(context.Background(), dead.ID)
	if err != nil || !can.Refused || can.Async || can.Why != "" {
		t.Errorf("processing %+v, %v", can, err)
	}
	var still *StillRefused
	if err := p.process(dead.ID); !errors.As(err, &still) || !strings.Contains(still.Why, "signed by serial") {
		t.Fatalf("before it is repaired: %v", err)
	}
	if n := p.events(queue.EventLetterChanged); n != 1 || len(p.letters(queue.LetterOpen)) != 1 || len(p.messages(queue.In)) != 1 {
		t.Errorf("%d events that the letter changed", n)
	}
	p.mend()
	p.advance(time.Hour)
	if err := p.process(dead.ID); err != nil {
		t.Fatal(err)
	}
	all := p.messages(queue.In)
	now := all[len(all)-1]
	if now.State != queue.Delivered || now.Previous != dead.ID || now.Edition != 1 || now.Actor != kim || now.MessageID != "<1@northwind.example>" {
		t.Errorf("the document is %+v", now)
	}
	if f := p.facts("2026-12-01/order.x12.json"); p.read("2026-12-01/order.x12") != orderX12 || f.ID != now.ID || f.Type != "850" || !f.Signed || !f.Received.Equal(dead.Accepted) {
		t.Errorf("facts %+v", f)
	}
	l, err := p.store.Letter(context.Background(), letter.ID)
	if err != nil || l.Status != queue.LetterClosed || l.ClosedAs != queue.ClosedSuperseded || l.Actor != kim || !strings.Contains(l.Note, "certificate imported") || !strings.Contains(l.Note, now.ID) {
		t.Errorf("letter %+v, %v", l, err)
	}
	var no *NotPossible
	if err := p.process(dead.ID); !errors.As(err, &no) {
		t.Errorf("the second click: %v", err)
	}
	build, header, receipt = p.send("<1@northwind.example>", orderX12)
	if got := p.disposition(build, header, receipt); got != "processed" || len(p.messages(queue.In)) != 2 {
		t.Errorf("a repeat: %q, messages %d", got, len(p.messages(queue.In)))
	}
	if r := p.record(now); r.Request != p.record(dead).Request || p.count(spool.Inbox) != 1 {
		t.Error("the request was kept twice")
	}
	if told := p.eventText(queue.EventAccepted, now.ID); !strings.Contains(told, "refused before") || !strings.Contains(told, "learns otherwise only if he sends it again") {
		t.Errorf("the event says %q", told)
	}
}

// eventText is the text of an event of a message.
func (h *house) eventText(typ queue.EventType, id string) string {
	h.t.Helper()
	all, err := h.store.Events(context.Background(), 0, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == typ && e.Message == id {
			return e.Text
		}
	}
	return ""
}

// TestReceiptOfAReopenedMessageIsOwed: asynchronous: the refusal that has not
// gone out is called back, the new receipt is owed.
func TestReceiptOfAReopenedMessageIsOwed(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.sends.MDN.Mode, p.sends.MDN.URL = as2.MDNAsync, "https://as2.northwind.example/mdn"
	build, _, _ := p.send("<1@northwind.example>", orderX12)
	dead := p.messages(queue.In)[0]
	refusal := p.messages(queue.Out)
	if len(refusal) != 1 || refusal[0].State != queue.Queued || !refusal[0].NextAt.After(p.now()) {
		t.Fatalf("owed: %+v; it must leave after the message is answered, at %v", refusal, p.now())
	}
	if can, err := p.Processing(context.Background(), dead.ID); err != nil || !can.Async {
		t.Errorf("processing %+v, %v", can, err)
	}
	p.mend()
	if err := p.process(dead.ID); err != nil {
		t.Fatal(err)
	}
	owed := p.messages(queue.Out)
	if len(owed) != 2 || owed[0].State != queue.Superseded || owed[1].State != queue.Queued || owed[1].CorrelationID == dead.ID {
		t.Fatalf("owed: %+v", owed)
	}
	builds, err := p.store.Builds(context.Background(), owed[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	now := p.messages(queue.In)[1]
	header := http.Header{}
	for _, f := range p.record(now).Answer.Headers {
		header.Set(f.Name, f.Value)
	}
	if got := p.disposition(build, header, []byte(p.spooled(spool.Wire, builds[0].SHA256))); got != "processed" {
		t.Errorf("the new receipt says %q", got)
	}
	if told := p.eventText(queue.EventAccepted, now.ID); !strings.Contains(told, "the new receipt is owed") {
		t.Errorf("the event says %q", told)
	}
}

// TestReceiptURLThatIsNotListed: refused in the response, never posted to; once
// the URL is listed, the receipt is owed.
func TestReceiptURLThatIsNotListed(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.mend()
	p.sends.MDN.Mode, p.sends.MDN.URL = as2.MDNAsync, "https://new.northwind.example/mdn"
	build, header, receipt := p.send("<1@northwind.example>", orderX12)
	if got := p.disposition(build, header, receipt); got != "processed/error: unexpected-processing-error" || len(p.messages(queue.Out)) != 0 {
		t.Fatalf("answered %q, owed %v", got, p.messages(queue.Out))
	}
	l := p.letters(queue.LetterOpen)[0]
	if !strings.Contains(l.Detail, "as2.receive.receipt_urls") || !strings.Contains(l.Detail, "https://new.northwind.example/mdn") {
		t.Errorf("the letter says %q", l.Detail)
	}
	p.mu.Lock()
	p.takes.Receive.ReceiptURLs = []string{"https://new.northwind.example/mdn"}
	p.mu.Unlock()
	if err := p.process(l.Message); err != nil {
		t.Fatal(err)
	}
	if owed := p.messages(queue.Out); len(owed) != 1 || owed[0].State != queue.Queued {
		t.Errorf("owed %+v", owed)
	}
}

// TestProcessIsDoneOnce: many clicks at once keep one document.
func TestProcessIsDoneOnce(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.send("<1@northwind.example>", orderX12)
	dead := p.messages(queue.In)[0]
	p.mend()
	var done, refused int
	var mu sync.Mutex
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			err := p.Process(context.Background(), dead.ID, kim, "")
			mu.Lock()
			defer mu.Unlock()
			var no *NotPossible
			switch {
			case err == nil:
				done++
			case errors.As(err, &no):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	work.Wait()
	p.couriers.work.Wait()
	if done != 1 || refused != 7 || len(p.messages(queue.In)) != 2 || len(p.tree()) != 2 {
		t.Errorf("%d done, %d refused, files %v", done, refused, p.tree())
	}
}

// TestSentAgainBeforeItIsProcessed: what the partner repeats meanwhile counts,
// and there is nothing left to process.
func TestSentAgainBeforeItIsProcessed(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.send("<1@northwind.example>", orderX12)
	dead := p.messages(queue.In)[0]
	p.mend()
	p.send("<1@northwind.example>", orderX12)
	var no *NotPossible
	if err := p.process(dead.ID); !errors.As(err, &no) || len(p.messages(queue.In)) != 2 || len(p.tree()) != 2 {
		t.Errorf("%v, files %v", err, p.tree())
	}
}

// TestRefusedUnderAnIDThatWasAccepted: other bytes under an id that has its
// document would be a repeat.
func TestRefusedUnderAnIDThatWasAccepted(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	other := p.takes.Verify
	p.mend()
	p.send("<1@northwind.example>", orderX12)
	p.takes.Verify = other
	p.send("<1@northwind.example>", orderX12+"\r\n")
	p.mend()
	var no *NotPossible
	if err := p.process(p.letters(queue.LetterOpen)[0].Message); !errors.As(err, &no) || !strings.Contains(no.Why, "same Message-ID") || len(p.tree()) != 2 {
		t.Errorf("%v, files %v", err, p.tree())
	}
}

// TestStoreThatFailsChangesNothing: the letter is as before, and the next click
// does it.
func TestStoreThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.send("<1@northwind.example>", orderX12)
	dead := p.messages(queue.In)[0]
	p.mend()
	p.store.set(0)
	if err := p.process(dead.ID); !errors.Is(err, errStore) {
		t.Fatalf("got %v", err)
	}
	p.store.set(-1)
	if l := p.letters(queue.LetterOpen); len(l) != 1 || len(p.messages(queue.In)) != 1 {
		t.Fatalf("letters %+v", l)
	}
	if err := p.process(dead.ID); err != nil || len(p.tree()) != 2 {
		t.Errorf("%v, files %v", err, p.tree())
	}
}

// TestWhatCannotBeOpenedAgain says why, before and after the click.
func TestWhatCannotBeOpenedAgain(t *testing.T) {
	t.Parallel()
	big := orderX12 + strings.Repeat("~", 2*maxRefused)
	for name, tc := range map[string]struct {
		content string
		before  func(*port)
		after   func(*port)
		why     string
	}{
		"its beginning alone": {content: big, before: func(p *port) { p.room = func() (int64, int64, error) { return 9 << 20, 30 << 20, nil } }, why: "only the beginning"},
		"a disk that cannot be measured": {content: big, before: func(p *port) { p.room = func() (int64, int64, error) { return 0, 0, errors.New("no disk") } },
			why: "only the beginning"},
		"no client certificate": {content: orderX12, before: func(p *port) { p.takes.Receive.Clients = p.takes.Verify }, why: "before its content was read"},
		"a request that is gone": {content: orderX12, after: func(p *port) {
			if _, err := p.Spool.Remove(spool.Inbox, time.Time{}, p.record(p.messages(queue.In)[0]).Request); err != nil {
				p.t.Fatal(err)
			}
		}, why: "-its request is gone"},
		"names that nobody has": {content: orderX12, after: func(p *port) { p.takes.To = "FABRIKAM" }, why: "-no agreement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPort(t)
			if tc.before != nil {
				tc.before(p)
			}
			p.send("<1@northwind.example>", tc.content)
			p.mend()
			if tc.after != nil {
				tc.after(p)
			}
			dead := p.messages(queue.In)[0]
			why, late := strings.CutPrefix(tc.why, "-")
			if can, err := p.Processing(context.Background(), dead.ID); err != nil || !can.Refused || strings.Contains(can.Why, why) == late {
				t.Errorf("processing %+v, %v", can, err)
			}
			var no *NotPossible
			if err := p.process(dead.ID); !errors.As(err, &no) || !strings.Contains(no.Why, why) || len(p.letters(queue.LetterOpen)) != 1 {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLargeRefusedMessageIsKeptWhole while there is room enough.
func TestLargeRefusedMessageIsKeptWhole(t *testing.T) {
	t.Parallel()
	p := openPort(t)
	p.room = func() (int64, int64, error) { return 100 << 20, 100 << 20, nil }
	big := orderX12 + strings.Repeat("~", 2*maxRefused)
	p.sends.Encrypt = ""
	p.send("<1@northwind.example>", big)
	dead := p.messages(queue.In)[0]
	p.mend()
	if err := p.process(dead.ID); err != nil {
		t.Fatal(err)
	}
	if p.read("2026-12-01/order.x12") != big {
		t.Error("the document is not what was sent")
	}
}

// TestShareOfTheRoom: however many refused messages come, a quarter of the disk
// stays free of them.
func TestShareOfTheRoom(t *testing.T) {
	t.Parallel()
	h := open(t)
	const disk = 100 << 20
	free := int64(disk)
	h.room = func() (int64, int64, error) { return free, disk, nil }
	whole := 0
	for range 1000 {
		if size := int64(4 << 20); h.share(size) == size {
			free -= size
			whole++
		}
	}
	if whole < 10 || free < disk/4 || h.share(500<<10) != maxRefused {
		t.Errorf("%d were kept whole, %d bytes are left", whole, free)
	}
}

// TestWarningAndAttachmentsAreTold, and the references stand in the root part.
func TestWarningAndAttachmentsAreTold(t *testing.T) {
	t.Parallel()
	h := open(t)
	body := "--b\r\n\r\npdf\r\n--b\r\n\r\n" + orderX12 + "\r\n--b--\r\n"
	r := message("<1@n.example>", body, "wire-1")
	r.ContentType, r.Root = `multipart/related; boundary=b`, io.Reader(strings.NewReader(orderX12))
	r.Attachments = []as2.Attachment{{Name: "a.pdf", ContentType: "application/pdf", Size: 3, SHA256: digest("pdf")}, {ContentType: "application/edi-x12", Size: int64(len(orderX12)), SHA256: digest(orderX12)}}
	r.Warning = "Receipt-Delivery-Option is empty"
	h.receive(r)
	m := h.messages(queue.In)[0]
	f := h.record(m).Facts
	if len(f.Attachments) != 2 || !cmp.Equal(f.Attachments[0], Attachment{Name: "a.pdf", ContentType: "application/pdf", Size: 3, SHA256: digest("pdf")}) || f.Type != "850" || f.Warning != r.Warning {
		t.Errorf("facts %+v", f)
	}
	if m.Business.Type != "850" || m.Payload.SHA256 != digest(body) || !strings.Contains(h.eventText(queue.EventAccepted, m.ID), r.Warning) {
		t.Errorf("message %+v", m)
	}
}
