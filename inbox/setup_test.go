package inbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/storetest"
)

// ledger is a store whose writes the test may let fail.
type ledger struct {
	*storetest.Memory
	mu   sync.Mutex
	left int // writes until they fail; -1: never
	n    int // writes so far
}

var errStore = errors.New("the store is broken")

func (l *ledger) Record(ctx context.Context, r ...*queue.Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return errStore
	}
	l.left--
	l.n++
	return l.Memory.Record(ctx, r...)
}

func (l *ledger) count() int { l.mu.Lock(); defer l.mu.Unlock(); return l.n }

func (l *ledger) set(n int) { l.mu.Lock(); defer l.mu.Unlock(); l.left = n }

// lanes takes acknowledgements and looks whether they are durable.
type lanes struct {
	spool *spool.Spool
	err   error
	mu    sync.Mutex
	got   []as2.Receipt
	ids   []string
}

func (l *lanes) Acknowledge(_ context.Context, id, raw string) (fault.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.spool.Open(spool.Receipt, raw)
	if err != nil {
		return fault.Outcome{}, err
	}
	defer f.Close()
	r, err := as2.ReadReceipt(f)
	if err != nil {
		return fault.Outcome{}, err
	}
	l.got, l.ids = append(l.got, r), append(l.ids, id)
	return fault.Outcome{}, l.err
}

type house struct {
	*Inbox
	t     *testing.T
	store *ledger
	lanes *lanes
	mu    sync.Mutex
	at    time.Time
	woken []string
}

func open(t *testing.T) *house {
	t.Helper()
	sp, err := spool.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, store: &ledger{Memory: storetest.NewMemory(), left: -1}, lanes: &lanes{spool: sp}, at: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
	h.restart(t.TempDir())
	return h
}

// restart gives the house a new inbox, as after a restart of the process.
func (h *house) restart(dir string) {
	h.t.Helper()
	b, err := New(Options{
		Store: h.store, Spool: h.lanes.spool, Lanes: h.lanes, Dir: dir, Now: h.now, Log: slog.New(slog.DiscardHandler),
		Wake: func(lane string) { h.mu.Lock(); defer h.mu.Unlock(); h.woken = append(h.woken, lane) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Inbox = b
}

func (h *house) now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.at }

func (h *house) advance(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.at = h.at.Add(d) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// message is an accepted one; its wire bytes are told by wire.
func message(id, content, wire string) as2.Received {
	return as2.Received{
		Partner: "northwind", From: "NORTHWIND", To: "ACME", MessageID: id, Subject: "Order", At: time.Date(2026, 12, 1, 8, 59, 59, 0, time.UTC),
		Accepted: true, Disposition: as2.Disposition{Mode: "automatic-action/MDN-sent-automatically", Type: "processed"},
		ContentType: "application/edi-x12", FileName: "order.x12", Size: int64(len(content)), SHA256: digest(content), Payload: strings.NewReader(content),
		Signed: true, Signer: "ab12", MIC: as2.MIC{Algorithm: "sha-256", Value: "abc="},
		Header: http.Header{"Message-Id": {id}, "As2-From": {"NORTHWIND"}}, Wire: strings.NewReader(wire), WireSize: int64(len(wire)), WireSHA256: digest(wire),
		Answer: &as2.Answer{MessageID: "<mdn-" + wire + "@edi.acme.example>", Body: []byte("MDN for " + wire), Disposition: "processed"},
	}
}

// refused is one that was turned away.
func refused(id, wire, problem string) as2.Received {
	r := message(id, "", wire)
	r.Accepted, r.Reason, r.Problem = false, fault.ReasonSignature, problem
	r.Disposition = as2.Disposition{Mode: "automatic-action/MDN-sent-automatically", Type: "processed", Modifier: "error", Text: "authentication-failed"}
	r.Payload, r.Size, r.SHA256, r.FileName, r.Signed, r.Signer, r.MIC = nil, 0, "", "", false, "", as2.MIC{}
	return r
}

// receive also waits until couriers are through.
func (h *house) receive(r as2.Received) (*as2.Answer, bool) {
	h.t.Helper()
	a, dup, err := h.Receive(context.Background(), r)
	if err != nil {
		h.t.Fatalf("Receive: %v", err)
	}
	h.couriers.work.Wait()
	return a, dup
}

// sweep takes up what is left and waits until couriers are through.
func (h *house) sweep() {
	h.t.Helper()
	if !h.Inbox.sweep(context.Background()) {
		h.t.Error("the sweep did not come to its end")
	}
	h.couriers.work.Wait()
}

func (h *house) messages(d queue.Direction) []queue.Message {
	h.t.Helper()
	all, _, err := h.store.Messages(context.Background(), queue.MessageFilter{Direction: d}, queue.Page{Limit: 500})
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

func (h *house) letters(s queue.LetterStatus) []queue.Letter {
	h.t.Helper()
	all, _, err := h.store.Letters(context.Background(), queue.LetterFilter{Status: s}, queue.Page{Limit: 500})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func (h *house) events(typ queue.EventType) (n int) {
	h.t.Helper()
	all, err := h.store.Events(context.Background(), 0, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// tree lists the files of the partner's folder, hidden ones too.
func (h *house) tree() []string {
	h.t.Helper()
	var all []string
	root := filepath.Join(h.Dir, "northwind")
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, rel)
		}
		return nil
	})
	return all
}

func (h *house) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.Dir, "northwind", name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *house) facts(name string) (f Facts) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.read(name)), &f); err != nil {
		h.t.Fatal(err)
	}
	return f
}

func (h *house) record(m queue.Message) Record {
	h.t.Helper()
	builds, err := h.store.Builds(context.Background(), m.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	r, err := ReadRecord(builds)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) spooled(k spool.Kind, name string) string {
	h.t.Helper()
	f, err := h.Spool.Open(k, name)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

// count counts the files of a kind in the spool.
func (h *house) count(k spool.Kind) (n int) {
	h.t.Helper()
	if err := h.Spool.Walk(k, time.Now().Add(time.Hour), func(string) error { n++; return nil }); err != nil {
		h.t.Fatal(err)
	}
	return n
}
