package inbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/store/storetest"
)

// hooked lets documents go to a webhook from now on, or to the folder again.
func (h *house) hooked(yes bool) { h.Webhook = func(string) bool { return yes } }

// posts are the messages that carry documents to the webhook.
func (h *house) posts() (all []queue.Message) {
	h.t.Helper()
	for _, m := range h.messages(queue.Out) {
		if m.Kind == queue.KindWebhook {
			all = append(all, m)
		}
	}
	return all
}

func TestDocumentAndItsPostAreOneTransaction(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	r := message("<1@n.example>", order, "wire-1")
	r.Answer.URL = "https://as2.northwind.example/mdn"
	writes := h.store.count()
	h.receive(r)
	if n := h.store.count() - writes; n != 1 {
		t.Errorf("%d writes", n)
	}
	m, posts := h.messages(queue.In)[0], h.posts()
	if m.State != queue.Received || m.Detail != "waits for its webhook" || len(posts) != 1 || len(h.messages(queue.Out)) != 2 {
		t.Fatalf("the document is %s (%s), %d posts of %d", m.State, m.Detail, len(posts), len(h.messages(queue.Out)))
	}
	p := posts[0]
	if p.Lane != "northwind/webhook" || p.State != queue.Queued || p.CorrelationID != m.ID || p.Payload != m.Payload || len(p.Business.References) == 0 {
		t.Errorf("post %+v", p)
	}
	if h.record(m).Post != p.ID || len(h.tree()) != 0 || h.count(spool.Payload) != 1 {
		t.Errorf("record %+v, files %v, %d payloads", h.record(m), h.tree(), h.count(spool.Payload))
	}
	builds, err := h.store.Builds(t.Context(), p.ID)
	if err != nil || len(builds) != 1 {
		t.Fatal(builds, err)
	}
	o, err := queue.ReadOrigin(builds[0])
	want := queue.Origin{Message: m.ID, MessageID: "<1@n.example>", From: "NORTHWIND", To: "ACME", Subject: "Order", Received: r.At}
	if err != nil || o != want {
		t.Errorf("origin %+v, %v", o, err)
	}
	woken := map[string]bool{}
	for _, lane := range h.woken {
		woken[lane] = true
	}
	if !woken["northwind/webhook"] || !woken["northwind/receipts"] {
		t.Errorf("woken: %v", h.woken)
	}
	if _, dup := h.receive(message("<1@n.example>", order, "wire-1")); !dup || len(h.posts()) != 1 {
		t.Errorf("a repeat made %d posts", len(h.posts()))
	}
	h.restart(h.Dir)
	h.sweep()
	if len(h.tree()) != 0 || h.messages(queue.In)[0].State != queue.Received || h.troubled() {
		t.Errorf("the next start put it into the folder: %v", h.tree())
	}
}

func TestDocumentThatCannotBeRecordedHasNoPost(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.store.set(0)
	if _, _, err := h.Receive(t.Context(), message("<1@n.example>", order, "wire-1")); err == nil {
		t.Error("accepted although it could not be recorded")
	}
	h.store.set(-1)
	if len(h.messages(queue.In))+len(h.posts()) != 0 {
		t.Errorf("%v, %v", h.messages(queue.In), h.posts())
	}
	h.receive(message("<1@n.example>", order, "wire-1"))
	if len(h.messages(queue.In)) != 1 || len(h.posts()) != 1 {
		t.Errorf("%v, %v", h.messages(queue.In), h.posts())
	}
}

func TestRefusedMessageGoesToNoWebhook(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(refused("<1@n.example>", "wire-1", "not signed"))
	if len(h.posts()) != 0 {
		t.Errorf("%v", h.posts())
	}
}

// The settings change while documents wait: each keeps the way it began.
func TestDocumentKeepsTheWayItBegan(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.bar()
	h.receive(message("<folder@n.example>", order, "wire-1"))
	h.hooked(true)
	h.receive(message("<hook@n.example>", order, "wire-2"))
	h.unbar()
	h.restart(h.Dir)
	h.hooked(true)
	h.sweep()
	h.hooked(false)
	h.sweep()
	all := h.messages(queue.In)
	if all[0].State != queue.Delivered || all[1].State != queue.Received || len(h.tree()) != 2 || len(h.posts()) != 1 {
		t.Errorf("%s and %s, files %v, %d posts", all[0].State, all[1].State, h.tree(), len(h.posts()))
	}
}

