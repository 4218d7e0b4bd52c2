package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// tidy brings what is kept of the lane up to date with time, settings and what
// others did to its messages and letters. It reports true if the lane should
// look again at once.
func (l *line) tidy(ctx context.Context, now time.Time, set settings) (bool, error) {
	if stop := l.lane.Stop; stop != nil && !stop.Until.IsZero() && !now.Before(stop.Until) {
		lane := l.lane
		lane.Stop = nil
		e := l.event(queue.EventLaneStarted, now, fault.Actor{}, "the stop by "+stop.By.String()+" has ended")
		if err := l.record(ctx, &queue.Result{Lane: &lane, Events: []queue.Event{e}}); err != nil {
			return false, err
		}
	}
	if err := l.unstick(ctx); err != nil {
		return false, err
	}
	if l.lane.Orphaned == set.known {
		if err := l.orphan(ctx, now, set); err != nil {
			return false, err
		}
	}
	if !l.look.Swap(false) {
		return false, nil
	}
	l.fresh = true
	for _, step := range []func(context.Context, time.Time) error{l.lookBar, l.lookHolder, l.lookOutage} {
		if err := step(ctx, now); err != nil {
			l.look.Store(true)
			return false, err
		}
	}
	return false, l.replay(ctx, now, set)
}

// orphan notes that the settings file is gone while there is something to
// send or a letter, or that it is back.
func (l *line) orphan(ctx context.Context, now time.Time, set settings) error {
	lane := l.lane
	lane.Orphaned = !set.known
	e := l.event(queue.EventLaneReleased, now, fault.Actor{}, "the settings file is back")
	if !set.known {
		ready, _, err := l.s.Store.Ready(ctx, l.key, true, now, 1)
		if err != nil {
			return err
		}
		letters, _, err := l.s.Store.Letters(ctx, queue.LetterFilter{Partner: l.partner, Status: queue.LetterOpen}, queue.Page{Limit: 1})
		if err != nil || len(ready)+len(letters) == 0 {
			return err
		}
		e.Type, e.Text = queue.EventLaneOrphaned, "the settings file is gone; what waits stays and is not sent"
	}
	return l.record(ctx, &queue.Result{Lane: &lane, Events: []queue.Event{e}})
}

// lookBar reads whether the letter that the lane stands behind is open. A
// replay lets the lane go on, because the replayed message is first in line.
func (l *line) lookBar(ctx context.Context, now time.Time) error {
	barred := false
	if l.lane.Blocked != "" {
		letter, err := l.s.Store.Letter(ctx, l.lane.Blocked)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		gone := err != nil || letter.Status == queue.LetterClosed
		set := l.settings()
		if gone || set.usable && set.lane.AfterDead != partner.DeadBlock {
			return l.unbar(ctx, set)
		}
		barred = letter.Status == queue.LetterOpen
	}
	l.shown.Lock()
	l.barred = barred
	l.shown.Unlock()
	return nil
}

// unbar frees the lane, or puts it behind the next open letter that died in
// it: what died at the door never stood in line.
func (l *line) unbar(ctx context.Context, set settings) error {
	lane := l.lane
	lane.Blocked = ""
	if set.lane.AfterDead == partner.DeadBlock {
		letter, err := l.s.Store.OldestLetter(ctx, l.key, fault.ReasonFormat, fault.ReasonChangedContent)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		lane.Blocked = letter.ID
	}
	l.shown.Lock()
	l.barred = lane.Blocked != ""
	l.shown.Unlock()
	return l.record(ctx, &queue.Result{Lane: &lane})
}

// bar puts the lane behind a letter that was opened in it.
func (l *line) bar(res *queue.Result, lane *queue.Lane, now time.Time, set settings) {
	if res.Closed != nil && res.Closed.Status == queue.LetterClosed && res.Closed.ID == lane.Blocked {
		l.look.Store(true)
	}
	if res.Opened == nil || set.lane.AfterDead != partner.DeadBlock || lane.Kind != queue.KindDocument {
		return
	}
	if lane.Blocked == "" || res.Closed != nil && res.Closed.ID == lane.Blocked {
		lane.Blocked = res.Opened.ID
		e := l.event(queue.EventLaneBlocked, now, fault.Actor{}, "the lane stops behind a dead letter, first in, first out")
		e.Message, e.Letter = res.Opened.Message, res.Opened.ID
		res.Events = append(res.Events, e)
	}
	l.look.Store(true)
}

// lookHolder takes the test from a message that was settled or cancelled.
func (l *line) lookHolder(ctx context.Context, _ time.Time) error {
	id := l.lane.Breaker.Holder
	if id == "" || l.running[id] != nil {
		return nil
	}
	m, err := l.s.Store.Message(ctx, id)
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return err
	}
	if err == nil && (m.State.Lined() || m.State == queue.Sending) {
		return nil
	}
	lane := l.lane
	lane.Breaker = breaker.ForgetHolder(lane.Breaker, id)
	return l.record(ctx, &queue.Result{Lane: &lane})
}

func (l *line) lookOutage(ctx context.Context, now time.Time) error {
	_, err := l.settleOutage(ctx, now)
	return err
}

// replay is auto_replay: the letters of the outage go out again by themselves
// once the partner answers, oldest first, never one that needs a question
// (delivery.md §6).
func (l *line) replay(ctx context.Context, now time.Time, set settings) error {
	auto, b := set.lane.AutoReplay, l.lane.Breaker
	if auto == nil || !set.usable || l.outage == nil || l.outage.Withdrawn || l.replayed == l.outage.ID || b.Now() != breaker.Closed && !b.Answering {
		return nil
	}
	results, err := l.replays(ctx, now, set)
	if err != nil {
		return err
	}
	for i := 0; i < len(results); i += batch {
		if err := l.record(ctx, results[i:min(i+batch, len(results))]...); err != nil {
			return fmt.Errorf("auto_replay of %s: %w", l.outage.ID, err)
		}
	}
	l.replayed = l.outage.ID
	return nil
}

// maxLook bounds the letters of one outage that auto_replay looks at.
const maxLook = 20_000

// replays gives the letters that auto_replay may send, behind those that need
// a question too.
func (l *line) replays(ctx context.Context, now time.Time, set settings) (results []*queue.Result, err error) {
	auto, seen := set.lane.AutoReplay, 0
	for limit := max(batch, 2*auto.Max); ; limit *= 2 {
		letters, err := l.s.Store.OutageLetters(ctx, l.outage.ID, queue.LetterOpen, limit)
		if err != nil {
			return nil, err
		}
		for _, letter := range letters[min(seen, len(letters)):] {
			if len(results) >= auto.Max || letter.Uncertain || letter.Overtaken || letter.Overdue || now.Sub(letter.Created) > auto.MaxAge {
				continue
			}
			m, err := l.s.Store.Message(ctx, letter.Message)
			if err != nil {
				return nil, err
			}
			if late(m, now) {
				continue // overdue since it became a letter
			}
			in := queue.Input{Trigger: queue.OnReplay, At: now, Letter: &letter, Note: "auto_replay"}
			res, err := queue.Next(m, in, set.rules(m))
			if err != nil {
				return nil, err
			}
			results = append(results, &res)
		}
		if len(results) >= auto.Max || len(letters) < limit || limit >= maxLook {
			return results, nil
		}
		seen = len(letters)
	}
}
