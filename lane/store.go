package lane

import (
	"context"
	"errors"
	"time"

	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// Store is what the scheduler asks of a store. Each method is one whole
// transaction; storetest.Store says what each promises.
type Store interface {
	Ledger
	Lines
	Lanes
	Messages
	Letters
}

// Ledger writes.
type Ledger interface {
	Record(ctx context.Context, results ...*queue.Result) error
	NextNumber(ctx context.Context, series string) (int64, error)
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// Lines reads what stands in line.
type Lines interface {
	Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) (ready []queue.Message, next time.Time, err error)
	Buriable(ctx context.Context, lane string, except []string, limit int) ([]queue.Message, error)
	Agenda(ctx context.Context) ([]queue.Work, error)
	Timers(ctx context.Context, now time.Time, limit int) (due []queue.Message, next time.Time, err error)
	Unfinished(ctx context.Context, incarnation string, limit int) ([]queue.Message, error)
}

// Lanes reads what is kept of lanes.
type Lanes interface {
	Lanes(ctx context.Context) ([]queue.Lane, error)
	Lane(ctx context.Context, key string) (queue.Lane, error)
	Isolation(ctx context.Context) (queue.Isolation, error)
	Outage(ctx context.Context, id string) (queue.Outage, error)
}

// Messages reads single messages.
type Messages interface {
	Message(ctx context.Context, id string) (queue.Message, error)
	Carried(ctx context.Context, messageID string) (queue.Message, error)
	Builds(ctx context.Context, message string) ([]queue.Build, error)
}

// Letters reads letters.
type Letters interface {
	Letter(ctx context.Context, id string) (queue.Letter, error)
	Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error)
	OldestLetter(ctx context.Context, lane string, except ...fault.Reason) (queue.Letter, error)
	OutageLetters(ctx context.Context, outage string, s queue.LetterStatus, limit int) ([]queue.Letter, error)
}

// Waits between the tries of a store that fails.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// persist does a write until it succeeds, for ever: what an exchange taught
// must not be lost (delivery.md §8). It gives up only on a conflict, on a
// missing record, on what the store's rules forbid, or when ctx ends. tried is
// the number of failures before.
func (s *Scheduler) persist(ctx context.Context, write func() error) (tried int, err error) {
	pause := firstPause
	for {
		err := write()
		if err == nil || errors.Is(err, queue.ErrConflict) || errors.Is(err, queue.ErrNotFound) || errors.Is(err, queue.ErrForbidden) {
			return tried, err
		}
		if ctx.Err() != nil {
			return tried, ctx.Err()
		}
		tried++
		s.Log.Error("the store does not take what happened; trying again", "err", err, "in", pause)
		if !instant.Rest(ctx, pause) {
			return tried, ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

// commit records results together. A conflict that follows a failed try may be
// our own write, which went through although the store said otherwise.
func (s *Scheduler) commit(ctx context.Context, results ...*queue.Result) error {
	var m *queue.Message // one of those that are written: all are, or none
	for _, r := range results {
		if r.Message != nil {
			m = r.Message
		}
	}
	tried, err := s.persist(ctx, func() error { return s.write(ctx, results...) })
	if errors.Is(err, queue.ErrConflict) && tried > 0 && m != nil {
		stored, readErr := s.Store.Message(ctx, m.ID)
		if readErr == nil && stored.Version == m.Version+1 && stored.State == m.State && stored.Total == m.Total {
			raise(results)
			err = nil
		}
	}
	if err == nil {
		for _, r := range results {
			s.recorded(r)
		}
	}
	return err
}

// raise gives messages the versions that they were stored under.
func raise(results []*queue.Result) {
	seen := map[*queue.Message]bool{}
	for _, r := range results {
		if m := r.Message; m != nil && !seen[m] {
			seen[m] = true
			m.Version++
		}
	}
}

// recorded tells metrics, log and timer what the store now holds.
func (s *Scheduler) recorded(r *queue.Result) {
	s.metrics.recorded(r)
	for _, e := range r.Events {
		s.Log.LogAttrs(context.Background(), level(e.Type), e.Text, attrs(e)...)
	}
	if r.Message != nil {
		s.timer(r.Message.Timer())
	}
}

// letterOf loads the letter that a message stands under, nil if none.
func (s *Scheduler) letterOf(ctx context.Context, m queue.Message) (*queue.Letter, error) {
	if m.Letter == "" {
		return nil, nil
	}
	l, err := s.Store.Letter(ctx, m.Letter)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, &badRow{m.ID, "its letter " + m.Letter + " is gone"}
	}
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// input fills what every trigger of queue.Next may need.
func (s *Scheduler) input(ctx context.Context, t queue.Trigger, m queue.Message, now time.Time) (queue.Input, error) {
	in := queue.Input{Trigger: t, At: now, Fire: s.Chance()}
	var err error
	if in.LetterID, err = s.newID(now); err != nil {
		return in, err
	}
	in.Letter, err = s.letterOf(ctx, m)
	return in, err
}

// event begins an event about a lane.
func (l *line) event(t queue.EventType, now time.Time, by fault.Actor, text string) queue.Event {
	return queue.Event{At: now, Type: t, Partner: l.partner, Lane: l.key, Outage: l.lane.Outage, Actor: by, Text: text}
}
