package storetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edigw/fault"
	"edigw/queue"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/google/go-cmp/cmp"
)

const day = 24 * time.Hour

// ages are all different, so that a test sees which one counts.
var ages = queue.Keep{Wire: day, Evidence: 10 * day, Payloads: 20 * day, Keys: 30 * day}

// done accepts a document, gives it a build and a receipt and delivers it.
func (r *run) done(content string) queue.Message {
	r.Helper()
	id := r.id("m")
	m := r.acceptAs(arrival(id, "northwind", "K-"+id, content))
	m = r.to(m, queue.Sending)
	b := build(m, 1)
	b.SHA256 = "wire-" + content
	a := attempt(m, 1)
	a.Raw = "receipt-" + content
	m.State, m.Finished, m.Total, m.Build, m.Incarnation = queue.Delivered, t0, 1, 1, ""
	r.must(r.Record(r.ctx, &queue.Result{Message: &m, Build: b, Attempt: a}))
	return m
}

func (r *run) expired(now time.Time, limit int) []queue.Garbage {
	r.Helper()
	all, err := r.Expired(r.ctx, now, ages, limit)
	r.must(err)
	return all
}

// garbage compares lists of garbage, whatever their order within a kind.
func (r *run) garbage(what string, want, got []queue.Garbage) {
	r.Helper()
	less := func(a, b queue.Garbage) bool {
		return a.Message < b.Message || a.Message == b.Message && (a.What < b.What || a.What == b.What && a.Build < b.Build)
	}
	if d := cmp.Diff(want, got, cmpopts.SortSlices(less), cmpopts.EquateEmpty()); d != "" {
		r.Errorf("%s: -want +got\n%s", what, d)
	}
}

