package storetest

import (
	"errors"
	"time"

	"edigw/fault"
	"edigw/queue"
)

var replayRules = map[string]func(*run){
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
		r.must(r.SaveReplay(r.ctx, j, items[0], items[1]))
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
		if err := r.SaveReplay(r.ctx, j, items[2], bad); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown item: %v", err)
		}
		stored, err = r.ReplayItems(r.ctx, "j1", "", 0, 10)
		r.must(err)
		r.equal("items after a failed write", before, stored)
		if err := r.SaveReplay(r.ctx, queue.ReplayJob{ID: "nobody", Status: queue.ReplayDone}); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("an unknown job: %v", err)
		}
	},
}
