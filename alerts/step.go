package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"edigw/queue"
)

// writing is one step on its way into the store.
type writing struct {
	*Service
	book  Book
	pace  Pace
	route []string
	now   time.Time
	see   *observer
	step  Step
	all   bool // every incident is looked at
	certs bool // certificates were looked at
}

// number gives new incidents their id, and those that begin again what is
// stored of them. A number that is not used after all is left out.
func (w *writing) number(ctx context.Context) error {
	for i, in := range w.book.Incidents {
		if in.ID != "" && in.Version == 0 {
			stored, err := w.Store.Incident(ctx, in.ID)
			switch {
			case err == nil:
				w.book.Incidents[i] = in.again(stored, w.pace, w.now)
			case !errors.Is(err, queue.ErrNotFound):
				return err
			}
		}
		if in.ID != "" {
			continue
		}
		n, err := w.Store.NextNumber(ctx, "incident")
		if err != nil {
			return err
		}
		w.book.Incidents[i].ID = fmt.Sprintf("INC-%d", n)
	}
	return nil
}

// incidents brings incidents up to date, and then tells those that are due:
// one may say already what another would.
func (w *writing) incidents(touched map[string]bool) func(context.Context) error {
	return func(ctx context.Context) error { return w.look(ctx, touched) }
}

func (w *writing) look(ctx context.Context, touched map[string]bool) error {
	seen := make([]Situation, len(w.book.Incidents))
	looked := make([]bool, len(w.book.Incidents))
	for i, in := range w.book.Incidents {
		due := in.News != NewsNone && !w.now.Before(in.Due)
		if !w.all && !touched[in.Key] && !due {
			continue
		}
		s, err := w.see.look(ctx, in)
		if err != nil {
			return err
		}
		seen[i], looked[i] = s, true
		in = Advance(in, s, w.pace, w.now)
		if in.Held { // its news, or the partner's quiet hours, may be others now
			in.Due = w.now
		}
		w.book.Incidents[i] = in
	}
	for i, in := range w.book.Incidents {
		if !looked[i] || in.News == NewsNone || w.now.Before(in.Due) {
			continue
		}
		if err := w.tell(ctx, i, seen[i]); err != nil {
			return err
		}
	}
	return nil
}

// tell makes the notifications of one incident, unless another says it already
// or its partner's quiet hours delay it.
func (w *writing) tell(ctx context.Context, i int, s Situation) error {
	in := w.book.Incidents[i]
	if by, yes := inhibited(in, w.book.Incidents); yes {
		if in.News == NewsOver {
			in.Closed = w.now
		}
		in.Under, in.Due = by, w.now.Add(max(w.pace.Wait, firstWait))
		w.book.Incidents[i] = in
		return nil
	}
	in.Severity = in.severity(s.Partner, s.Outage.Open)
	if until := quietUntil(s.Partner, w.now); in.Severity != Page && !until.IsZero() {
		in.Due, in.Held = until, true
		w.book.Incidents[i] = in
		return nil
	}
	s, err := w.see.study(ctx, in, s, w.book)
	if err != nil {
		return err
	}
	t := telling{in: in, s: s, now: w.now, base: w.see.set.Gateway().ConsoleURL(), zone: zoneOf(s.Partner), sev: in.Severity}
	var extra []string
	if s.Partner != nil {
		extra = s.Partner.Notify.Mail
	} else {
		t.zone = w.zone()
	}
	w.step.Notifications = append(w.step.Notifications, notify(t, w.route, compose(t), extra)...)
	w.book.Incidents[i] = in.told(w.now)
	return nil
}

// watch looks for what no event says: time that runs out.
func (w *writing) watch(ctx context.Context) error {
	if w.now.Sub(w.pipe.watched) >= certWatch || w.now.Before(w.pipe.watched) {
		w.certs = true
		w.step.Events = append(w.step.Events, watchCertificates(w.book, w.see.set, w.now)...)
		if keys := time.Duration(w.see.set.Gateway().Retention.Keys); keys > 0 {
			for n := forgetLimit; n == forgetLimit; {
				var err error
				if n, err = w.Store.ForgetAlerts(ctx, w.now.Add(-keys), forgetLimit); err != nil {
					return err
				}
			}
		}
	}
	if !w.all {
		return nil
	}
	depths, err := w.see.allDepths(ctx)
	if err != nil {
		return err
	}
	var failed error
	troubled := func(d queue.Depth) bool {
		s, err := w.see.look(ctx, Incident{Kind: KindDeadline, Partner: d.Partner, Lane: d.Lane})
		failed = errors.Join(failed, err)
		return s.troubled()
	}
	w.step.Events = append(w.step.Events, watchDeadlines(w.book, depths, troubled, w.now)...)
	return failed
}

// clock makes heartbeat and digest when they are due.
func (w *writing) clock(ctx context.Context) error {
	a := w.see.set.Gateway().Alerts
	if a == nil {
		return nil
	}
	dueSoon := w.book.State
	_, _, beats := beat(dueSoon, time.Duration(a.Heartbeat), Figures{}, w.now)
	_, _, digests := digest(dueSoon, a.Digest, w.zone(), Figures{}, w.now)
	var f Figures
	if beats || digests {
		var err error
		if f, err = w.figures(ctx); err != nil {
			return err
		}
	}
	var text Text
	var made bool
	if w.book.State, text, made = beat(w.book.State, time.Duration(a.Heartbeat), f, w.now); made {
		w.step.Notifications = append(w.step.Notifications, single("heartbeat", w.route, text, w.now)...)
	}
	if w.book.State, text, made = digest(w.book.State, a.Digest, w.zone(), f, w.now); made {
		w.step.Notifications = append(w.step.Notifications, single("digest", w.route, text, w.now)...)
	}
	return nil
}

func (w *writing) figures(ctx context.Context) (f Figures, err error) {
	g := w.see.set.Gateway()
	f = Figures{Node: g.Node, Base: g.ConsoleURL(), Partners: len(w.see.set.IDs())}
	for _, in := range w.book.Incidents {
		if in.Stage != Over {
			f.Incidents++
			f.Running = append(f.Running, in)
		}
	}
	h, err := w.see.letters(ctx)
	if err != nil {
		return f, err
	}
	f.Letters, f.Oldest = h.Letters, h.Oldest
	for _, d := range w.see.depths {
		f.Waiting += d.Lined
	}
	return f, nil
}

// keep takes the stored versions into the book and drops what is closed.
func (w *writing) keep() {
	for _, saved := range w.step.Incidents {
		for i := range w.book.Incidents {
			if w.book.Incidents[i].ID == saved.ID {
				w.book.Incidents[i].Version = saved.Version
			}
		}
	}
	w.book.State.Version = w.step.State.Version
	w.book.Incidents = slices.DeleteFunc(w.book.Incidents, func(in Incident) bool { return !in.Active() })
}
