package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// pair is the database and the simple store in memory, which must answer
// alike, whatever is done to them.
type pair struct {
	*rapid.T
	ctx     context.Context
	db      *Store
	mem     *storetest.Memory
	now     time.Time
	n       int
	ids     []string
	letters []string
	outages []string
	jobs    []string
}

func TestStoreBehavesLikeTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "model")
		if err != nil {
			rt.Fatal(err)
		}
		db, err := Open(t.Context(), dir, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		p := &pair{T: rt, ctx: t.Context(), db: db, mem: storetest.NewMemory(), now: time.Unix(1_800_000_000, 0).UTC()}
		rt.Repeat(map[string]func(*rapid.T){
			"accept":   func(*rapid.T) { p.accept() },
			"step":     func(*rapid.T) { p.step() },
			"step 2":   func(*rapid.T) { p.step() },
			"step 3":   func(*rapid.T) { p.step() },
			"step 4":   func(*rapid.T) { p.step() },
			"step 5":   func(*rapid.T) { p.step() },
			"build":    func(*rapid.T) { p.build() },
			"lane":     func(*rapid.T) { p.lane() },
			"outage":   func(*rapid.T) { p.outage() },
			"freeze":   func(*rapid.T) { p.freeze() },
			"progress": func(*rapid.T) { p.progress() },
			"restore":  func(*rapid.T) { p.sometimes(5, p.restore) },
			"retain":   func(*rapid.T) { p.retain() },
			"wait":     func(*rapid.T) { p.now = p.now.Add(time.Duration(p.pick(7200)) * time.Second) },
			"":         func(*rapid.T) { p.sometimes(3, p.compare) },
		})
		p.compare()
		if err := recount(p.ctx, db); err != nil {
			rt.Error(err)
		}
	})
}

// sometimes does something once in n times.
func (p *pair) sometimes(n int, do func()) {
	if p.pick(n) == 0 {
		do()
	}
}

func (p *pair) pick(n int) int { return rapid.IntRange(0, n-1).Draw(p.T, "pick") }

func (p *pair) id(prefix string) string {
	p.n++
	return fmt.Sprintf("%s%04d", prefix, p.n)
}

// kind reduces an error to what the contract promises of it.
func kind(err error) string {
	for _, k := range []error{queue.ErrConflict, queue.ErrNotFound, queue.ErrBadCursor, queue.ErrUnavailable} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "other"
	}
	return ""
}

// both does the same to both stores and compares the answers.
func both[V any](p *pair, what string, do func(storetest.Store) (V, error)) V {
	want, wantErr := do(p.mem)
	got, err := do(p.db)
	if kind(wantErr) != kind(err) {
		p.Fatalf("%s: database says %v, model %v", what, err, wantErr)
	}
	garbage := cmpopts.SortSlices(func(a, b queue.Garbage) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), garbage); d != "" {
		p.Fatalf("%s: -model +database\n%s", what, d)
	}
	return got
}

func (p *pair) accept() {
	id, partner := p.id("m"), fmt.Sprintf("p%d", p.pick(3))
	a := queue.Arrival{
		Message: queue.Message{ID: id, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: fmt.Sprintf("K%d", p.pick(12)),
			KeyGiven: p.pick(2) == 0, CorrelationID: "C" + id, Payload: queue.Payload{SHA256: fmt.Sprintf("content-%d", p.pick(4)), Size: int64(p.pick(1000))},
			Business: queue.Business{References: []edi.Reference{{Name: "invoice", Value: fmt.Sprintf("R%d", p.pick(5))}}}},
		Identity: queue.Identity{From: "ACME", To: partner, Domain: "edi.acme.example"}, Now: p.now, LetterID: p.id("l"), Backlog: queue.Backlog{Messages: 5},
	}
	if p.pick(3) == 0 {
		a.Message.WarnBy, a.Message.DeliverBy = p.now.Add(time.Hour), p.now.Add(2*time.Hour)
	}
	if p.pick(8) == 0 {
		a.Problem = &edi.Problem{Text: "bad"}
	}
	ad := both(p, "accept", func(s storetest.Store) (queue.Admission, error) { return s.Accept(p.ctx, a) })
	if ad.Outcome == queue.AdmitNew || ad.Outcome == queue.AdmitParked {
		p.ids = append(p.ids, id)
		p.note(ad.Message.Letter)
	}
}