// ended is a post as a lane leaves it.
func ended(post queue.Message) *queue.Result {
	post.State, post.Proof, post.Finished = queue.Delivered, queue.ProofHTTP, post.Accepted.Add(time.Second)
	return &queue.Result{Message: &post}
}

func TestPostAndDocumentEndTogether(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.store.set(0)
	if err := h.Record(t.Context(), ended(h.posts()[0])); err == nil {
		t.Fatal("recorded by a broken store")
	}
	h.store.set(-1)
	if h.messages(queue.In)[0].State != queue.Received || h.posts()[0].State != queue.Queued {
		t.Error("half of it was recorded")
	}
	counted := 0
	h.Count = func(m queue.Message) { counted++ }
	writes := h.store.count()
	h.must(h.Record(t.Context(), ended(h.posts()[0])))
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered || m.Detail != "taken by the webhook" || h.store.count()-writes != 1 || counted != 1 {
		t.Errorf("%s: %s after %d writes, counted %d times", m.State, m.Detail, h.store.count()-writes, counted)
	}
}

// The document was changed between reading and writing: nothing is recorded, and
// whoever records tries again.
func TestDocumentThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(message("<1@n.example>", order, "wire-1"))
	m, post := h.messages(queue.In)[0], h.posts()[0]
	res := h.follow(m, *ended(post).Message)
	m.Detail = "somebody was faster"
	h.must(h.store.Record(t.Context(), &queue.Result{Message: &m}))
	if err := h.store.Record(t.Context(), ended(post), res); err == nil {
		t.Error("recorded")
	}
	h.must(h.Record(t.Context(), ended(post)))
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered {
		t.Errorf("it is %s", m.State)
	}
}

// A store that somebody repaired by hand may say that the post was taken while
// the document waits: the next start sets that right.
func TestStartMendsWhatPostAndDocumentDisagreeIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.must(h.store.Record(t.Context(), ended(h.posts()[0])))
	h.restart(h.Dir)
	h.sweep()
	if m := h.messages(queue.In)[0]; m.State != queue.Delivered || h.troubled() {
		t.Errorf("it is %s: %s", m.State, m.Detail)
	}
}

// died is a post whose letter is open.
func (h *house) died(post queue.Message) queue.Message {
	h.t.Helper()
	l, e, err := h.bury(&post, fault.ReasonRejected, "they answered 410")
	h.must(err)
	l.Direction = queue.Out
	h.must(h.Record(h.t.Context(), &queue.Result{Message: &post, Opened: l, Events: []queue.Event{e}}))
	return h.posts()[0]
}

func TestDocumentOfADeadPostCanGoToTheFolder(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(message("<1@n.example>", order, "wire-1"))
	by := fault.Actor{Name: "kim"}
	var no *NotPossible
	if err := h.Process(t.Context(), h.posts()[0].ID, by, ""); !errors.As(err, &no) || len(h.tree()) != 0 {
		t.Errorf("taken back while it waits: %v, %v", err, h.tree())
	}
	post := h.died(h.posts()[0])
	if m := h.messages(queue.In)[0]; m.State != queue.Received || m.Detail != "its webhook post is a dead letter: they answered 410" {
		t.Errorf("the document is %s: %s", m.State, m.Detail)
	}
	h.store.set(0)
	if err := h.Process(t.Context(), post.ID, by, "the ERP is gone"); err == nil || len(h.tree()) != 0 {
		t.Errorf("recorded by a broken store: %v", h.tree())
	}
	h.store.set(-1)
	h.must(h.Process(t.Context(), post.ID, by, "the ERP is gone"))
	m, post := h.messages(queue.In)[0], h.posts()[0]
	if m.State != queue.Delivered || m.Detail != "in the inbox folder: 2026-12-01/order.x12" || post.State != queue.Superseded {
		t.Errorf("the document is %s (%s), its post %s", m.State, m.Detail, post.State)
	}
	if diff := cmp.Diff([]string{"2026-12-01/order.x12", "2026-12-01/order.x12.json"}, h.tree()); diff != "" {
		t.Errorf("files differ:\n%s", diff)
	}
	l := h.letters(queue.LetterClosed)
	if len(l) != 1 || l[0].ClosedAs != queue.ClosedSuperseded || l[0].Actor != by || l[0].Note != "the ERP is gone" {
		t.Errorf("letters %+v", l)
	}
	if err := h.Process(t.Context(), post.ID, by, ""); !errors.As(err, &no) {
		t.Errorf("twice: %v", err)
	}
}

