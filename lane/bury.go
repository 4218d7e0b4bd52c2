package lane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	doomed, err := l.doomed(ctx)
	if err != nil || len(doomed) == 0 {
		return 0, err
	}
	results := make([]*queue.Result, 0, len(doomed))
	for _, m := range doomed {
		res, err := l.burial(ctx, m, now, set)
		if hopeless(err) {
			return 1, l.ruin(ctx, m, err)
		}
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

// burial is what the open breaker makes of a message.
func (l *line) burial(ctx context.Context, m queue.Message, now time.Time, set settings) (queue.Result, error) {
	in, err := l.s.input(ctx, queue.OnBury, m, now)
	if err != nil {
		return queue.Result{}, err
	}
	in.Outage, in.Note = l.lane.Outage, "the partner does not answer"
	if l.outage != nil && l.outage.Detail != "" {
		in.Note += ": " + l.outage.Detail
	}
	return step(m, in, set)
}

// doomed gives the next batch to bury, oldest first.
func (l *line) doomed(ctx context.Context) ([]queue.Message, error) {
	stay := slices.Collect(maps.Keys(l.running)) // on their way to `sending`, where the breaker stops them
	if holder := l.lane.Breaker.Holder; holder != "" {
		stay = append(stay, holder)
	}
	return l.s.Store.Buriable(ctx, l.key, stay, burial)
}
