package lane

import (
	"context"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
)

// opened gives an opening its outage: the one that still runs, or a new one.
// A breaker that an operator tripped makes none (delivery.md §6).
func (l *line) opened(ctx context.Context, res *queue.Result, o fault.Outcome) error {
	lane := res.Lane
	if lane.Breaker.Manual {
		return nil
	}
	out := queue.Outage{Partner: l.partner, Lane: l.key, Since: lane.Breaker.OpenedAt}
	if l.outage != nil && !l.outage.Withdrawn {
		out = *l.outage // its letters are not settled: it goes on
		out.Answering, out.Recovered = time.Time{}, time.Time{}
	} else {
		_, err := l.s.persist(ctx, func() (err error) {
			out.Number, err = l.s.Store.NextNumber(ctx, "outage")
			return err
		})
		if err != nil {
			return err
		}
		out.ID = fmt.Sprintf("OUT-%d", out.Number)
	}
	out.Cause, out.Status, out.Detail = o.Cause, o.Status, o.Sentence()
	lane.Outage = out.ID
	res.Outage = &out
	return nil
}

// moved adds what a transition of the breaker means to a result that holds the
// changed lane: its event, and where the outage stands.
func (l *line) moved(res *queue.Result, c breaker.Change, now time.Time, by fault.Actor, text string) {
	if !c.Moved() && !c.Answering {
		return
	}
	lane := res.Lane
	e := l.event(queue.EventBreakerProbing, now, by, text)
	var out *queue.Outage
	if res.Outage != nil {
		out = res.Outage
	} else if l.outage != nil {
		o := *l.outage
		out = &o
	}
	if c.Opened || c.Reopened {
		l.replayed = "" // what is buried from now on is auto_replay's again
	}
	switch {
	case c.Opened:
		e.Type = queue.EventBreakerOpened
	case c.Reopened:
		e.Type = queue.EventBreakerReopened
		if out != nil {
			out.Answering = time.Time{}
		}
	case c.Closed:
		e.Type = queue.EventBreakerClosed
		if out != nil {
			out.Recovered = now
		}
		if lane.Ramp = 0; l.settings().width() > 1 {
			lane.Ramp = 1
		}
		lane.Charged = nil
		l.look.Store(true)
	case c.Answering:
		e.Type = queue.EventAnswering
		if out != nil {
			out.Answering = now
		}
	}
	res.Outage = out
	e.Outage = lane.Outage
	e.Facts = map[string]string{"from": string(c.From), "to": string(c.To), "manual": fmt.Sprint(lane.Breaker.Manual)}
	if out != nil {
		e.Facts["cause"], e.Facts["status"] = string(out.Cause), fmt.Sprint(out.Status)
	}
	if t := lane.Breaker.ReopenAt; !t.IsZero() {
		e.Facts["next"] = t.UTC().Format(time.RFC3339)
	}
	res.Events = append(res.Events, e)
}

// settleOutage ends the outage when the breaker is closed and none of its
// letters is open, or on its way again.
func (l *line) settleOutage(ctx context.Context, now time.Time) (bool, error) {
	if l.lane.Outage == "" || l.lane.Breaker.Now() != breaker.Closed {
		return false, nil
	}
	out, err := l.s.Store.Outage(ctx, l.lane.Outage)
	if err != nil || out.Open > 0 {
		return false, err
	}
	under, err := l.s.Store.OutageLetters(ctx, out.ID, queue.LetterReplaying, 1)
	if err != nil || len(under) > 0 {
		return false, err
	}
	out.Ended = now
	if out.Recovered.IsZero() {
		out.Recovered = now
	}
	lane := l.lane
	text := fmt.Sprintf("%s is over: the partner answers and none of its %d letters is open", out.ID, out.Letters)
	if out.Withdrawn {
		text = fmt.Sprintf("%s is withdrawn: it was our own network; its %d letters returned to the line", out.ID, out.Letters)
	}
	e := l.event(queue.EventOutageEnded, now, fault.Actor{}, text)
	e.Facts = map[string]string{"letters": fmt.Sprint(out.Letters), "withdrawn": fmt.Sprint(out.Withdrawn)}
	lane.Outage = ""
	return true, l.record(ctx, &queue.Result{Lane: &lane, Outage: &out, Events: []queue.Event{e}})
}