var retentionRules = map[string]func(*run){
	"each thing goes at its own age, the facts last": func(r *run) {
		m := r.done("one")
		r.must(r.AddEvents(r.ctx, queue.Event{At: t0, Type: queue.EventPayload, Message: m.ID, Actor: fault.Actor{Name: "ana"}, Text: "audit"}))
		file := m.Payload.SHA256
		for _, step := range []struct {
			at   time.Duration
			want []queue.Garbage
		}{
			{day - time.Second, nil},
			{day, []queue.Garbage{{Message: m.ID, What: "wire", Build: 1, File: "wire-one"}}},
			{10*day - time.Second, nil},
			{10 * day, []queue.Garbage{{Message: m.ID, What: "receipt", File: "receipt-one"}}},
			{20 * day, []queue.Garbage{{Message: m.ID, What: "payload", File: file}}},
			{30*day - time.Second, nil},
			{30 * day, []queue.Garbage{{Message: m.ID, What: "facts"}}},
			{1000 * day, nil},
		} {
			got := r.expired(after(step.at), 10)
			r.garbage(step.at.String(), step.want, got)
			r.must(r.Forget(r.ctx, got...))
			r.must(r.Forget(r.ctx, got...)) // again, as after a crash
			if step.at == 20*day {
				builds, err := r.Builds(r.ctx, m.ID)
				r.must(err)
				attempts, err := r.Attempts(r.ctx, m.ID)
				r.must(err)
				stored, err := r.Message(r.ctx, m.ID)
				r.must(err)
				if len(builds) != 1 || len(attempts) != 1 || attempts[0].Raw != "" || stored.Payload.SHA256 != file {
					r.Errorf("facts while they are kept: %+v %+v %+v", builds, attempts, stored.Payload)
				}
				if ad, err := r.Accept(r.ctx, arrival("again", "northwind", m.Key, "one")); err != nil || ad.Outcome != queue.AdmitReplayed {
					r.Errorf("the key is forgotten too early: %s, %v", ad.Outcome, err)
				}
			}
		}
		if _, err := r.Message(r.ctx, m.ID); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("the message: %v", err)
		}
		events, err := r.Timeline(r.ctx, m.ID)
		r.must(err)
		if len(events) != 1 || events[0].Text != "audit" {
			r.Errorf("only the audit entry stays, got %+v", events)
		}
		if found, _, err := r.Messages(r.ctx, queue.MessageFilter{Reference: m.Key}, queue.Page{Limit: 5}); err != nil || len(found) != 0 {
			r.Errorf("found by its key: %v, %v", ids(found), err)
		}
		r.acceptAs(arrival("new", "northwind", m.Key, "one"))
	},
	"what is not terminal keeps everything": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonRejected, "")
		r.must(r.Record(r.ctx, &queue.Result{Build: build(m, 1), Attempt: func() *queue.Attempt { a := attempt(m, 1); a.Raw = "receipt"; return a }()}))
		r.accept("northwind")
		r.to(r.accept("northwind"), queue.Sending, queue.AwaitingAck)
		r.garbage("open letter", nil, r.expired(after(10000*day), 100))
		if err := r.Forget(r.ctx, queue.Garbage{Message: m.ID, What: "facts"}); err != nil {
			r.Error(err)
		}
		if _, err := r.Letter(r.ctx, l.ID); err != nil {
			r.Errorf("an open letter was forgotten: %v", err)
		}
		r.closed(m, l)
		if got := r.expired(after(10000*day), 100); len(got) != 3 {
			r.Errorf("a closed letter: %+v", got)
		}
	},
	"a file that another row names is shared": func(r *run) {
		a, b := r.done("same"), r.done("same")
		living := r.acceptAs(arrival("living", "other", "KL", "unlike"))
		for _, g := range r.expired(after(day), 10) {
			if g.Shared != (g.Message == a.ID) {
				r.Errorf("of two rows that go the last one takes the file: %+v", g)
			}
		}
		got := r.expired(after(25*day), 10)
		if len(got) != 6 {
			r.Fatalf("%+v", got)
		}
		r.must(r.Forget(r.ctx, got...))
		c := r.done("unlike")
		got = slices.DeleteFunc(r.expired(after(25*day), 10), func(g queue.Garbage) bool { return g.What != "payload" })
		r.garbage("payload of a queued message", []queue.Garbage{{Message: c.ID, What: "payload", File: living.Payload.SHA256, Shared: true}}, got)
		free, err := r.Unnamed(r.ctx, "payload", []string{a.Payload.SHA256, living.Payload.SHA256, "nobody"})
		r.must(err)
		r.equal("files without a row", []string{b.Payload.SHA256, "nobody"}, free)
		free, err = r.Unnamed(r.ctx, "wire", []string{"wire-same", "wire-unlike"})
		r.must(err)
		r.equal("wire files without a row", []string{"wire-same"}, free)
		free, err = r.Unnamed(r.ctx, "receipt", []string{"receipt-same", "receipt-unlike"})
		r.must(err)
		r.equal("receipts without a row", []string{"receipt-same"}, free)
	},
	"retention goes in steps": func(r *run) {
		for _, content := range []string{"a", "b", "c"} {
			r.done(content)
		}
		total := 0
		for range 100 {
			got := r.expired(after(100*day), 2)
			if len(got) > 2 {
				r.Fatalf("%d at once", len(got))
			}
			if len(got) == 0 {
				break
			}
			total += len(got)
			r.must(r.Forget(r.ctx, got...))
		}
		if total != 12 {
			r.Errorf("%d things went, want 12", total)
		}
		if all, _, err := r.Messages(r.ctx, queue.MessageFilter{}, queue.Page{Limit: 10}); err != nil || len(all) != 0 {
			r.Errorf("%d messages are left, %v", len(all), err)
		}
	},
	"an age of zero keeps for ever": func(r *run) {
		r.done("one")
		all, err := r.Expired(r.ctx, after(10000*day), queue.Keep{}, 10)
		r.must(err)
		r.garbage("kept", nil, all)
	},
	"a partner may have ages of his own": func(r *run) {
		common := r.done("one")
		k := ages
		k.Partners = map[string]queue.KeepPartner{"northwind": {Payloads: 40 * day, Evidence: 2 * day}, "other": {Payloads: day, Evidence: day}}
		what := func(at time.Duration) (all []string) {
			r.Helper()
			g, err := r.Expired(r.ctx, after(at), k, 100)
			r.must(err)
			for _, x := range g {
				if x.Message == common.ID {
					all = append(all, x.What)
				}
			}
			slices.Sort(all)
			return all
		}
		r.equal("before", []string{"wire"}, what(2*day-time.Second))
		r.equal("evidence goes earlier", []string{"receipt", "wire"}, what(2*day))
		r.equal("payloads stay longer", []string{"receipt", "wire"}, what(40*day-time.Second))
		r.equal("payloads go", []string{"payload", "receipt", "wire"}, what(40*day))
		k.Partners = map[string]queue.KeepPartner{"other": {Payloads: day, Evidence: day}}
		r.equal("another partner's ages", []string{"payload", "receipt", "wire"}, what(20*day))
		r.equal("another partner's ages are his", []string{"wire"}, what(5*day))
		k.Partners = map[string]queue.KeepPartner{"northwind": {}}
		r.equal("zero keeps for ever", []string{"wire"}, what(1000*day))
	},
	"a document that was let go is not sent again": func(r *run) {
		m := r.done("one")
		next := arrival("next", "northwind", m.Key, "one").Message
		next.Edition, next.Previous, next.State, next.Accepted = 1, m.ID, queue.Queued, t0
		g := r.expired(after(25*day), 10)
		r.must(r.Forget(r.ctx, g...))
		if err := r.Record(r.ctx, &queue.Result{Message: &next}); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("its file is gone: %v", err)
		}
		next.Payload.SHA256 = "other content, stored anew"
		r.must(r.Record(r.ctx, &queue.Result{Message: &next}))
	},
	"what belongs to no message goes when it ended": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-2")
		for i, o := range []queue.Outage{{ID: "OUT-1", Ended: t0}, {ID: "OUT-2", Ended: t0}, {ID: "OUT-3"}} {
			o.Number, o.Partner, o.Lane, o.Since = int64(i+1), "northwind", "northwind", t0
			r.must(r.Record(r.ctx, &queue.Result{Outage: &o}))
		}
		for _, id := range []string{"done", "running"} {
			j, err := r.FreezeReplay(r.ctx, queue.ReplayJob{ID: id, Created: t0, Status: queue.ReplayRunning}, []string{l.ID})
			r.must(err)
			if id == "done" {
				j.Status, j.Finished = queue.ReplayDone, t0
				r.must(r.SaveReplay(r.ctx, j, nil))
			}
		}
		before, err := r.LastEvent(r.ctx)
		r.must(err)
		r.must(r.AddEvents(r.ctx,
			queue.Event{At: t0, Type: queue.EventStarted, Text: "old"},
			queue.Event{At: t0, Type: queue.EventSettings, Actor: fault.Actor{Name: "ana"}, Text: "old audit entry"},
			queue.Event{At: t0, Type: queue.EventPayload, Actor: fault.Actor{Name: "ana"}, Message: "forgotten", Text: "audit entry of a message that is gone"},
			queue.Event{At: t0, Type: queue.EventReplay, Actor: fault.Actor{Name: "ana"}, Message: m.ID, Text: "audit entry of a message"},
			queue.Event{At: t0, Type: queue.EventLaneStopped, Actor: fault.Actor{Name: "ana"}, Outage: "OUT-3", Text: "audit entry of a running outage"},
			queue.Event{At: after(time.Second), Type: queue.EventSettings, Actor: fault.Actor{Name: "ana"}, Text: "young audit entry"},
			queue.Event{At: t0, Type: queue.EventBreakerOpened, Outage: "OUT-3", Text: "still running"},
			queue.Event{At: t0, Type: queue.EventRetry, Message: m.ID, Text: "of a message"},
			queue.Event{At: after(time.Second), Type: queue.EventStarted, Text: "young"}))
		total := 0
		for range 10 {
			n, err := r.Trim(r.ctx, t0, 1)
			r.must(err)
			if n > 1 {
				r.Fatalf("%d rows at once", n)
			}
			total += n
		}
		if total != 6 { // an item, its job, an outage, an event, two audit entries
			r.Errorf("%d rows went, want 6", total)
		}
		jobs, err := r.ReplayJobs(r.ctx, "")
		r.must(err)
		if len(jobs) != 1 || jobs[0].ID != "running" {
			r.Errorf("jobs %+v", jobs)
		}
		outages, _, err := r.Outages(r.ctx, "", false, queue.Page{Limit: 10})
		r.must(err)
		if len(outages) != 2 || outages[1].ID != "OUT-2" || outages[1].Letters != 1 {
			r.Errorf("outages %+v", outages)
		}
		events, err := r.Events(r.ctx, before, 10)
		r.must(err)
		var texts []string
		for _, e := range events {
			texts = append(texts, e.Text)
		}
		r.equal("events", []string{"audit entry of a message", "audit entry of a running outage", "young audit entry", "still running", "of a message", "young"}, texts)
	},
	"a refused document ages from its arrival": func(r *run) {
		m := arrival("m1", "northwind", "K1", "one").Message
		m.State, m.Accepted = queue.Refused, t0
		r.must(r.Record(r.ctx, &queue.Result{Message: &m}))
		r.garbage("before", nil, r.expired(after(20*day-time.Second), 10))
		r.garbage("payload", []queue.Garbage{{Message: "m1", What: "payload", File: m.Payload.SHA256}}, r.expired(after(20*day), 10))
	},
	"restoring makes the unfinished uncertain and stops every lane": func(r *run) {
		queued := r.accept("northwind")
		acking := r.to(r.accept("acking"), queue.Sending, queue.AwaitingAck)
		dead, l := r.dead("dead", fault.ReasonRejected, "")
		done := r.deliver(r.accept("done"))
		_, closedL := r.closed(r.dead("done", fault.ReasonRejected, ""))
		la := lane("northwind")
		la.Ramp, la.Stop = 2, &queue.Stop{Reason: "maintenance", Since: t0, Until: after(time.Hour)}
		r.must(r.Record(r.ctx, &queue.Result{Lane: la}))
		owed := arrival("owed", "northwind", "K-owed", "receipt").Message
		owed.Kind, owed.Lane, owed.State = queue.KindReceipt, queue.LaneKey("northwind", queue.KindReceipt), queue.Queued
		r.must(r.Record(r.ctx, &queue.Result{Message: &owed}))
		last, err := r.LastEvent(r.ctx)
		r.must(err)
		messages, lanes, err := r.MarkRestored(r.ctx, after(time.Minute), []string{"northwind", "silent"})
		r.must(err)
		if messages != 4 || lanes != 9 { // three partners without a file have documents, two with one three lanes each
			r.Errorf("%d messages, %d lanes", messages, lanes)
		}
		for _, m := range []queue.Message{queued, acking, dead} {
			got, err := r.Message(r.ctx, m.ID)
			r.must(err)
			m.Uncertain = true
			m.Version++
			r.equal(m.Lane, m, got)
		}
		got, err := r.Message(r.ctx, done.ID)
		r.must(err)
		r.equal("delivered", done, got)
		gotL, err := r.Letter(r.ctx, l.ID)
		r.must(err)
		if !gotL.Uncertain || gotL.Version != l.Version+1 {
			r.Errorf("open letter %+v", gotL)
		}
		gotL, err = r.Letter(r.ctx, closedL.ID)
		r.must(err)
		r.equal("closed letter", closedL, gotL)
		all, err := r.Lanes(r.ctx)
		r.must(err)
		stop := &queue.Stop{Reason: "restored", Since: after(time.Minute)}
		r.equal("lanes", []queue.Lane{
			{Key: "acking", Version: 1, Partner: "acking", Kind: queue.KindDocument, Stop: stop},
			{Key: "dead", Version: 1, Partner: "dead", Kind: queue.KindDocument, Stop: stop},
			{Key: "done", Version: 1, Partner: "done", Kind: queue.KindDocument, Stop: stop},
			{Key: "northwind", Version: 2, Partner: "northwind", Kind: queue.KindDocument, Ramp: 2, Stop: stop},
			{Key: "northwind/receipts", Version: 1, Partner: "northwind", Kind: queue.KindReceipt, Stop: stop},
			{Key: "northwind/webhook", Version: 1, Partner: "northwind", Kind: queue.KindWebhook, Stop: stop},
			{Key: "silent", Version: 1, Partner: "silent", Kind: queue.KindDocument, Stop: stop},
			{Key: "silent/receipts", Version: 1, Partner: "silent", Kind: queue.KindReceipt, Stop: stop},
			{Key: "silent/webhook", Version: 1, Partner: "silent", Kind: queue.KindWebhook, Stop: stop},
		}, all)
		events, err := r.Events(r.ctx, last, 10)
		r.must(err)
		if len(events) != 10 || events[0].Type != queue.EventRestored || events[1].Type != queue.EventLaneStopped {
			r.Errorf("events %+v", events)
		}
	},
	"a backup is a whole store and takes no place": func(r *run) {
		r.accept("northwind")
		file := filepath.Join(r.TempDir(), "backup.db")
		err := r.Backup(r.ctx, file)
		if errors.Is(err, errors.ErrUnsupported) {
			r.Skip("this store has no backup")
		}
		r.must(err)
		info, err := os.Stat(file)
		r.must(err)
		if info.Size() == 0 || info.Mode().Perm() != 0o600 {
			r.Errorf("%d bytes, mode %v", info.Size(), info.Mode())
		}
		if err := r.Backup(r.ctx, file); !errors.Is(err, fs.ErrExist) {
			r.Errorf("over an existing file: %v", err)
		}
		again, err := os.Stat(file)
		r.must(err)
		if again.Size() != info.Size() {
			r.Error("the existing file was touched")
		}
	},
}
