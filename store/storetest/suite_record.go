package storetest

import (
	"errors"
	"strings"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// snapshot is what a failed write must not change.
type snapshot struct {
	Messages []queue.Message
	Letters  []queue.Letter
	Lanes    []queue.Lane
	Events   []queue.Event
	Outages  []queue.Outage
	Depths   []queue.Depth
	Builds   []queue.Build
	Attempts []queue.Attempt
}

func (r *run) snapshot(message string) (s snapshot) {
	r.Helper()
	var err error
	s.Messages, _, err = r.Messages(r.ctx, queue.MessageFilter{}, queue.Page{Limit: 500})
	r.must(err)
	s.Letters, _, err = r.Letters(r.ctx, queue.LetterFilter{}, queue.Page{Limit: 500})
	r.must(err)
	s.Lanes, err = r.Lanes(r.ctx)
	r.must(err)
	s.Events, err = r.Events(r.ctx, 0, 1000)
	r.must(err)
	s.Outages, _, err = r.Outages(r.ctx, "", false, queue.Page{Limit: 500})
	r.must(err)
	s.Depths, err = r.Depths(r.ctx)
	r.must(err)
	s.Builds, err = r.Builds(r.ctx, message)
	r.must(err)
	s.Attempts, err = r.Attempts(r.ctx, message)
	r.must(err)
	return s
}

func attempt(m queue.Message, n int) *queue.Attempt {
	return &queue.Attempt{
		Message: m.ID, N: n, Round: 1, Build: 1, Counted: true, Started: t0, Duration: 1500 * time.Millisecond, Phase: fault.PhaseResponse,
		Class: "transient", Rule: "503", Signal: fault.SignalFailure, Status: 503, Detail: "503 Service Unavailable",
		Headers: map[string]string{"Retry-After": "1"}, Head: []byte("try \x00 later"),
		Ack:     &fault.Acknowledgement{Verdict: fault.AckTrusted, Mode: "automatic-action", Type: "processed"},
		Timings: fault.Timings{Connect: time.Millisecond, Wait: time.Second},
	}
}

func build(m queue.Message, n int) *queue.Build {
	return &queue.Build{Message: m.ID, N: n, MessageID: m.MessageID, SHA256: m.Payload.SHA256, Size: 321, AckAsked: fault.AckSync,
		Token: "t0ken", Agreement: "f1ngerprint", Record: []byte(`{"mic":"x"}`), Created: t0}
}

func lane(partner string) *queue.Lane {
	return &queue.Lane{Key: partner, Partner: partner, Kind: queue.KindDocument}
}

var recordRules = map[string]func(*run){
	"everything of a result is stored": func(r *run) {
		m := r.accept("northwind")
		m.State, m.Incarnation, m.Build = queue.Sending, "gw1", 1
		b := build(m, 1)
		r.must(r.Record(r.ctx, &queue.Result{Message: &m, Build: b}))
		m.State, m.Letter, m.Total, m.Attempts, m.Uncertain, m.FirstFailure, m.Finished, m.Detail = queue.Dead, "l1", 1, 1, true, t0, after(time.Second), "503"
		m.Warned, m.Overdue, m.WarnBy, m.DeliverBy, m.AckAsked, m.Limited, m.Credential, m.Crashes = true, true, t0, after(time.Hour), fault.AckSync, 1, 2, 1
		b.Sent = true
		a := attempt(m, 1)
		a.Raw = b.SHA256
		l := &queue.Letter{ID: "l1", Message: m.ID, Partner: m.Partner, Lane: m.Lane, Protocol: "as2", Direction: queue.Out, Reason: fault.ReasonMaxAttempts, Class: "transient",
			Status: queue.LetterOpen, Detail: "503", Cause: "tls", Last: a, Attempts: 1, Uncertain: true, Overdue: true, Outage: "OUT-1", Created: t0, First: t0}
		la := lane("northwind")
		la.Breaker = breaker.State{Phase: breaker.Open, Generation: 3, Failures: []time.Time{t0}, Row: 5, OpenedAt: t0, ReopenAt: after(time.Minute), Holder: m.ID}
		la.Outage, la.NotBefore, la.Ramp, la.Blocked, la.Orphaned = "OUT-1", after(time.Minute), 2, "l1", true
		la.Stop = &queue.Stop{By: fault.Actor{Name: "ana"}, Reason: "migration", Since: t0}
		la.Fix = &queue.Fix{Cause: "credential", Detail: "401", Ours: true, Since: t0}
		la.Streak = queue.Streak{Cause: "credential", Messages: []string{m.ID}}
		la.Charged = []queue.Charge{{At: t0, Message: m.ID, Detail: "refused"}}
		o := &queue.Outage{ID: "OUT-1", Number: 1, Partner: "northwind", Lane: "northwind", Cause: fault.CauseRefused, Status: 503, Detail: "five failures", Since: t0}
		iso := &queue.Isolation{Since: t0, Partners: 5, Of: 6, NextTry: after(time.Second), Turn: "northwind"}
		e := queue.Event{At: t0, Type: queue.EventDead, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Letter: "l1", Outage: "OUT-1",
			Actor: fault.Actor{Name: "ana", Role: "operator", From: "local"}, Text: "dead", Facts: map[string]string{"reason": "max-attempts"}}
		r.must(r.Record(r.ctx, &queue.Result{Attempt: a, Message: &m, Build: b, Lane: la, Opened: l, Outage: o, Isolation: iso, Events: []queue.Event{e}}))
		if m.Version != 3 || l.Version != 1 || la.Version != 1 || l.Seq != m.Seq {
			r.Errorf("versions: message %d, letter %d, lane %d; letter's seq %d, message's %d", m.Version, l.Version, la.Version, l.Seq, m.Seq)
		}
		o.Letters, o.Open = 1, 1
		gotM, err := r.Message(r.ctx, m.ID)
		r.must(err)
		r.equal("message", m, gotM)
		gotL, err := r.Letter(r.ctx, "l1")
		r.must(err)
		r.equal("letter", *l, gotL)
		gotLane, err := r.Lane(r.ctx, "northwind")
		r.must(err)
		r.equal("lane", *la, gotLane)
		gotO, err := r.Outage(r.ctx, "OUT-1")
		r.must(err)
		r.equal("outage", *o, gotO)
		gotI, err := r.Isolation(r.ctx)
		r.must(err)
		r.equal("isolation", *iso, gotI)
		builds, err := r.Builds(r.ctx, m.ID)
		r.must(err)
		r.equal("builds", []queue.Build{*b}, builds)
		attempts, err := r.Attempts(r.ctx, m.ID)
		r.must(err)
		r.equal("attempts", []queue.Attempt{*a}, attempts)
		events, err := r.Timeline(r.ctx, m.ID)
		r.must(err)
		e.ID = events[len(events)-1].ID
		r.equal("event", e, events[len(events)-1])
		of, err := r.LettersOf(r.ctx, m.ID)
		r.must(err)
		r.equal("letters of the message", []queue.Letter{*l}, of)
	},
	"a stale version takes everything back": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		other := r.accept("northwind")
		la := lane("northwind")
		r.must(r.Record(r.ctx, &queue.Result{Lane: la, Outage: &queue.Outage{ID: "OUT-1", Number: 1, Partner: "northwind", Since: t0}}))
		before := r.snapshot(other.ID)
		for name, spoil := range map[string]func(*queue.Result){
			"message": func(x *queue.Result) { x.Message.Version-- },
			"newer":   func(x *queue.Result) { x.Message.Version++ },
			"new id":  func(x *queue.Result) { x.Message.Version = 0 },
			"letter":  func(x *queue.Result) { x.Closed.Version-- },
			"lane":    func(x *queue.Result) { x.Lane.Version-- },
			"opened":  func(x *queue.Result) { x.Opened.ID = l.ID },
			"attempt": func(x *queue.Result) { x.Attempt.Message, x.Attempt.N = m.ID, 1 },
		} {
			if name == "attempt" {
				r.must(r.Record(r.ctx, &queue.Result{Attempt: attempt(m, 1)}))
			}
			good, bad := other, m
			good.State, good.Incarnation = queue.Sending, "gw1"
			bad.State, bad.Letter = queue.Queued, ""
			closing, laneCopy := l, *la
			closing.Status, closing.ClosedAs = queue.LetterClosed, queue.ClosedWithdrawn
			opened := l
			opened.ID, opened.Version = "l-new", 0
			first := queue.Result{Message: &good, Build: build(good, 1), Attempt: attempt(good, 1), Events: []queue.Event{{At: t0, Type: queue.EventRetry, Message: good.ID}}}
			second := queue.Result{Message: &bad, Closed: &closing, Opened: &opened, Lane: &laneCopy, Attempt: attempt(bad, 9),
				Outage: &queue.Outage{ID: "OUT-9", Number: 9, Since: t0}, Events: []queue.Event{{At: t0, Type: queue.EventDead, Message: bad.ID}}}
			spoil(&second)
			version := good.Version
			if err := r.Record(r.ctx, &first, &second); !errors.Is(err, queue.ErrConflict) {
				r.Errorf("stale %s: %v, want a conflict", name, err)
			}
			if good.Version != version {
				r.Errorf("stale %s: the value passed in has version %d", name, good.Version)
			}
			r.equal("store after a stale "+name, before, r.snapshot(other.ID))
		}
	},
	"an edition can be made once": func(r *run) {
		m := r.accept("northwind")
		twin := m
		twin.ID, twin.Version, twin.Seq = "twin", 0, 0
		if err := r.Record(r.ctx, &queue.Result{Message: &twin}); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("the same edition again: %v", err)
		}
		twin.Edition = 1
		r.must(r.Record(r.ctx, &queue.Result{Message: &twin}))
		if twin.Version != 1 || twin.Seq <= m.Seq {
			r.Errorf("version %d, seq %d", twin.Version, twin.Seq)
		}
	},
	"a new edition takes the place of its letter, both or neither": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonFormat, "OUT-1")
		replace := func(l queue.Letter) (*queue.Result, *queue.Result) {
			gone, next := m, m
			gone.State, gone.Letter = queue.Superseded, ""
			l.Status, l.ClosedAs, l.Closed = queue.LetterClosed, queue.ClosedSuperseded, t0
			next.ID, next.Version, next.Seq, next.Edition, next.Previous = "edited", 0, 0, 1, m.ID
			next.State, next.Letter, next.Payload.SHA256 = queue.Queued, "", strings.Repeat("e", 64)
			return &queue.Result{Message: &gone, Closed: &l, Events: []queue.Event{{At: t0, Type: queue.EventSuperseded, Message: m.ID}}}, &queue.Result{Message: &next}
		}
		before := r.snapshot(m.ID)
		stale := l
		stale.Version++
		gone, next := replace(stale)
		if err := r.Record(r.ctx, gone, next); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("a letter that somebody else changed: %v", err)
		}
		r.equal("store after it", before, r.snapshot(m.ID))
		gone, next = replace(l)
		r.must(r.Record(r.ctx, gone, next))
		editions, err := r.Editions(r.ctx, m.Partner, m.Key)
		r.must(err)
		r.equal("editions", []queue.Edition{{Message: *gone.Message}, {Message: *next.Message}}, editions)
		if got, err := r.Letter(r.ctx, l.ID); err != nil || got.ClosedAs != queue.ClosedSuperseded {
			r.Errorf("letter %+v, %v", got, err)
		}
	},
	"what hangs on an unknown message is not found": func(r *run) {
		ghost := queue.Message{ID: "ghost", Partner: "p", Lane: "p"}
		for name, x := range map[string]*queue.Result{
			"build":   {Build: build(ghost, 1)},
			"attempt": {Attempt: attempt(ghost, 1)},
			"opened":  {Opened: &queue.Letter{ID: "l", Message: "ghost", Status: queue.LetterOpen}},
			"closed":  {Closed: &queue.Letter{ID: "l", Version: 1, Message: "ghost", Status: queue.LetterOpen}},
		} {
			if err := r.Record(r.ctx, x); !errors.Is(err, queue.ErrNotFound) {
				r.Errorf("%s: %v", name, err)
			}
		}
		if _, err := r.Message(r.ctx, "ghost"); !errors.Is(err, queue.ErrNotFound) {
			r.Error(err)
		}
		if _, err := r.Letter(r.ctx, "ghost"); !errors.Is(err, queue.ErrNotFound) {
			r.Error(err)
		}
		if _, err := r.Lane(r.ctx, "ghost"); !errors.Is(err, queue.ErrNotFound) {
			r.Error(err)
		}
		if _, err := r.Outage(r.ctx, "ghost"); !errors.Is(err, queue.ErrNotFound) {
			r.Error(err)
		}
		if _, err := r.ReplayJob(r.ctx, "ghost"); !errors.Is(err, queue.ErrNotFound) {
			r.Error(err)
		}
	},
	"a transition that the table forbids is refused": func(r *run) {
		m := r.deliver(r.accept("northwind"))
		for _, s := range []queue.State{queue.Queued, queue.Sending, queue.Dead, queue.Refused} {
			x := m
			x.State = s
			err := r.Record(r.ctx, &queue.Result{Message: &x})
			if !errors.Is(err, queue.ErrForbidden) {
				r.Errorf("delivered to %s: %v", s, err)
			}
		}
	},
	"what a message is never changes": func(r *run) {
		m := r.accept("northwind")
		x := m
		x.Partner, x.Lane, x.Key, x.MessageID, x.Payload.Size, x.Accepted, x.Detail = "other", "other", "K", "<x@y>", 1, after(time.Hour), "changed"
		r.must(r.Record(r.ctx, &queue.Result{Message: &x}))
		got, err := r.Message(r.ctx, m.ID)
		r.must(err)
		m.Version, m.Detail = 2, "changed"
		r.equal("message", m, got)
	},
	"a value that several results share is written once": func(r *run) {
		a, b := r.accept("northwind"), r.accept("northwind")
		la := lane("northwind")
		a.State, b.State, a.Incarnation, b.Incarnation = queue.Sending, queue.Sending, "gw1", "gw1"
		r.must(r.Record(r.ctx, &queue.Result{Message: &a, Lane: la}, &queue.Result{Message: &b, Lane: la}))
		if la.Version != 1 || a.Version != 2 || b.Version != 2 {
			r.Errorf("versions %d %d %d", la.Version, a.Version, b.Version)
		}
		la.Ramp = 1
		r.must(r.Record(r.ctx, &queue.Result{Lane: la}))
		if err := r.Record(r.ctx, &queue.Result{Lane: lane("northwind")}); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("a second first version: %v", err)
		}
	},
	"a delivery overtakes the older open letters of its lane": func(r *run) {
		_, old := r.dead("northwind", fault.ReasonRejected, "")
		closedM, closedL := r.closed(r.dead("northwind", fault.ReasonRejected, ""))
		_, foreign := r.dead("other", fault.ReasonRejected, "")
		m := r.accept("northwind")
		_, young := r.dead("northwind", fault.ReasonRejected, "")
		r.deliver(m)
		for id, want := range map[string]bool{old.ID: true, closedL.ID: false, foreign.ID: false, young.ID: false} {
			l, err := r.Letter(r.ctx, id)
			r.must(err)
			if l.Overtaken != want {
				r.Errorf("letter %s overtaken %v, want %v", id, l.Overtaken, want)
			}
			got, err := r.Message(r.ctx, l.Message)
			r.must(err)
			if got.Overtaken != want {
				r.Errorf("message %s (%s) overtaken %v, want %v", got.ID, got.State, got.Overtaken, want)
			}
		}
		got, err := r.Message(r.ctx, closedM.ID)
		r.must(err)
		r.equal("closed message", closedM, got)
		l, err := r.Letter(r.ctx, old.ID)
		r.must(err)
		l.Status, l.ClosedAs = queue.LetterClosed, queue.ClosedConfirmed
		dead, err := r.Message(r.ctx, l.Message)
		r.must(err)
		dead.State, dead.Letter, dead.Finished = queue.Delivered, "", t0
		r.must(r.Record(r.ctx, &queue.Result{Message: &dead, Closed: &l}))
		again, err := r.Letter(r.ctx, old.ID)
		r.must(err)
		if !again.Overtaken {
			r.Error("the mark was lost when the letter was closed")
		}
	},
	"an outage counts its letters": func(r *run) {
		o := &queue.Outage{ID: "OUT-7", Number: 7, Partner: "northwind", Lane: "northwind", Since: t0, Letters: 99}
		r.must(r.Record(r.ctx, &queue.Result{Outage: o}))
		var last queue.Message
		var lastL queue.Letter
		for range 3 {
			last, lastL = r.dead("northwind", fault.ReasonCircuitOpen, "OUT-7")
		}
		r.dead("northwind", fault.ReasonMaxAttempts, "OUT-7") // whatever the reason
		r.dead("northwind", fault.ReasonCircuitOpen, "OUT-8")
		r.closed(last, lastL)
		_, moved := r.dead("northwind", fault.ReasonCircuitOpen, "")
		moved.Outage = "OUT-7"
		r.must(r.Record(r.ctx, &queue.Result{Closed: &moved}))
		got, err := r.Outage(r.ctx, "OUT-7")
		r.must(err)
		if got.Letters != 5 || got.Open != 4 {
			r.Errorf("%d letters, %d open; want 5 and 4", got.Letters, got.Open)
		}
		o.Ended, o.Recovered, o.Answering = after(time.Hour), after(time.Minute), after(time.Second)
		r.must(r.Record(r.ctx, &queue.Result{Outage: o}))
		got, err = r.Outage(r.ctx, "OUT-7")
		r.must(err)
		o.Letters, o.Open = 5, 4
		r.equal("outage", *o, got)
		for status, want := range map[queue.LetterStatus]int{queue.LetterOpen: 4, queue.LetterReplaying: 0, queue.LetterClosed: 1} {
			all, err := r.OutageLetters(r.ctx, "OUT-7", status, 10)
			r.must(err)
			if len(all) != want {
				r.Errorf("%d letters with status %q, want %d", len(all), status, want)
			}
			for i := 1; i < len(all); i++ {
				if all[i].Seq < all[i-1].Seq {
					r.Errorf("letters of an outage out of order: %v", letterIDs(all))
				}
			}
		}
		if all, err := r.OutageLetters(r.ctx, "OUT-7", queue.LetterOpen, 2); err != nil || len(all) != 2 {
			r.Errorf("limit 2 gave %d, %v", len(all), err)
		}
	},
	"the oldest letter of a lane": func(r *run) {
		oldest := func(want string, lane string, except ...fault.Reason) {
			r.Helper()
			l, err := r.OldestLetter(r.ctx, lane, except...)
			if want == "" && errors.Is(err, queue.ErrNotFound) {
				return
			}
			if r.must(err); l.ID != want {
				r.Errorf("oldest of %s but for %v: %s, want %s", lane, except, l.ID, want)
			}
		}
		oldest("", "northwind")
		_, format := r.dead("northwind", fault.ReasonFormat, "")
		m, first := r.dead("northwind", fault.ReasonRejected, "")
		_, second := r.dead("northwind", fault.ReasonRejected, "")
		r.dead("other", fault.ReasonRejected, "")
		oldest(format.ID, "northwind")
		oldest(first.ID, "northwind", fault.ReasonFormat, fault.ReasonChangedContent)
		r.closed(m, first)
		oldest(second.ID, "northwind", fault.ReasonFormat)
		oldest("", "northwind", fault.ReasonFormat, fault.ReasonRejected)
		oldest("", "north")
	},
	"isolation is one value": func(r *run) {
		got, err := r.Isolation(r.ctx)
		r.must(err)
		if got.On() {
			r.Error("a new store is isolated")
		}
		r.must(r.Record(r.ctx, &queue.Result{Isolation: &queue.Isolation{Since: t0, Partners: 5, Of: 8}}))
		r.must(r.Record(r.ctx, &queue.Result{Isolation: &queue.Isolation{}}))
		got, err = r.Isolation(r.ctx)
		r.must(err)
		r.equal("isolation", queue.Isolation{}, got)
	},
	"numbers of a series count from one": func(r *run) {
		for _, want := range []int64{1, 2, 3} {
			got, err := r.NextNumber(r.ctx, "outage")
			r.must(err)
			if got != want {
				r.Errorf("number %d, want %d", got, want)
			}
		}
		if got, err := r.NextNumber(r.ctx, "incident"); got != 1 || err != nil {
			r.Errorf("another series begins with %d, %v", got, err)
		}
	},
}
