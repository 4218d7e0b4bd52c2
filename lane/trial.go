package lane

import (
	"context"
	"slices"
	"time"

	"edigw/breaker"
	"edigw/queue"
)

// tryNetwork sends one waiting message or connection check out, the partners
// in turn.
func (s *Scheduler) tryNetwork() {
	defer s.work.Done()
	iso := s.net.now()
	id := s.candidate(iso.Turn)
	if !iso.On() || id == "" {
		return
	}
	iso = s.net.turn(id)
	if err := s.write(s.base, &queue.Result{Isolation: &iso}); err != nil {
		s.Log.Error("the isolation could not be recorded", keyErr, err)
	}
	l := s.hold(queue.LaneKey(id, queue.KindDocument))
	defer s.done(l)
	l.mu.Lock()
	l.pass = true
	l.mu.Unlock()
	s.due(l, s.Now())
}

// candidate is the partner after last, in turn, that may be contacted: of
// those with a lane in memory, which is where something waits, else of all.
func (s *Scheduler) candidate(last string) string {
	now := s.Now()
	var lines []*line
	s.mu.Lock()
	for _, l := range s.lines {
		if l.kind == queue.KindDocument {
			lines = append(lines, l)
		}
	}
	s.mu.Unlock()
	var ids []string
	present := map[string]bool{}
	for _, l := range lines {
		present[l.partner] = true
		if o := l.obstacle(now, queue.Isolation{}); o.state == "" && !l.settings().pulled {
			ids = append(ids, l.partner)
		}
	}
	if len(ids) == 0 {
		for _, id := range s.Partners.IDs() {
			p, ok := s.Partners.Partner(id)
			if !ok || p.Misconfigured || present[id] || p.AS4 != nil && p.AS4.Pulled() {
				continue
			}
			if open, _, _, _ := p.Lane.Calendar.Open(now); open {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if id > last {
			return id
		}
	}
	if len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// trial uses the lane's turn to try the network.
func (l *line) trial(ctx context.Context, now time.Time, set settings) (time.Time, error) {
	if l.checking {
		return time.Time{}, nil
	}
	if l.lane.Breaker.Now() == breaker.Closed && len(l.running) == 0 {
		c, err := l.choose(ctx, now, set, 1)
		if err != nil {
			return time.Time{}, err
		}
		if c.ok && !late(c.m, now) && l.s.slots.take(l, c.m.Payload.Size) {
			l.launch(c.m, now, set, true)
			return time.Time{}, nil
		}
	}
	return time.Time{}, l.check(ctx, now, set)
}
