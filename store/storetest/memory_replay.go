package storetest

import (
	"context"
	"fmt"
	"slices"

	"edigw/queue"
)

// FreezeReplay stores a bulk replay.
func (s *Memory) FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string) (queue.ReplayJob, error) {
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
		j.Counts = queue.ReplayCounts{Total: len(letters), Pending: len(letters)}
		var items []queue.ReplayItem
		for i, l := range letters {
			items = append(items, queue.ReplayItem{Job: j.ID, N: i + 1, Letter: l.ID, Message: l.Message, Partner: l.Partner, Status: "pending"})
			count(&j.Counts.NeverTried, s.messages[l.Message].Total == 0)
			count(&j.Counts.Uncertain, l.Uncertain)
			count(&j.Counts.Overtaken, l.Overtaken)
			count(&j.Counts.Overdue, l.Overdue)
		}
		set(u, s.jobs, j.ID, j)
		set(u, s.items, j.ID, items)
		assign(u, &s.jobsMade, append(s.jobsMade, j.ID))
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
	var all []queue.ReplayItem
	for _, it := range s.items[job] {
		if it.N > after && (status == "" || it.Status == status) && len(all) < limit {
			all = append(all, it)
		}
	}
	return all, ctx.Err()
}

// SaveReplay stores the progress of a bulk replay.
func (s *Memory) SaveReplay(ctx context.Context, j queue.ReplayJob, items ...queue.ReplayItem) error {
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
		return nil
	})
}
