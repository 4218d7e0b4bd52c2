package lane_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Outcomes that partners give.
var (
	receipt = fault.Outcome{Phase: fault.PhaseDone, Status: 200, Protocol: true, AckAsked: fault.AckSync,
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Signer: "s"}}
	refused       = fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused", AckAsked: fault.AckSync}
	busy          = fault.Outcome{Phase: fault.PhaseDone, Status: 503, Detail: "busy", AckAsked: fault.AckSync}
	cut           = fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseReset, Detail: "connection reset", AckAsked: fault.AckSync}
	login         = fault.Outcome{Phase: fault.PhaseDone, Status: 401, Detail: "login refused", AckAsked: fault.AckSync}
	notAcceptable = fault.Outcome{Phase: fault.PhaseDone, Status: 422, Detail: "no", AckAsked: fault.AckSync}
	later         = fault.Outcome{Phase: fault.PhaseDone, Status: 202, AckAsked: fault.AckAsync}
	distrust      = fault.Outcome{Phase: fault.PhaseTLS, Cause: fault.CauseTLSTrust, Detail: "certificate expired", AckAsked: fault.AckSync}
	undecrypted   = fault.Outcome{Phase: fault.PhaseDone, Status: 200, Protocol: true, AckAsked: fault.AckSync, Detail: "decryption-failed",
		Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Type: "processed", Modifier: "error", Text: "decryption-failed", Signer: "s"}}
	alive = fault.Outcome{Phase: fault.PhaseDone, Status: 405}
)

// reply is one answer of a scripted partner.
type reply struct {
	o    fault.Outcome
	took time.Duration
}

// sent is one exchange as the partner saw it.
type sent struct {
	partner, key string
	sha          string
	at           time.Time
}

// wire is a Sender in memory that does as its script says.
type wire struct {
	async  bool
	answer func(m queue.Message, n int) reply // n: arrivals of this message so far, from 1
	check  func(partner string) fault.Outcome
	judge  fault.Outcome
	broken func(m queue.Message) *fault.Outcome // Prepare fails
	lacks  func(m queue.Message) bool           // what it takes to build cannot be had from others now
	panics func(m queue.Message) bool
	full   bool                                // receipts cannot be kept
	builds func(m queue.Message) time.Duration // how long Prepare takes

	mu      sync.Mutex
	log     []sent
	checks  []sent
	active  map[string]int // message → running
	lanes   map[string]int
	most    map[string]int // lane → most at once
	faults  []string
	prepare int
}

func (w *wire) Prepare(_ context.Context, m queue.Message, builds []queue.Build) (queue.Build, bool, *fault.Outcome) {
	if w.builds != nil {
		time.Sleep(w.builds(m)) //nolint:forbidigo // fake time of the bubble
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepare++
	if w.broken != nil {
		if fail := w.broken(m); fail != nil {
			return queue.Build{}, false, fail
		}
	}
	if n := len(builds); n > 0 {
		return builds[n-1], false, nil
	}
	if w.lacks != nil && w.lacks(m) {
		return queue.Build{AckAsked: fault.AckSync}, false, nil
	}
	asked := fault.AckSync
	if w.async {
		asked = fault.AckAsync
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", m.ID, w.prepare)) // fresh bytes would differ
	return queue.Build{Message: m.ID, N: 1, MessageID: m.MessageID, SHA256: fmt.Sprintf("%x", sum), AckAsked: asked, Size: 1}, true, nil
}

func (w *wire) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	w.mu.Lock()
	w.log = append(w.log, sent{m.Partner, m.Key, b.SHA256, time.Now()})
	n, answer, panics := 0, w.answer, w.panics
	for _, s := range w.log {
		if s.partner == m.Partner && s.key == m.Key {
			n++
		}
	}
	if w.active == nil {
		w.active, w.lanes, w.most = map[string]int{}, map[string]int{}, map[string]int{}
	}
	w.active[m.ID]++
	w.lanes[m.Lane]++
	w.most[m.Lane] = max(w.most[m.Lane], w.lanes[m.Lane])
	if w.active[m.ID] > 1 {
		w.faults = append(w.faults, "two exchanges of "+m.Key+" at once")
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.active[m.ID]--
		w.lanes[m.Lane]--
		w.mu.Unlock()
	}()
	if panics != nil && panics(m) {
		panic("scripted")
	}
	r := answer(m, n)
	t := time.NewTimer(r.took)
	defer t.Stop()
	select {
	case <-t.C:
		if r.o.Ack == nil || w.full {
			return r.o, ""
		}
		return r.o, b.SHA256 // whatever names a receipt
	case <-ctx.Done():
		return fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseStopped, Detail: "stopped", AckAsked: r.o.AckAsked}, ""
	}
}

func (w *wire) Check(_ context.Context, id string) fault.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checks = append(w.checks, sent{partner: id, at: time.Now()})
	if w.check == nil {
		return alive
	}
	return w.check(id)
}

// running counts the exchanges of a lane that run.
func (w *wire) running(lane string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lanes[lane]
}

// change rewrites the script while the gateway runs.
func (w *wire) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *wire) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return w.judge
}

func (w *wire) arrivals(key string) []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []sent
	for _, s := range w.log {
		if key == "" || s.key == key {
			found = append(found, s)
		}
	}
	return found
}

func (w *wire) checked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.checks)
}

// always answers everything alike.
func always(o fault.Outcome) func(queue.Message, int) reply {
	return func(queue.Message, int) reply { return reply{o: o} }
}

// script answers each message with one outcome after another, then the last.
func script(list ...fault.Outcome) func(queue.Message, int) reply {
	return func(_ queue.Message, n int) reply { return reply{o: list[min(n, len(list))-1]} }
}