func (p *pair) note(letter string) {
	if letter != "" {
		p.letters = append(p.letters, letter)
	}
}

var triggers = []queue.Trigger{queue.OnStart, queue.OnStart, queue.OnResult, queue.OnResult, queue.OnResult, queue.OnCrash, queue.OnAck, queue.OnAckOverdue, queue.OnDeadline, queue.OnWarn, queue.OnBury,
	queue.OnFail, queue.OnWithdraw, queue.OnReplay, queue.OnReplay, queue.OnUndo, queue.OnCancel, queue.OnSettle, queue.OnDiscard, queue.OnRecheck}

var classes = []retry.Class{retry.Success, retry.Accepted, retry.Transient, retry.Unknown, retry.Permanent, retry.Limited}

// step applies one trigger to one message, as the lane and the DLQ do, and
// sometimes with a version that is stale.
func (p *pair) step() {
	if len(p.ids) == 0 {
		return
	}
	id := p.ids[p.pick(len(p.ids))]
	class := classes[p.pick(len(classes))]
	fits := slices.DeleteFunc(slices.Clone(triggers), func(t queue.Trigger) bool {
		m, err := p.mem.Message(p.ctx, id)
		return err != nil || !queue.Fits(t, m.State)
	})
	if len(fits) == 0 {
		return
	}
	in := queue.Input{Trigger: fits[p.pick(len(fits))], At: p.now, LetterID: p.id("l"), Reason: fault.ReasonLocal, By: fmt.Sprintf("gw%d", p.pick(2)),
		Verdict: retry.Verdict{Class: class, Reason: fault.ReasonRejected, Uncertain: class == retry.Unknown, PerRound: 2}}
	if p.pick(2) == 0 {
		in.Actor, in.Note = fault.Actor{Name: "ana"}, "why"
	}
	if len(p.outages) > 0 {
		in.Outage = p.outages[p.pick(len(p.outages))]
	}
	if class == retry.Success {
		in.Verdict.Proof = string(queue.ProofReceipt)
	}
	raw, stale := fmt.Sprintf("raw-%d", p.pick(3)), p.pick(6) == 0
	policy := retry.Default()
	policy.Attempts = 2
	res := both(p, string(in.Trigger)+" of "+id, func(s storetest.Store) (queue.Result, error) {
		m, err := s.Message(p.ctx, id)
		if err != nil {
			return queue.Result{}, err
		}
		in := in
		if m.Letter != "" {
			l, err := s.Letter(p.ctx, m.Letter)
			if err != nil {
				return queue.Result{}, err
			}
			in.Letter = &l
		}
		if in.Trigger == queue.OnResult || in.Trigger == queue.OnAck {
			in.Attempt = &queue.Attempt{Message: id, N: m.Total + 1, Round: m.Round, Started: p.now, Class: class, Detail: "said so", Raw: raw}
		}
		res, err := queue.Next(m, in, queue.Rules{Retry: policy, OnUnknown: retry.Resend, AckAsked: fault.AckAsync, AckWait: time.Hour})
		if err != nil {
			return queue.Result{}, nil // does not fit: nothing is written
		}
		if stale {
			res.Message.Version--
		}
		if res.Message.Build == 0 {
			res.Message.Build = 1
			res.Build = &queue.Build{Message: id, N: 1, SHA256: "wire-9", Created: p.now}
		}
		return res, s.Record(p.ctx, &res)
	})
	if res.Opened != nil && res.Opened.Version > 0 {
		p.note(res.Opened.ID)
	}
}

