package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Ready gives messages of a lane that are queued or waiting.
func (s *Memory) Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) (ready []queue.Message, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.standing(lane)
	n := min(limit, len(all))
	if !inOrder {
		slices.SortStableFunc(all, func(a, b queue.Message) int { return a.NextAt.Compare(b.NextAt) })
		for n = 0; n < len(all) && n < limit && !all[n].NextAt.After(now); n++ {
		}
	}
	for _, m := range all[n:] {
		if next.IsZero() || m.NextAt.Before(next) {
			next = m.NextAt
		}
	}
	return all[:n:n], next, ctx.Err()
}

// Buriable gives the oldest messages of a lane that an open breaker may bury.
func (s *Memory) Buriable(ctx context.Context, lane string, except []string, limit int) ([]queue.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(s.standing(lane), func(m queue.Message) bool { return m.Asked || slices.Contains(except, m.ID) })
	return all[:min(limit, len(all))], ctx.Err()
}

// standing is the line of a lane, by Seq.
func (s *Memory) standing(lane string) []queue.Message {
	all := make([]queue.Message, 0, len(s.lined[lane]))
	for id := range s.lined[lane] {
		all = append(all, s.view(s.messages[id]))
	}
	slices.SortFunc(all, bySeq)
	return all
}

// work counts what a lane has to do.
func (s *Memory) work(lane string) queue.Work {
	w := queue.Work{Lane: lane}
	for _, m := range s.find(func(m queue.Message) bool { return m.Lane == lane && (m.State.Lined() || m.State == queue.Sending) }) {
		if w.Depth == 0 {
			w.Partner, w.Oldest = m.Partner, m.Accepted
		}
		w.Depth++
		w.Bytes += m.Payload.Size
		if m.State.Lined() && (w.NextAt.IsZero() || m.NextAt.Before(w.NextAt)) {
			w.NextAt = m.NextAt
		}
	}
	return w
}

// Agenda gives the lanes that have something to do, by lane.
func (s *Memory) Agenda(ctx context.Context) ([]queue.Work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := map[string]bool{}
	for _, m := range s.messages {
		if m.State.Lined() || m.State == queue.Sending {
			lanes[m.Lane] = true
		}
	}
	var all []queue.Work
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		all = append(all, s.work(lane))
	}
	return all, ctx.Err()
}

// LaneWork gives what one lane has to do.
func (s *Memory) LaneWork(ctx context.Context, lane string) (queue.Work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work(lane), ctx.Err()
}

// Timers gives the messages that time alone changes, by time.
func (s *Memory) Timers(ctx context.Context, now time.Time, limit int) (due []queue.Message, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.find(func(m queue.Message) bool { return !m.Timer().IsZero() })
	slices.SortStableFunc(all, func(a, b queue.Message) int { return a.Timer().Compare(b.Timer()) })
	n := 0
	for n < len(all) && n < limit && !all[n].Timer().After(now) {
		n++
	}
	if n < len(all) {
		next = all[n].Timer()
	}
	return all[:n:n], next, ctx.Err()
}

// Unfinished gives the messages that another incarnation was sending.
func (s *Memory) Unfinished(ctx context.Context, incarnation string, limit int) ([]queue.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.find(func(m queue.Message) bool { return m.State == queue.Sending && m.Incarnation != incarnation })
	return all[:min(limit, len(all))], ctx.Err()
}

// Lanes gives the lanes that have a row, by key.
func (s *Memory) Lanes(ctx context.Context) ([]queue.Lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.lanes), func(a, b queue.Lane) int { return cmp.Compare(a.Key, b.Key) }), ctx.Err()
}

// Lane gives one lane that has a row.
func (s *Memory) Lane(ctx context.Context, key string) (queue.Lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[key]
	if !ok {
		return queue.Lane{}, fmt.Errorf("lane %s: %w", key, queue.ErrNotFound)
	}
	return l, ctx.Err()
}

// Isolation gives the state of our own network.
func (s *Memory) Isolation(ctx context.Context) (queue.Isolation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isolation, ctx.Err()
}

// NextNumber counts a series from 1.
func (s *Memory) NextNumber(ctx context.Context, series string) (n int64, err error) {
	err = s.write(ctx, func(u *undo) error {
		n = s.series[series] + 1
		set(u, s.series, series, n)
		return nil
	})
	return n, err
}

// Census counts what each lane has.
func (s *Memory) Census(ctx context.Context) (c queue.Census, err error) {
	all, err := s.Depths(ctx)
	for _, d := range all {
		n := queue.LaneCount{Lane: d.Lane, Partner: d.Partner, Lined: d.Lined, Acks: d.Acks, First: d.First}
		for _, open := range d.Letters {
			n.Letters += open
		}
		c.Lanes = append(c.Lanes, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.findLetters(func(l queue.Letter) bool { return l.Status == queue.LetterOpen }); len(open) > 0 {
		c.Oldest = open[0].Created
	}
	return c, err
}

// PartnerDepths gives the depths of one partner's lanes.
func (s *Memory) PartnerDepths(ctx context.Context, partner string) ([]queue.Depth, error) {
	all, err := s.Depths(ctx)
	return slices.DeleteFunc(all, func(d queue.Depth) bool { return d.Partner != partner }), err
}

// Depths gives the lanes with anything waiting or dead, by lane.
func (s *Memory) Depths(ctx context.Context) ([]queue.Depth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := map[string]*queue.Depth{}
	of := func(lane, partner string) *queue.Depth {
		if lanes[lane] == nil {
			lanes[lane] = &queue.Depth{Lane: lane, Partner: partner}
		}
		return lanes[lane]
	}
	for _, m := range s.find(func(m queue.Message) bool { return !m.State.Terminal() }) {
		switch {
		case m.State.Lined() || m.State == queue.Sending:
			d := of(m.Lane, m.Partner)
			if d.Lined == 0 {
				d.Oldest = m.Accepted
			}
			d.Lined++
			d.Bytes += m.Payload.Size
			if m.State.Lined() && !m.Overdue && !m.DeliverBy.IsZero() && (d.First.IsZero() || m.DeliverBy.Before(d.First)) {
				d.First = m.DeliverBy
			}
		case m.State == queue.AwaitingAck:
			of(m.Lane, m.Partner).Acks++
		}
	}
	for _, l := range s.letters {
		if l.Status != queue.LetterOpen {
			continue
		}
		d := of(l.Lane, l.Partner)
		if d.Letters == nil {
			d.Letters = map[fault.Reason]int{}
		}
		d.Letters[l.Reason]++
		if d.OldestL.IsZero() || l.Created.Before(d.OldestL) {
			d.OldestL = l.Created
		}
	}
	var all []queue.Depth
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		all = append(all, *lanes[lane])
	}
	return all, ctx.Err()
}
