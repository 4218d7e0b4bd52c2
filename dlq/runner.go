package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// How often the runner looks and how much it does at once.
const (
	batch     = 100                    // letters replayed in one transaction
	share     = 20                     // of these, of one partner
	sweepWait = 500 * time.Millisecond // between looks at what became of replayed letters
	lookAgain = time.Second            // while a partner does not answer, or its window is closed
	firstRest = time.Second            // after a fault of the store
	lastRest  = 10 * time.Second
)

// Run works bulk replays off until ctx ends: those that are frozen while it
// runs and those that an earlier process left unfinished. It is called once.
// A fault of the store is logged and tried again, for ever.
func (s *Service) Run(ctx context.Context) {
	works := map[string]*work{}
	stale, rest, said := true, time.Duration(0), ""
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.poke:
			stale = true
		case <-timer.C:
		}
		next, err := s.round(ctx, works, stale)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if text := err.Error(); text != said {
				s.Log.Error("bulk replays stand still, the store does not answer as it should; trying again", keyErr, err)
				said = text
			}
			rest = min(max(2*rest, firstRest), lastRest)
			stale = true
			timer.Reset(rest)
			continue
		}
		stale, rest, said = false, 0, ""
		if next.IsZero() {
			timer.Stop()
			continue
		}
		timer.Reset(max(0, next.Sub(s.Now())))
	}
}

// round gives every unfinished bulk replay a turn and says when the next is
// due, zero if there is nothing left to do.
func (s *Service) round(ctx context.Context, works map[string]*work, stale bool) (next time.Time, err error) {
	if stale {
		if err := s.unfinished(ctx, works); err != nil {
			return time.Time{}, err
		}
	}
	for _, id := range sorted(works) {
		due, finished, err := s.advance(ctx, works[id])
		if err != nil {
			works[id].lines = nil // what was read may be old
			return time.Time{}, fmt.Errorf("bulk replay %s: %w", id, err)
		}
		if finished {
			delete(works, id)
			continue
		}
		next = instant.Sooner(next, due)
	}
	s.pace.forget(s.Now())
	return next, nil
}

// unfinished finds the bulk replays with letters to replay or on their way.
func (s *Service) unfinished(ctx context.Context, works map[string]*work) error {
	running, err := s.Store.ReplayJobs(ctx, queue.ReplayRunning)
	if err != nil {
		return err
	}
	all, err := s.Store.ReplayJobs(ctx, "")
	if err != nil {
		return err
	}
	for _, j := range append(running, all...) {
		if works[j.ID] == nil && s.whole(j) && (j.Status == queue.ReplayRunning || underWay(j.Counts) > 0) {
			works[j.ID] = &work{id: j.ID}
		}
	}
	return nil
}

// whole reports whether the row of a bulk replay can be read. One that cannot
// stands still, and holds up no other: what it was allowed to do is not known.
func (s *Service) whole(j queue.ReplayJob) bool {
	if j.Damaged != "" {
		s.Log.Error("a bulk replay stands still: what is stored of it is damaged; replay the rest of its letters anew", keyJob, j.ID, keyErr, j.Damaged)
	}
	return j.Damaged == ""
}

// underWay is how many replayed letters have not come to an end.
func underWay(c queue.ReplayCounts) int { return c.Replayed - c.Delivered - c.DiedAgain }

// advance does what is due for one bulk replay. It is finished if nothing will
// be unless somebody resumes it.
func (s *Service) advance(ctx context.Context, w *work) (next time.Time, finished bool, err error) {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	j, err := s.Store.ReplayJob(ctx, w.id)
	if err != nil {
		return time.Time{}, false, err
	}
	if !s.whole(j) {
		return time.Time{}, true, nil
	}
	var changed []queue.ReplayItem
	if j.Status == queue.ReplayRunning && j.Counts.Pending > 0 {
		if changed, next, err = s.hand(ctx, w, &j); err != nil {
			return time.Time{}, false, err
		}
	}
	if now := s.Now(); underWay(j.Counts) > 0 {
		if !now.Before(w.sweepAt) {
			ended, err := s.sweep(ctx, w, &j)
			if err != nil {
				return time.Time{}, false, err
			}
			changed = append(changed, ended...)
			w.sweepAt = now.Add(sweepWait)
		}
		next = instant.Sooner(next, w.sweepAt)
	}
	done := j.Status == queue.ReplayRunning && j.Counts.Pending == 0 && underWay(j.Counts) == 0
	var end []queue.Event
	if done {
		end = []queue.Event{s.finish(&j)}
	}
	if len(changed) > 0 || done {
		if err := s.Store.SaveReplay(ctx, j, end, changed...); err != nil {
			return time.Time{}, false, err
		}
	}
	if done {
		s.audited(end[0], j)
		s.replay.Observe(j.Finished.Sub(j.Created).Seconds())
	}
	finished = j.Status != queue.ReplayRunning && underWay(j.Counts) == 0
	return next, finished, nil
}

// finish ends a bulk replay of which every letter has come to an end.
func (s *Service) finish(j *queue.ReplayJob) queue.Event {
	c := j.Counts
	text := fmt.Sprintf("finished: %d of %d delivered, %d failed again, %d left out, %d not possible", c.Delivered, c.Total, c.DiedAgain, c.Skipped, c.Failed)
	e := s.audit(*j, fault.Actor{}, text)
	j.Status, j.Finished = queue.ReplayDone, s.Now()
	return e
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
