package storetest

import (
	"time"

	"edigw/fault"
	"edigw/queue"
)

// wait puts a message in line for a time.
func (r *run) wait(m queue.Message, at time.Time) queue.Message {
	r.Helper()
	return r.change(r.to(m, queue.Sending), func(m *queue.Message) {
		m.State, m.Why, m.NextAt, m.Incarnation = queue.Waiting, queue.WhyBackoff, at, ""
	})
}

var lineRules = map[string]func(*run){
	"in order the oldest come first whatever their time": func(r *run) {
		a, b, c := r.accept("northwind"), r.accept("northwind"), r.accept("northwind")
		r.accept("other")
		r.to(r.accept("northwind"), queue.Sending)
		r.wait(a, after(time.Hour))
		r.wait(c, after(time.Minute))
		ready, next, err := r.Ready(r.ctx, "northwind", true, t0, 1)
		r.must(err)
		r.equal("ready", []string{a.ID}, ids(ready))
		r.equal("next", t0, next)
		ready, next, err = r.Ready(r.ctx, "northwind", true, t0, 2)
		r.must(err)
		r.equal("ready", []string{a.ID, b.ID}, ids(ready))
		r.equal("next", after(time.Minute), next)
		ready, next, err = r.Ready(r.ctx, "northwind", true, t0, 10)
		r.must(err)
		r.equal("ready", []string{a.ID, b.ID, c.ID}, ids(ready))
		r.equal("next", time.Time{}, next)
	},
	"out of order those that are due come by their time": func(r *run) {
		a, b, c, d := r.accept("northwind"), r.accept("northwind"), r.accept("northwind"), r.accept("northwind")
		r.wait(a, after(3*time.Second))
		r.wait(b, after(time.Second))
		r.wait(c, after(time.Hour))
		now := after(3 * time.Second)
		ready, next, err := r.Ready(r.ctx, "northwind", false, now, 10)
		r.must(err)
		r.equal("ready", []string{d.ID, b.ID, a.ID}, ids(ready))
		r.equal("next", after(time.Hour), next)
		ready, next, err = r.Ready(r.ctx, "northwind", false, now, 2)
		r.must(err)
		r.equal("ready", []string{d.ID, b.ID}, ids(ready))
		r.equal("next", now, next)
		ready, next, err = r.Ready(r.ctx, "nobody", false, now, 2)
		r.must(err)
		r.equal("an empty lane", []string(nil), ids(ready))
		r.equal("next", time.Time{}, next)
	},
	"a replayed message re-enters at its first place": func(r *run) {
		m, l := r.dead("northwind", fault.ReasonCircuitOpen, "")
		later := r.accept("northwind")
		m.State, m.NextAt, m.Round, m.Asked = queue.Queued, after(time.Hour), 2, true
		l.Status, l.Replayed = queue.LetterReplaying, t0
		r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
		ready, _, err := r.Ready(r.ctx, "northwind", true, t0, 10)
		r.must(err)
		r.equal("line", []string{m.ID, later.ID}, ids(ready))
	},
	"an open breaker buries neither the holder nor confirmed replays": func(r *run) {
		asked := func(m queue.Message, l queue.Letter) queue.Message {
			m.State, m.NextAt, m.Round, m.Asked = queue.Queued, t0, 2, true
			l.Status, l.Replayed = queue.LetterReplaying, t0
			r.must(r.Record(r.ctx, &queue.Result{Message: &m, Closed: &l}))
			return m
		}
		m, l := r.dead("northwind", fault.ReasonCircuitOpen, "")
		holder := r.wait(r.accept("northwind"), after(time.Hour))
		a, b, c := r.accept("northwind"), r.wait(r.accept("northwind"), after(time.Minute)), r.accept("northwind")
		r.accept("other")
		r.to(r.accept("northwind"), queue.Sending)
		m = asked(m, l)
		got, err := r.Buriable(r.ctx, "northwind", []string{holder.ID}, 2)
		r.must(err)
		r.equal("the oldest two", []string{a.ID, b.ID}, ids(got))
		got, err = r.Buriable(r.ctx, "northwind", []string{holder.ID, b.ID}, 10)
		r.must(err)
		r.equal("all but two", []string{a.ID, c.ID}, ids(got))
		r.change(m, func(m *queue.Message) { m.Asked = false })
		got, err = r.Buriable(r.ctx, "northwind", nil, 10)
		r.must(err)
		r.equal("a replay that was tried", []string{m.ID, holder.ID, a.ID, b.ID, c.ID}, ids(got))
	},
	"the agenda shows the lanes with work": func(r *run) {
		a := r.accept("northwind")
		b := r.acceptAs(func() queue.Arrival {
			a := arrival("b", "northwind", "KB", "b")
			a.Now = after(time.Second)
			return a
		}())
		r.wait(a, after(time.Minute))
		r.to(b, queue.Sending)
		r.to(r.accept("acking"), queue.Sending, queue.AwaitingAck)
		r.deliver(r.accept("done"))
		r.dead("dead", fault.ReasonRejected, "")
		c := r.to(r.accept("busy"), queue.Sending)
		want := []queue.Work{
			{Lane: "busy", Partner: "busy", Depth: 1, Bytes: 100, Oldest: c.Accepted},
			{Lane: "northwind", Partner: "northwind", Depth: 2, Bytes: 200, NextAt: after(time.Minute), Oldest: t0},
		}
		got, err := r.Agenda(r.ctx)
		r.must(err)
		r.equal("agenda", want, got)
		for _, w := range append(want, queue.Work{Lane: "done"}, queue.Work{Lane: "nobody"}) {
			got, err := r.LaneWork(r.ctx, w.Lane)
			r.must(err)
			r.equal("work of "+w.Lane, w, got)
		}
	},
	"timers fire by time": func(r *run) {
		ack := r.to(r.accept("northwind"), queue.Sending, queue.AwaitingAck) // due in a minute
		warn := r.change(r.accept("northwind"), func(m *queue.Message) { m.WarnBy, m.DeliverBy = after(30*time.Second), after(time.Hour) })
		dead := r.change(r.accept("northwind"), func(m *queue.Message) { m.DeliverBy = after(2 * time.Minute) })
		r.change(r.accept("northwind"), func(m *queue.Message) { m.Warned, m.Overdue, m.WarnBy, m.DeliverBy = true, true, t0, t0 })
		r.change(r.to(r.accept("northwind"), queue.Sending), func(m *queue.Message) { m.DeliverBy = t0 })
		due, next, err := r.Timers(r.ctx, after(time.Minute), 10)
		r.must(err)
		r.equal("due", []string{warn.ID, ack.ID}, ids(due))
		r.equal("next", after(2*time.Minute), next)
		due, next, err = r.Timers(r.ctx, after(time.Minute), 1)
		r.must(err)
		r.equal("due", []string{warn.ID}, ids(due))
		r.equal("next", after(time.Minute), next)
		due, next, err = r.Timers(r.ctx, after(time.Hour), 10)
		r.must(err)
		r.equal("due", []string{warn.ID, ack.ID, dead.ID}, ids(due))
		r.equal("next", time.Time{}, next)
		r.change(warn, func(m *queue.Message) { m.Warned = true })
		due, next, err = r.Timers(r.ctx, after(time.Minute), 10)
		r.must(err)
		r.equal("after the warning", []string{ack.ID}, ids(due))
		r.equal("next", after(2*time.Minute), next)
	},
	"unfinished are those that another process was sending": func(r *run) {
		a, b := r.to(r.accept("northwind"), queue.Sending), r.to(r.accept("other"), queue.Sending)
		r.accept("northwind")
		mine := r.change(r.accept("third"), func(m *queue.Message) { m.State, m.Incarnation = queue.Sending, "gw2" })
		got, err := r.Unfinished(r.ctx, "gw2", 10)
		r.must(err)
		r.equal("unfinished", []string{a.ID, b.ID}, ids(got))
		got, err = r.Unfinished(r.ctx, "gw1", 10)
		r.must(err)
		r.equal("unfinished", []string{mine.ID}, ids(got))
		got, err = r.Unfinished(r.ctx, "gw3", 2)
		r.must(err)
		r.equal("limited", []string{a.ID, b.ID}, ids(got))
	},
	"lanes are those that have a row": func(r *run) {
		r.accept("northwind")
		got, err := r.Lanes(r.ctx)
		r.must(err)
		r.equal("lanes", []queue.Lane(nil), got)
		b, a := lane("b"), lane("a")
		r.must(r.Record(r.ctx, &queue.Result{Lane: b}, &queue.Result{Lane: a}))
		got, err = r.Lanes(r.ctx)
		r.must(err)
		r.equal("lanes", []queue.Lane{*a, *b}, got)
	},
	"depths count what waits and what is dead": func(r *run) {
		first := r.accept("northwind")
		r.change(first, func(m *queue.Message) { m.DeliverBy = after(2 * time.Hour) })
		r.change(r.accept("northwind"), func(m *queue.Message) { m.DeliverBy = after(time.Hour) })
		r.change(r.accept("northwind"), func(m *queue.Message) { m.DeliverBy, m.Overdue = after(time.Second), true })
		r.to(r.accept("northwind"), queue.Sending)
		r.to(r.accept("northwind"), queue.Sending, queue.AwaitingAck)
		_, l := r.dead("northwind", fault.ReasonCircuitOpen, "")
		r.dead("northwind", fault.ReasonCircuitOpen, "")
		changed, changedL := r.dead("northwind", fault.ReasonRejected, "")
		r.closed(r.dead("northwind", fault.ReasonDeadline, ""))
		r.deliver(r.accept("done"))
		_, alone := r.dead("dead", fault.ReasonLocal, "")
		r.to(r.accept("acking"), queue.Sending, queue.AwaitingAck)
		changedL.Reason = fault.ReasonSignature
		r.must(r.Record(r.ctx, &queue.Result{Message: &changed, Closed: &changedL}))
		got, err := r.Depths(r.ctx)
		r.must(err)
		r.equal("depths", []queue.Depth{
			{Partner: "acking", Lane: "acking", Acks: 1},
			{Partner: "dead", Lane: "dead", Letters: map[fault.Reason]int{fault.ReasonLocal: 1}, OldestL: alone.Created},
			{Partner: "northwind", Lane: "northwind", Lined: 4, Bytes: 400, Acks: 1, Oldest: t0, First: after(time.Hour),
				Letters: map[fault.Reason]int{fault.ReasonCircuitOpen: 2, fault.ReasonSignature: 1}, OldestL: l.Created},
		}, got)
		census, err := r.Census(r.ctx)
		r.must(err)
		r.equal("census", queue.Census{Oldest: l.Created, Lanes: []queue.LaneCount{
			{Partner: "acking", Lane: "acking", Acks: 1}, {Partner: "dead", Lane: "dead", Letters: 1}, {Partner: "northwind", Lane: "northwind", Lined: 4, Acks: 1, Letters: 3, First: after(time.Hour)},
		}}, census)
		for _, d := range got {
			one, err := r.PartnerDepths(r.ctx, d.Partner)
			r.must(err)
			r.equal("depths of "+d.Partner, []queue.Depth{d}, one)
		}
		none, err := r.PartnerDepths(r.ctx, "north")
		r.must(err)
		r.equal("depths of nobody", 0, len(none))
		usage, err := r.Usage(r.ctx)
		r.must(err)
		if usage.Letters != 4 || usage.Messages < 12 {
			r.Errorf("usage %+v", usage)
		}
	},
}