// A post that is on its way to the folder cannot be replayed: its document would
// reach both.
func TestPostOnItsWayToTheFolderIsNotReplayed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.hooked(true)
	h.receive(message("<1@n.example>", order, "wire-1"))
	post := h.died(h.posts()[0])
	var once sync.Once
	var replayed error
	h.flush = func(f *os.File) error {
		once.Do(func() {
			again := post
			again.State = queue.Queued
			replayed = h.store.Record(t.Context(), &queue.Result{Message: &again})
		})
		return f.Sync()
	}
	err := h.Process(t.Context(), post.ID, fault.Actor{Name: "kim"}, "")
	if m := h.messages(queue.In)[0]; err != nil || m.State != queue.Delivered || !errors.Is(replayed, queue.ErrConflict) {
		t.Errorf("%v; the document is %s; replayed meanwhile: %v", err, m.State, replayed)
	}
}

// The document of a post that ended is not lost, whatever fails then.
func TestDocumentOnItsWayToTheFolderArrives(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*house) (repair func()){
		"the folder fails":                 func(h *house) func() { h.bar(); return h.unbar },
		"its end could not be recorded":    func(h *house) func() { h.store.set(1); return func() { h.store.set(-1) } },
		"the process ended then":           func(h *house) func() { h.bar(); return func() { h.unbar(); h.restart(h.Dir) } },
		"it ended when the file lay there": func(h *house) func() { h.store.set(1); return func() { h.store.set(-1); h.restart(h.Dir) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.hooked(true)
			h.receive(message("<1@n.example>", order, "wire-1"))
			post := h.died(h.posts()[0])
			repair := fail(h)
			if err := h.Process(t.Context(), post.ID, fault.Actor{Name: "kim"}, ""); err == nil {
				t.Error("nothing failed")
			}
			repair()
			if m := h.messages(queue.In)[0]; m.State != queue.Received || m.Detail != "goes to the inbox folder instead of the webhook" {
				t.Errorf("meanwhile it is %s: %s", m.State, m.Detail)
			}
			h.sweep()
			if m := h.messages(queue.In)[0]; m.State != queue.Delivered || h.troubled() {
				t.Errorf("it is %s: %s", m.State, m.Detail)
			}
			if diff := cmp.Diff([]string{"2026-12-01/order.x12", "2026-12-01/order.x12.json"}, h.tree()); diff != "" {
				t.Errorf("files differ:\n%s", diff)
			}
		})
	}
}

// Retention keeps the bytes as long as the post needs them, however early the
// document itself may be forgotten.
func TestRetentionKeepsWhatAPostNeeds(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func() storetest.Store{
		"memory": func() storetest.Store { return storetest.NewMemory() },
		"sqlite": func() storetest.Store {
			s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.Store, h.Webhook = store(), func(string) bool { return true }
			st := h.Store.(storetest.Store)
			ctx := context.Background()
			h.receive(message("<1@n.example>", order, "wire-1"))
			in, _, err := st.Messages(ctx, queue.MessageFilter{Direction: queue.In}, queue.Page{Limit: 1})
			h.must(err)
			post, err := st.Message(ctx, h.postOf(st, in[0]))
			h.must(err)
			keep := queue.Keep{Payloads: time.Hour, Evidence: time.Hour, Wire: time.Hour}
			late := h.now().Add(1000 * time.Hour)
			if g, err := st.Expired(ctx, late, keep, 100); err != nil || len(g) != 0 {
				t.Errorf("expired while it waits: %+v, %v", g, err)
			}
			// Only the document ends: its row may go, the bytes may not.
			m := in[0]
			m.State, m.Finished = queue.Delivered, h.now()
			h.must(st.Record(ctx, &queue.Result{Message: &m}))
			g, err := st.Expired(ctx, late, keep, 100)
			for _, x := range g {
				if x.What == "payload" && !x.Shared {
					t.Errorf("%+v would go while %s needs it", x, post.ID)
				}
			}
			h.must(err)
			h.must(st.Forget(ctx, g...))
			if free, err := st.Unnamed(ctx, "payload", []string{m.Payload.SHA256}); err != nil || len(free) != 0 {
				t.Errorf("nothing names %v any more, %v", free, err)
			}
			h.must(h.Record(ctx, ended(post)))
		})
	}
}

func (h *house) postOf(st storetest.Store, m queue.Message) string {
	h.t.Helper()
	builds, err := st.Builds(context.Background(), m.ID)
	h.must(err)
	r, err := ReadRecord(builds)
	h.must(err)
	return r.Post
}