func (p *pair) build() {
	if len(p.ids) == 0 {
		return
	}
	b := queue.Build{Message: p.ids[p.pick(len(p.ids))], N: 1 + p.pick(2), SHA256: fmt.Sprintf("wire-%d", p.pick(3)), Size: 10, Record: []byte("x"), Sent: p.pick(2) == 0, Created: p.now}
	both(p, "build", func(s storetest.Store) (int, error) { return 0, s.Record(p.ctx, &queue.Result{Build: &b}) })
}

func (p *pair) lane() {
	key, version, ramp := fmt.Sprintf("p%d", p.pick(3)), int64(p.pick(3)), p.pick(5)
	both(p, "lane", func(s storetest.Store) (queue.Lane, error) {
		l := queue.Lane{Key: key, Partner: key, Kind: queue.KindDocument, Version: version, Ramp: ramp, Breaker: breaker.State{Phase: breaker.Open, ReopenAt: p.now}}
		err := s.Record(p.ctx, &queue.Result{Lane: &l, Isolation: &queue.Isolation{Since: p.now, Partners: ramp}, Events: []queue.Event{{At: p.now, Type: queue.EventBreakerOpened, Lane: key}}})
		return l, err
	})
}

func (p *pair) outage() {
	n := both(p, "number", func(s storetest.Store) (int64, error) { return s.NextNumber(p.ctx, "outage") })
	o := queue.Outage{ID: fmt.Sprintf("OUT-%d", n), Number: n, Partner: "p1", Lane: "p1", Since: p.now}
	both(p, "outage", func(s storetest.Store) (int, error) { return 0, s.Record(p.ctx, &queue.Result{Outage: &o}) })
	p.outages = append(p.outages, o.ID)
}

func (p *pair) freeze() {
	j := queue.ReplayJob{ID: p.id("j"), Created: p.now, Status: queue.ReplayRunning}
	var ids []string
	switch p.pick(3) {
	case 0:
		j.Filter.Partner = "p1"
	case 1:
		j.Filter.Reason = fault.ReasonRejected
	default:
		for range min(len(p.letters), 3) {
			ids = append(ids, p.letters[p.pick(len(p.letters))])
		}
	}
	both(p, "freeze", func(s storetest.Store) (queue.ReplayCounts, error) {
		got, err := s.FreezeReplay(p.ctx, j, ids)
		return got.Counts, err
	})
	p.jobs = append(p.jobs, j.ID)
}

func (p *pair) progress() {
	if len(p.jobs) == 0 {
		return
	}
	id, n := p.jobs[p.pick(len(p.jobs))], 1+p.pick(3)
	both(p, "progress", func(s storetest.Store) ([]queue.ReplayItem, error) {
		j := queue.ReplayJob{ID: id, Status: queue.ReplayPaused, Finished: p.now}
		if err := s.SaveReplay(p.ctx, j, nil, queue.ReplayItem{Job: id, N: n, Status: "skipped", Detail: "x"}); err != nil {
			return nil, err
		}
		items, err := s.ReplayItems(p.ctx, id, "", 0, 100)
		partners, err2 := s.ReplayPartners(p.ctx, id, "p0", 5)
		line, err3 := s.ReplayLine(p.ctx, id, "p1", 1, 5)
		for _, partner := range partners {
			line = append(line, queue.ReplayItem{Partner: partner})
		}
		return append(items, line...), errors.Join(err, err2, err3)
	})
}

func (p *pair) restore() {
	both(p, "restore", func(s storetest.Store) ([2]int, error) {
		messages, lanes, err := s.MarkRestored(p.ctx, p.now, []string{"p1", "p9"})
		return [2]int{messages, lanes}, err
	})
}

