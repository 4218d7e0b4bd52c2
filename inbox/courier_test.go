package inbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/queue"
	"edigw/store/spool"
)

// disk watches what is made durable in the folders. The files of the partner
// that hangs wait until let go.
type disk struct {
	mu      sync.Mutex
	flushed []string // names, in order
	hangs   string
	begun   chan struct{} // closed when the first file of him waits
	once    sync.Once
	free    chan struct{}
	look    func(name string) error // called for each file, one at a time
}

func (h *house) watch(hangs string) *disk {
	d := &disk{hangs: hangs, begun: make(chan struct{}), free: make(chan struct{})}
	h.flush = func(f *os.File) error {
		if d.hangs != "" && strings.Contains(f.Name(), filepath.Join(h.Dir, d.hangs)) {
			d.once.Do(func() { close(d.begun) })
			<-d.free
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		name := filepath.Base(f.Name())
		d.flushed = append(d.flushed, name)
		if d.look != nil {
			if err := d.look(name); err != nil {
				return err
			}
		}
		return f.Sync()
	}
	return d
}

func (h *house) states() (all []queue.State) {
	for _, m := range h.messages(queue.In) {
		all = append(all, m.State)
	}
	return all
}

func TestAnswerWaitsForNoFolder(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.watch("northwind")
	ctx := context.Background()
	for i := range 10 {
		if _, _, err := h.Receive(ctx, message(fmt.Sprintf("<%d@n.example>", i), order, fmt.Sprint("wire-", i))); err != nil {
			t.Fatal(err)
		}
		<-d.begun // the first one is a batch of its own
	}
	other := message("<1@c.example>", order, "wire-c")
	other.Partner = "contoso"
	if _, _, err := h.Receive(ctx, other); err != nil {
		t.Fatal(err)
	}
	until(t, "the document of another partner is handed on", func() bool {
		all := h.states()
		return all[10] == queue.Delivered
	})
	for i, s := range h.states()[:10] {
		if s != queue.Received {
			t.Errorf("document %d is %s while its folder hangs", i, s)
		}
	}
	writes := h.store.count()
	close(d.free)
	h.couriers.work.Wait()
	for i, s := range h.states() {
		if s != queue.Delivered {
			t.Errorf("document %d is %s", i, s)
		}
	}
	if n := h.store.count() - writes; n != 2 {
		t.Errorf("%d writes of the ledger for the first document and the nine that waited behind it, want 2", n)
	}
	if n := len(h.tree()); n != 20 {
		t.Errorf("%d files of 10 documents", n)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestFilesAreDurableBeforeTheyHaveTheirNames(t *testing.T) {
	t.Parallel()
	h := open(t)
	all := h.waiting(5)
	d := h.watch("")
	d.look = func(name string) error {
		named := 0
		for _, file := range h.tree() {
			if !strings.Contains(file, ".tmp~") {
				named++
			}
		}
		switch {
		case strings.HasPrefix(name, ".tmp~") && named > 0:
			t.Errorf("%d files have their names before %s is durable", named, name)
		case name == ".tmp~"+all[1].message.ID:
			return errors.New("the disk is broken")
		}
		return nil
	}
	h.handOn(context.Background(), all...)
	if len(d.flushed) < 9 {
		t.Fatalf("made durable: %v", d.flushed)
	}
	for i, name := range d.flushed {
		files := 9 // the facts of the second are not tried
		before := len(d.flushed) - files - 1
		if i >= before && i < before+files != strings.HasPrefix(name, ".tmp~") {
			t.Errorf("made durable in this order: %v", d.flushed)
			break
		}
	}
	for i, p := range all {
		if (p.err != nil) != (i == 1) {
			t.Errorf("document %d: %v", i, p.err)
		}
	}
	want := []queue.State{queue.Delivered, queue.Received, queue.Delivered, queue.Delivered, queue.Delivered}
	if diff := cmp.Diff(want, h.states()); diff != "" {
		t.Errorf("states differ:\n%s", diff)
	}
}

// A batch of documents of which each fails in another way holds nothing back
// but those.
func TestBatchOfGoodAndBadDocuments(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := context.Background()
	all := h.waiting(6)
	all[1].message.Payload.SHA256 = digest("never stored")
	all[2].message.Accepted = h.at.AddDate(0, 0, 1) // another day, whose folder leads out
	outside := t.TempDir()
	h.must(os.MkdirAll(filepath.Join(h.Dir, "northwind"), 0o700))
	h.must(os.Symlink(outside, filepath.Join(h.Dir, "northwind", "2026-12-02")))
	changed := all[3].message // by somebody else, meanwhile
	changed.Detail = "changed"
	h.must(h.store.Record(ctx, &queue.Result{Message: &changed}))
	all[4].message.Partner = "contoso"
	h.must(os.WriteFile(filepath.Join(h.Dir, "contoso"), nil, 0o600))
	h.handOn(ctx, all...)
	for i, p := range all {
		if good := i == 0 || i == 5; good != (p.err == nil) {
			t.Errorf("document %d: %v", i, p.err)
		}
	}
	if !errors.Is(all[3].err, queue.ErrConflict) {
		t.Errorf("the one that was changed: %v", all[3].err)
	}
	want := []queue.State{queue.Delivered, queue.Received, queue.Received, queue.Received, queue.Received, queue.Delivered}
	if diff := cmp.Diff(want, h.states()); diff != "" {
		t.Errorf("states differ:\n%s", diff)
	}
	if files, _ := os.ReadDir(outside); len(files) != 0 {
		t.Errorf("%v was written outside", files)
	}
	h.sweep() // the store has the true values of all but the two whose folders are broken
	if n := len(h.failures); n != 0 {
		t.Errorf("%d failures are remembered: %v", n, h.failures)
	}
}

func TestStopEndsTheBatchAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.watch("northwind")
	ctx := context.Background()
	receive := func(i int) {
		if _, _, err := h.Receive(ctx, message(fmt.Sprintf("<%d@n.example>", i), order, fmt.Sprint("wire-", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		receive(i)
		<-d.begun
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := h.Stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("stop while a folder hangs: %v", err)
	}
	receive(3) // it came while we stop
	close(d.free)
	for range 2 {
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	receive(4) // and when we have stopped
	h.couriers.work.Wait()
	want := []queue.State{queue.Delivered, queue.Received, queue.Received, queue.Received, queue.Received}
	if diff := cmp.Diff(want, h.states()); diff != "" {
		t.Errorf("states differ:\n%s", diff)
	}
	h.restart(h.Dir)
	h.sweep()
	for _, s := range h.states() {
		if s != queue.Delivered {
			t.Errorf("state is %s after the next start", s)
		}
	}
	if n := len(h.tree()); n != 10 {
		t.Errorf("files are %v", h.tree())
	}
}

// hold lets couriers wait with parcels of no message until free is closed.
func (h *house) hold(free <-chan struct{}) {
	h.couriers.handOn = func(ctx context.Context, all ...*parcel) {
		if all[0].message.ID == "" {
			<-free
			return
		}
		h.handOn(ctx, all...)
	}
}

// crowd passes n parcels of no message and counts those that were taken.
func (h *house) crowd(partner string, n int) (taken int) {
	for range n {
		if h.couriers.pass(&parcel{message: queue.Message{Partner: partner}, done: func() {}}) == nil {
			taken++
		}
	}
	return taken
}

func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	h := open(t)
	free := make(chan struct{})
	h.hold(free)
	passed := 0
	for i := range 10 {
		n := h.crowd(fmt.Sprint("partner-", i), 2*maxLine)
		if i == 0 && n != maxLine {
			t.Errorf("%d of one partner wait, want %d", n, maxLine)
		}
		passed += n
	}
	if passed != maxHeld || len(h.couriers.lines) > 4 {
		t.Errorf("%d wait for %d couriers, want %d", passed, len(h.couriers.lines), maxHeld)
	}
	if _, _, err := h.Receive(t.Context(), message("<1@n.example>", order, "wire-1")); err != nil {
		t.Fatal(err)
	}
	if s := h.states(); s[0] != queue.Delivered || len(h.tree()) != 2 {
		t.Errorf("a document that came when too many waited is %s", s[0])
	}
	close(free)
	h.couriers.work.Wait()
	if h.couriers.held != 0 || len(h.couriers.lines) != 0 {
		t.Errorf("%d are held, %d couriers are left", h.couriers.held, len(h.couriers.lines))
	}
}

func TestSweepPassesAHangingPartnerOver(t *testing.T) {
	t.Parallel()
	h := open(t)
	other := message("<1@c.example>", order, "wire-c") // the oldest: a sweep comes to it last
	other.Partner = "contoso"
	h.must(os.WriteFile(filepath.Join(h.Dir, "contoso"), nil, 0o600))
	h.receive(other)
	h.must(os.Remove(filepath.Join(h.Dir, "contoso")))
	h.bar()
	for _, id := range []string{"<1@n.example>", "<2@n.example>"} {
		h.receive(message(id, order, "wire-"+id))
	}
	h.unbar()
	synctest.Test(t, func(t *testing.T) {
		h.restart(h.Dir) // its channels belong to the bubble
		free := make(chan struct{})
		h.hold(free)
		h.crowd("northwind", maxLine)
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * patience)
		synctest.Wait()
		want := []queue.State{queue.Delivered, queue.Received, queue.Received}
		if diff := cmp.Diff(want, h.states()); diff != "" {
			t.Errorf("states differ:\n%s", diff)
		}
		close(free)
		<-time.After(pause)
		synctest.Wait()
		for _, s := range h.states() {
			if s != queue.Delivered {
				t.Errorf("state is %s although the folder works again", s)
			}
		}
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// What arrives while documents are taken up is handed on once.
func TestSweepsBesideArrivals(t *testing.T) {
	t.Parallel()
	h := open(t)
	var arrivals sync.WaitGroup
	for i := range 8 {
		arrivals.Go(func() {
			for n := range 5 {
				id := fmt.Sprintf("%d-%d", i, n)
				if _, _, err := h.Receive(context.Background(), message("<"+id+"@n.example>", order, id)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { arrivals.Wait(); close(ended) }()
	for over := false; !over; {
		h.Inbox.sweep(context.Background())
		select {
		case <-ended:
			over = true
		default:
		}
	}
	h.sweep()
	if n := h.events(queue.EventDelivered); n != 40 || len(h.tree()) != 80 || h.count(spool.Payload) != 1 {
		t.Errorf("%d deliveries, %d files of 40 documents", n, len(h.tree()))
	}
	if h.troubled() {
		t.Errorf("failures: %v", h.failures)
	}
}
