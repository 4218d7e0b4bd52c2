package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// batch bounds what is read or withdrawn at once, so that other lanes' commits
// pass in between.
const batch = 500

// burial bounds the letters made in one transaction (delivery.md §6 allows
// 500): whoever commits meanwhile waits for all of them.
const burial = 100

// bury makes letters of a batch of the messages that an open breaker meets
// (delivery.md §6), and says how many. The holder and confirmed replays stay.
// What is left after a crash is buried by the next turn: nothing but the line
// itself says what is to be done.
func (l *line) bury(ctx context.Context, now time.Time, set settings) (int, error) {
	doomed, err := l.doomed(ctx, now)
	if err != nil || len(doomed) == 0 {
		return 0, err
	}
	results := make([]*queue.Result, 0, len(doomed))
	for _, m := range doomed {
		in, err := l.s.input(ctx, queue.OnBury, m, now)
		if err != nil {
			return 0, err
		}
		in.Outage, in.Note = l.lane.Outage, "the partner does not answer"
		if l.outage != nil && l.outage.Detail != "" {
			in.Note += ": " + l.outage.Detail
		}
		res, err := queue.Next(m, in, set.rules(m))
		if err != nil {
			return 0, err
		}
		results = append(results, &res)
	}
	e := l.event(queue.EventOutageBuried, now, fault.Actor{}, fmt.Sprintf("%d not delivered: the partner does not answer", len(results)))
	e.Facts = map[string]string{"letters": fmt.Sprint(len(results))}
	last := results[len(results)-1]
	last.Events = append(last.Events, e)
	if err := l.record(ctx, results...); err != nil && !errors.Is(err, queue.ErrConflict) {
		return 0, err
	}
	return len(results), nil
}

// doomed gives the next batch to bury, oldest first.
func (l *line) doomed(ctx context.Context, now time.Time) ([]queue.Message, error) {
	for limit := burial + 2 + len(l.running); ; limit *= 2 {
		ready, _, err := l.s.Store.Ready(ctx, l.key, true, now, limit)
		if err != nil {
			return nil, err
		}
		var doomed []queue.Message
		for _, m := range ready {
			if m.ID != l.lane.Breaker.Holder && !m.Asked && l.running[m.ID] == nil && len(doomed) < burial {
				doomed = append(doomed, m)
			}
		}
		if len(doomed) > 0 || len(ready) < limit {
			return doomed, nil
		}
	}
}
