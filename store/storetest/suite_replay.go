package storetest

import (
	"errors"
	"time"

	"edigw/fault"
	"edigw/queue"
)

var replayRules = map[string]func(*run){
	"a tally says what is doubtful": func(r *run) {
		for name, change := range map[string]func(*queue.Message, *queue.Letter){
			"never tried": func(*queue.Message, *queue.Letter) {},
			"tried":       func(m *queue.Message, _ *queue.Letter) { m.Total, m.FirstFailure = 1, after(2*time.Hour) },
			"forgotten":   func(m *queue.Message, _ *queue.Letter) { m.Total, m.FirstFailure = 1, after(time.Minute) },
			"uncertain":   func(m *queue.Message, _ *queue.Letter) { m.Total, m.Uncertain = 1, true },
			"changed":     func(m *queue.Message, _ *queue.Letter) { m.Parked = true },
		} {
			m, l := r.dead("northwind", fault.ReasonRejected, "")
			l.Detail = name
			change(&m, &l)
			r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
		}
		got, err := r.Tally(r.ctx, queue.LetterFilter{Partner: "northwind"}, map[string]time.Time{"northwind": after(time.Hour)}, t0)
		r.must(err)
		r.equal("tally", []queue.Tally{{Lane: "northwind", Partner: "northwind", Direction: queue.Out, Doubtful: 2, Changed: 1,
			Counts: queue.ReplayCounts{Total: 5, Pending: 5, NeverTried: 2, Uncertain: 1}}}, got)
	},
	"letters of received messages are counted, not replayed": func(r *run) {
		_, in := r.received("northwind", fault.ReasonSignature)
		_, out := r.dead("northwind", fault.ReasonSignature, "")
		for name, x := range map[string]struct {
			f   queue.LetterFilter
			ids []string
		}{
			"filter": {queue.LetterFilter{Partner: "northwind", Reason: fault.ReasonSignature}, nil}, "ids": {queue.LetterFilter{}, []string{in.ID, out.ID}},
		} {
			j, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: name, Created: t0, Status: queue.ReplayRunning, Filter: x.f}, x.ids)
			r.must(err)
			r.equal(name, queue.ReplayCounts{Total: 1, Pending: 1, NeverTried: 1, Inbound: 1}, j.Counts)
			items, err := r.ReplayItems(r.ctx, name, "", 0, 10)
			r.must(err)
			if len(items) != 1 || items[0].Letter != out.ID || items[0].N != 1 {
				r.Errorf("%s: items %+v", name, items)
			}
			stored, err := r.ReplayJob(r.ctx, name)
			r.must(err)
			r.equal(name+", stored", j.Counts, stored.Counts)
		}
		tally, err := r.Tally(r.ctx, queue.LetterFilter{Direction: queue.Out}, nil, t0)
		r.must(err)
		if len(tally) != 1 || tally[0].Direction != queue.Out || tally[0].Counts.Total != 1 {
			r.Errorf("tally of what goes out %+v", tally)
		}
	},
	"a frozen replay stays as it was": func(r *run) {
		m1, l1 := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		m2, l2 := r.dead("northwind", fault.ReasonMaxAttempts, "OUT-1")
		m2.Total, m2.Uncertain, l2.Uncertain, l2.Overdue = 3, true, true, true
		r.must(r.Record(r.ctx, &queue.Result{Message: &m2, Closed: &l2}))
		r.closed(r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1"))
		r.dead("northwind", fault.ReasonRejected, "")
		r.dead("other", fault.ReasonCircuitOpen, "OUT-2")
		overtaker := r.accept("northwind")
		m3, l3 := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		r.deliver(overtaker)
		job := queue.ReplayJob{ID: "j1", Actor: fault.Actor{Name: "ana"}, Created: t0, Status: queue.ReplayRunning,
			Confirm: []string{"possible-duplicate"}, Skip: []string{"overdue"}, Filter: queue.LetterFilter{Outage: "OUT-1", Partner: "northwind", From: t0}}
		tally, err := r.Tally(r.ctx, job.Filter, nil, t0)
		r.must(err)
		r.equal("tally", []queue.Tally{{Lane: "northwind", Partner: "northwind", Direction: queue.Out, Doubtful: 1, Passed: 2,
			Counts: queue.ReplayCounts{Total: 3, Pending: 3, NeverTried: 2, Uncertain: 1, Overtaken: 2, Overdue: 1}}}, tally)
		tally, err = r.Tally(r.ctx, queue.LetterFilter{Status: queue.LetterClosed}, map[string]time.Time{"northwind": after(time.Hour), "nobody": after(time.Hour)}, t0)
		r.must(err)
		if len(tally) != 2 || tally[0].Counts.Total != 4 || tally[1].Lane != "other" {
			r.Errorf("tally of all open ones %+v", tally)
		}
		got, err := r.FreezeReplay(r.ctx, job, nil)
		r.must(err)
		job.Counts = queue.ReplayCounts{Total: 3, Pending: 3, NeverTried: 2, Uncertain: 1, Overtaken: 2, Overdue: 1}
		r.equal("job", job, got)
		r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		r.closed(m3, l3)
		stored, err := r.ReplayJob(r.ctx, "j1")
		r.must(err)
		r.equal("stored job", job, stored)
		want := []queue.ReplayItem{
			{Job: "j1", N: 1, Letter: l1.ID, Message: m1.ID, Partner: "northwind", Status: "pending"},
			{Job: "j1", N: 2, Letter: l2.ID, Message: m2.ID, Partner: "northwind", Status: "pending"},
			{Job: "j1", N: 3, Letter: l3.ID, Message: m3.ID, Partner: "northwind", Status: "pending"},
		}
		items, err := r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		r.equal("items", want, items)
		items, err = r.ReplayItems(r.ctx, "j1", "pending", 1, 1)
		r.must(err)
		r.equal("one item after the first", want[1:2], items)
	},
	"a replay of chosen letters takes the open ones, oldest message first": func(r *run) {
		old := r.accept("northwind")
		_, young := r.dead("northwind", fault.ReasonRejected, "")
		old, oldL := r.bury(old, fault.ReasonRejected, "")
		m, l := r.closed(r.dead("northwind", fault.ReasonRejected, ""))
		r.dead("northwind", fault.ReasonRejected, "")
		job, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j1", Created: t0, Status: queue.ReplayRunning}, []string{young.ID, l.ID, oldL.ID, young.ID})
		r.must(err)
		if job.Counts.Total != 2 {
			r.Errorf("counts %+v", job.Counts)
		}
		items, err := r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		if len(items) != 2 || items[0].Message != old.ID || items[1].Letter != young.ID {
			r.Errorf("items %+v, closed was %s", items, m.ID)
		}
		if _, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j2", Status: queue.ReplayRunning}, []string{young.ID, "nobody"}); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown letter: %v", err)
		}
		if _, err := r.ReplayJob(r.ctx, "j2"); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("a failed replay is stored: %v", err)
		}
		if _, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j1", Status: queue.ReplayRunning}, nil); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("a taken id: %v", err)
		}
	},
	"a frozen replay counts as a dry run does": func(r *run) {
		var want queue.ReplayCounts
		now := after(time.Hour)
		for _, how := range []func(*queue.Message, *queue.Letter){
			func(*queue.Message, *queue.Letter) {},
			func(m *queue.Message, _ *queue.Letter) { m.Total = 2 },
			func(m *queue.Message, _ *queue.Letter) { m.Uncertain = true },
			func(m *queue.Message, l *queue.Letter) { m.Total, l.Uncertain = 1, true },
			func(_ *queue.Message, l *queue.Letter) { l.Overdue = true },
			func(m *queue.Message, _ *queue.Letter) { m.DeadlineGiven, m.DeliverBy = true, now.Add(-time.Second) },
			func(m *queue.Message, _ *queue.Letter) { m.DeadlineGiven, m.DeliverBy = true, now },
			func(m *queue.Message, _ *queue.Letter) { m.DeliverBy = now.Add(-time.Second) },
		} {
			m, l := r.dead("northwind", fault.ReasonRejected, "")
			how(&m, &l)
			r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
			want.Count(l, m, now)
		}
		j, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j1", Created: now, Status: queue.ReplayRunning, Filter: queue.LetterFilter{Partner: "northwind"}}, nil)
		r.must(err)
		r.equal("counts", want, j.Counts)
		if want.NeverTried != 5 || want.Uncertain != 2 || want.Overdue != 2 {
			r.Errorf("the rule counts %+v", want)
		}
	},
	"what is left of a replay is read partner by partner": func(r *run) {
		var letters []string
		for _, partner := range []string{"b", "a", "b", "c", "b"} {
			_, l := r.dead(partner, fault.ReasonRejected, "")
			letters = append(letters, l.ID)
		}
		for _, id := range []string{"other", "j1"} {
			_, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: id, Created: t0, Status: queue.ReplayRunning}, letters)
			r.must(err)
		}
		partners := func(after string, limit int, want ...string) {
			r.Helper()
			got, err := r.ReplayPartners(r.ctx, "j1", after, limit)
			r.must(err)
			r.equal("partners after "+after, want, got)
		}
		numbers := func(what string, got []queue.ReplayItem, err error, want ...int) {
			r.Helper()
			r.must(err)
			var n []int
			for _, it := range got {
				if n = append(n, it.N); it.Job != "j1" {
					r.Errorf("an item of %s", it.Job)
				}
			}
			r.equal(what, want, n)
		}
		line := func(partner string, after, limit int) ([]queue.ReplayItem, error) {
			return r.ReplayLine(r.ctx, "j1", partner, after, limit)
		}
		partners("", 10, "a", "b", "c")
		partners("", 2, "a", "b")
		partners("a", 10, "b", "c")
		got, err := line("b", 0, 2)
		numbers("line", got, err, 1, 3)
		got, err = line("b", 3, 2)
		numbers("after 3", got, err, 5)
		got, err = r.ReplayUnderWay(r.ctx, "j1", 0, 10)
		numbers("under way at first", got, err)
		items, err := r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		j, err := r.ReplayJob(r.ctx, "j1")
		r.must(err)
		items[0].Status, items[2].Status, items[2].Detail = "replayed", "replayed", "delivered"
		items[1].Status, items[4].Status = "skipped", "replayed"
		r.must(r.SaveReplay(r.ctx, j, nil, items[0], items[1], items[2], items[4]))
		partners("", 10, "c")
		got, err = line("b", 0, 10)
		numbers("a line that was worked off", got, err)
		got, err = r.ReplayUnderWay(r.ctx, "j1", 0, 10)
		numbers("under way", got, err, 1, 5)
		got, err = r.ReplayUnderWay(r.ctx, "j1", 1, 1)
		numbers("under way after 1", got, err, 5)
	},
	"a replay that is undone leaves the letter as it was": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonDeadline, "OUT-1")
		m.DeliverBy, m.DeadlineGiven, m.WarnBy, m.Overdue, m.Attempts, m.Total, m.Limited, m.Resent, m.Refusal = after(time.Minute), true, t0, true, 3, 4, 1, true, true
		r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
		step := func(on queue.Trigger) {
			r.Helper()
			now, err := r.Message(r.ctx, m.ID)
			r.must(err)
			letter, err := r.Letter(r.ctx, l.ID)
			r.must(err)
			res, err := queue.Next(now, queue.Input{Trigger: on, At: after(time.Hour), Letter: &letter, Actor: fault.Actor{Name: "ana"}, Note: "why"}, queue.Rules{})
			r.must(err)
			r.must(r.Record(r.ctx, &res))
		}
		step(queue.OnReplay)
		if now, err := r.Message(r.ctx, m.ID); err != nil || !now.DeliverBy.IsZero() {
			r.Errorf("a replay keeps the deadline %v, %v", now.DeliverBy, err)
		}
		step(queue.OnUndo)
		m.Version, l.Version = m.Version+2, l.Version+2
		got, err := r.Message(r.ctx, m.ID)
		r.must(err)
		r.equal("message", m, got)
		gotL, err := r.Letter(r.ctx, l.ID)
		r.must(err)
		r.equal("letter", l, gotL)
	},
	"who did what to a replay is of the same transaction": func(r *run) {
		_, l := r.dead("northwind", fault.ReasonRejected, "")
		e := queue.Event{At: t0, Type: queue.EventBulk, Actor: fault.Actor{Name: "ana"}, Text: "asked for"}
		said := func(want ...string) {
			r.Helper()
			all, _, err := r.Audit(r.ctx, queue.AuditFilter{}, queue.Page{Limit: 10})
			r.must(err)
			var got []string
			for _, e := range all {
				got = append(got, e.Text)
			}
			r.equal("audit", want, got)
		}
		job := queue.ReplayJob{ID: "j1", Created: t0, Status: queue.ReplayRunning}
		if _, err := r.FreezeReplay(r.ctx, job, []string{l.ID, "nobody"}, e); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown letter: %v", err)
		}
		said()
		job, err := r.FreezeReplay(r.ctx, job, []string{l.ID}, e)
		r.must(err)
		said("asked for")
		if _, err := r.FreezeReplay(r.ctx, job, []string{l.ID}, e); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("a taken id: %v", err)
		}
		e.Text, job.Status = "paused", queue.ReplayPaused
		if err := r.SaveReplay(r.ctx, job, []queue.Event{e}, queue.ReplayItem{Job: "j1", N: 9}); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown item: %v", err)
		}
		said("asked for")
		r.must(r.SaveReplay(r.ctx, job, []queue.Event{e}))
		said("paused", "asked for")
	},
	"progress of a replay is stored": func(r *run) {
		for range 3 {
			r.dead("northwind", fault.ReasonRejected, "")
		}
		j, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j1", Created: t0, Status: queue.ReplayRunning, Filter: queue.LetterFilter{Partner: "northwind"}}, nil)
		r.must(err)
		_, err = r.FreezeReplay(r.ctx, queue.ReplayJob{ID: "j2", Created: t0, Status: queue.ReplayRunning, Filter: queue.LetterFilter{Partner: "nobody"}}, nil)
		r.must(err)
		items, err := r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		items[0].Status, items[1].Status, items[1].Detail = "replayed", "skipped", "it is overdue"
		j.Status, j.Counts.Pending, j.Counts.Replayed, j.Counts.Skipped, j.Finished = queue.ReplayPaused, 1, 1, 1, after(time.Minute)
		r.must(r.SaveReplay(r.ctx, j, nil, items[0], items[1]))
		got, err := r.ReplayJob(r.ctx, "j1")
		r.must(err)
		r.equal("job", j, got)
		stored, err := r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		r.equal("items", items, stored)
		pending, err := r.ReplayItems(r.ctx, "j1", "pending", 0, 10)
		r.must(err)
		r.equal("pending items", items[2:], pending)
		for status, want := range map[queue.ReplayStatus]int{"": 2, queue.ReplayRunning: 1, queue.ReplayPaused: 1, queue.ReplayDone: 0} {
			all, err := r.ReplayJobs(r.ctx, status)
			r.must(err)
			if len(all) != want {
				r.Errorf("%d jobs with status %q, want %d", len(all), status, want)
			}
			if status == "" && all[0].ID != "j2" {
				r.Errorf("newest first: %s", all[0].ID)
			}
		}
		before := stored
		bad := items[2]
		bad.N = 99
		items[2].Status = "failed"
		if err := r.SaveReplay(r.ctx, j, nil, items[2], bad); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown item: %v", err)
		}
		stored, err = r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		r.equal("items after a failed write", before, stored)
		if err := r.SaveReplay(r.ctx, queue.ReplayJob{ID: "nobody", Status: queue.ReplayDone}, nil); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown job: %v", err)
		}
	},
}
