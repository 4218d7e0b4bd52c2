package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// FreezeReplay stores a bulk replay.
func (s *Memory) FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string, events ...queue.Event) (queue.ReplayJob, error) {
	err := s.write(ctx, func(u *undo) error {
		if _, ok := s.jobs[j.ID]; ok || j.ID == "" {
			return fmt.Errorf("replay %q: %w", j.ID, queue.ErrConflict)
		}
		for _, id := range ids {
			if _, ok := s.letters[id]; !ok {
				return fmt.Errorf("letter %.200q: %w", id, queue.ErrNotFound)
			}
		}
		f := j.Filter
		f.Status = queue.LetterOpen
		letters := s.findLetters(func(l queue.Letter) bool {
			if len(ids) > 0 {
				return l.Status == queue.LetterOpen && slices.Contains(ids, l.ID)
			}
			return selects(f, l)
		})
		slices.SortStableFunc(letters, func(a, b queue.Letter) int { return int(a.Seq - b.Seq) })
		j.Counts = queue.ReplayCounts{}
		var items []queue.ReplayItem
		for _, l := range letters {
			if l.Direction == queue.In {
				j.Counts.Inbound++
				continue
			}
			items = append(items, queue.ReplayItem{Job: j.ID, N: len(items) + 1, Letter: l.ID, Message: l.Message, Partner: l.Partner, Status: "pending"})
			j.Counts.Count(l, s.messages[l.Message], j.Created)
		}
		set(u, s.jobs, j.ID, j)
		set(u, s.items, j.ID, items)
		assign(u, &s.jobsMade, append(s.jobsMade, j.ID))
		s.addEvents(u, events)
		return nil
	})
	return j, err
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// ReplayJob gives a bulk replay.
func (s *Memory) ReplayJob(ctx context.Context, id string) (queue.ReplayJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[id]
	if !ok {
		return queue.ReplayJob{}, fmt.Errorf("replay %.80q: %w", id, queue.ErrNotFound)
	}
	return j, ctx.Err()
}

// ReplayJobs gives the bulk replays, newest first.
func (s *Memory) ReplayJobs(ctx context.Context, status queue.ReplayStatus) ([]queue.ReplayJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []queue.ReplayJob
	for _, id := range slices.Backward(s.jobsMade) {
		if j := s.jobs[id]; (status == "" || j.Status == status) && len(all) < 1000 {
			all = append(all, j)
		}
	}
	return all, ctx.Err()
}

// ReplayItems gives the letters of a bulk replay, by N.
func (s *Memory) ReplayItems(ctx context.Context, job, status string, after, limit int) ([]queue.ReplayItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.itemsOf(job, after, limit, func(it queue.ReplayItem) bool { return status == "" || it.Status == status }), ctx.Err()
}

func (s *Memory) itemsOf(job string, after, limit int, fits func(queue.ReplayItem) bool) (all []queue.ReplayItem) {
	for _, it := range s.items[job] {
		if it.N > after && len(all) < limit && fits(it) {
			all = append(all, it)
		}
	}
	return all
}

// ReplayPartners gives the partners with pending letters of a bulk replay.
func (s *Memory) ReplayPartners(ctx context.Context, job, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := map[string]bool{}
	for _, it := range s.items[job] {
		if it.Status == "pending" && it.Partner > after {
			pending[it.Partner] = true
		}
	}
	all := slices.Sorted(maps.Keys(pending))
	return all[:min(limit, len(all))], ctx.Err()
}

// ReplayLine gives the pending letters of one partner in a bulk replay, by N.
func (s *Memory) ReplayLine(ctx context.Context, job, partner string, after, limit int) ([]queue.ReplayItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.itemsOf(job, after, limit, func(it queue.ReplayItem) bool { return it.Status == "pending" && it.Partner == partner }), ctx.Err()
}

// ReplayUnderWay gives the replayed letters of which nothing is noted since.
func (s *Memory) ReplayUnderWay(ctx context.Context, job string, after, limit int) ([]queue.ReplayItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.itemsOf(job, after, limit, func(it queue.ReplayItem) bool { return it.Status == "replayed" && it.Detail == "" }), ctx.Err()
}

// SaveReplay stores the progress of a bulk replay.
func (s *Memory) SaveReplay(ctx context.Context, j queue.ReplayJob, events []queue.Event, items ...queue.ReplayItem) error {
	return s.write(ctx, func(u *undo) error {
		old, ok := s.jobs[j.ID]
		if !ok {
			return fmt.Errorf("replay %.80q: %w", j.ID, queue.ErrNotFound)
		}
		old.Status, old.Counts, old.Finished = j.Status, j.Counts, j.Finished
		set(u, s.jobs, j.ID, old)
		all := slices.Clone(s.items[j.ID])
		for _, it := range items {
			if it.Job != j.ID || it.N < 1 || it.N > len(all) {
				return fmt.Errorf("replay %s has no item %d: %w", j.ID, it.N, queue.ErrNotFound)
			}
			all[it.N-1].Status, all[it.N-1].Detail = it.Status, it.Detail
		}
		set(u, s.items, j.ID, all)
		s.addEvents(u, events)
		return nil
	})
}

// Tally counts the open letters of a selection, by lane and direction.
func (s *Memory) Tally(ctx context.Context, f queue.LetterFilter, forgotten map[string]time.Time, now time.Time) (all []queue.Tally, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Status = queue.LetterOpen
	for _, l := range s.findLetters(func(l queue.Letter) bool { return selects(f, l) }) {
		m := s.messages[l.Message]
		i := slices.IndexFunc(all, func(t queue.Tally) bool { return t.Lane == l.Lane && t.Direction == l.Direction })
		if i < 0 {
			i = len(all)
			all = append(all, queue.Tally{Lane: l.Lane, Partner: l.Partner, Direction: l.Direction})
		}
		t := &all[i]
		t.Counts.Count(l, m, now)
		seen := m.FirstFailure
		if seen.IsZero() {
			seen = m.Accepted
		}
		for _, x := range []struct {
			n   *int
			yes bool
		}{
			{&t.Doubtful, l.Uncertain || m.Uncertain || m.Total > 0 && seen.Before(forgotten[l.Partner])},
			{&t.Changed, m.Parked || l.Reason == fault.ReasonChangedContent},
			{&t.Passed, l.Overtaken || m.Overtaken},
			{&t.Missed, m.Missed(now)},
		} {
			if x.yes {
				*x.n++
			}
		}
	}
	slices.SortFunc(all, func(a, b queue.Tally) int {
		return cmp.Or(strings.Compare(a.Lane, b.Lane), strings.Compare(string(a.Direction), string(b.Direction)))
	})
	return all, ctx.Err()
}