func (p *pair) retain() {
	k := queue.Keep{Wire: time.Minute, Evidence: 10 * time.Minute, Payloads: time.Hour, Keys: 2 * time.Hour,
		Partners: map[string]queue.KeepPartner{"p1": {Payloads: 90 * time.Minute, Evidence: 5 * time.Minute}}}
	at := p.now.Add(time.Duration(p.pick(180)) * time.Minute)
	g := both(p, "expired", func(s storetest.Store) ([]queue.Garbage, error) {
		all, err := s.Expired(p.ctx, at, k, 1000)
		for i := range all {
			all[i].Shared = false // which of several rows is the last depends on their order
		}
		return all, err
	})
	both(p, "forget", func(s storetest.Store) (int, error) { return 0, s.Forget(p.ctx, g...) })
	both(p, "trim", func(s storetest.Store) (int, error) { return s.Trim(p.ctx, at.Add(-k.Keys), 1000) })
}

// view is all that a store shows.
type view struct {
	Messages     []queue.Message
	Letters      []queue.Letter
	Events       []queue.Event
	Agenda       []queue.Work
	Depths       []queue.Depth
	Groups       []queue.LetterGroup
	Lanes        []queue.Lane
	Outages      []queue.Outage
	Ready, Due   map[string][]queue.Message
	Next         map[string]time.Time
	Timers       []queue.Message
	Unfinished   []queue.Message
	Buriable     []queue.Message
	Found        []queue.Message
	Attempts     [][]queue.Attempt
	Builds       [][]queue.Build
	Isolation    queue.Isolation
	Unnamed      []string
	LetterPage   []queue.Letter
	LetterCursor bool
}

func (p *pair) compare() {
	both(p, "view", func(s storetest.Store) (v view, err error) {
		var errs [20]error
		v.Ready, v.Due, v.Next = map[string][]queue.Message{}, map[string][]queue.Message{}, map[string]time.Time{}
		v.Messages, _, errs[0] = s.Messages(p.ctx, queue.MessageFilter{}, queue.Page{Limit: 500})
		v.Letters, _, errs[1] = s.Letters(p.ctx, queue.LetterFilter{}, queue.Page{Limit: 500})
		v.Events, errs[2] = s.Events(p.ctx, 0, 1000)
		v.Agenda, errs[3] = s.Agenda(p.ctx)
		v.Depths, errs[4] = s.Depths(p.ctx)
		v.Groups, errs[5] = s.LetterGroups(p.ctx, queue.LetterFilter{})
		v.Lanes, errs[6] = s.Lanes(p.ctx)
		v.Outages, _, errs[7] = s.Outages(p.ctx, "", false, queue.Page{Limit: 500})
		for _, lane := range []string{"p0", "p1"} {
			v.Ready[lane], v.Next[lane], errs[8] = s.Ready(p.ctx, lane, true, p.now, 2)
			v.Buriable, errs[18] = s.Buriable(p.ctx, lane, p.ids[:min(2, len(p.ids))], 3)
			v.Due[lane], v.Next[lane+" due"], errs[9] = s.Ready(p.ctx, lane, false, p.now, 2)
		}
		v.Timers, v.Next["timers"], errs[10] = s.Timers(p.ctx, p.now, 3)
		v.Unfinished, errs[11] = s.Unfinished(p.ctx, "gw0", 10)
		v.Found, _, errs[12] = s.Messages(p.ctx, queue.MessageFilter{Reference: "R1*", Partner: "p1"}, queue.Page{Limit: 5})
		v.Isolation, errs[13] = s.Isolation(p.ctx)
		v.Unnamed, errs[14] = s.Unnamed(p.ctx, "wire", []string{"wire-0", "wire-1", "wire-2"})
		var next string
		v.LetterPage, next, errs[15] = s.Letters(p.ctx, queue.LetterFilter{Status: queue.LetterOpen}, queue.Page{Limit: 2})
		v.LetterCursor = next != ""
		for i, id := range p.ids {
			if i%5 == len(p.ids)%5 {
				builds, err := s.Builds(p.ctx, id)
				errs[16] = err
				attempts, err := s.Attempts(p.ctx, id)
				errs[17] = err
				v.Builds, v.Attempts = append(v.Builds, builds), append(v.Attempts, attempts)
			}
		}
		return v, errors.Join(errs[:]...)
	})
}
