package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"edigw/queue"
)

// Record writes results together.
func (s *Memory) Record(ctx context.Context, results ...*queue.Result) error {
	return s.write(ctx, func(u *undo) error {
		var raise []func()
		written := map[any]bool{}
		for _, r := range results {
			if err := s.still(r.Message); err != nil {
				return err
			}
			if err := s.record(u, r, &raise, written); err != nil {
				return err
			}
		}
		for _, f := range raise {
			f()
		}
		return nil
	})
}

// still fails with queue.ErrNotFound if m is a new edition of a document that
// retention let go.
func (s *Memory) still(m *queue.Message) error {
	if m == nil || m.Version > 0 || m.Direction == queue.In || m.Previous == "" {
		return nil
	}
	if old, ok := s.messages[m.Previous]; ok && old.Payload.SHA256 == m.Payload.SHA256 && old.Payload.SHA256 != "" && !s.kept("payload", old.ID, old.Payload.SHA256, 0) {
		return fmt.Errorf("the document of message %s is not kept any more: %w", m.Previous, queue.ErrNotFound)
	}
	return nil
}

// record writes one result. What it changes in the values passed in waits in
// raise until the whole transaction is good.
func (s *Memory) record(u *undo, r *queue.Result, raise *[]func(), written map[any]bool) error {
	var seq int64
	if m := r.Message; m != nil && !written[m] {
		written[m] = true
		stored, err := s.putMessage(u, *m)
		if err != nil {
			return err
		}
		seq = stored.Seq
		*raise = append(*raise, func() { m.Seq, m.Version = stored.Seq, stored.Version })
		if r.Overtakes {
			set(u, s.delivered, stored.Lane, max(s.delivered[stored.Lane], stored.Seq))
		}
	}
	if r.Build != nil {
		if err := s.putBuild(u, *r.Build); err != nil {
			return err
		}
	}
	if r.Attempt != nil {
		if err := s.putAttempt(u, *r.Attempt); err != nil {
			return err
		}
	}
	if l := r.Closed; l != nil && !written[l] {
		written[l] = true
		version, err := s.changeLetter(u, *l)
		if err != nil {
			return err
		}
		*raise = append(*raise, func() { l.Version = version })
	}
	if l := r.Opened; l != nil && !written[l] {
		written[l] = true
		stored, err := s.openLetter(u, *l, seq)
		if err != nil {
			return err
		}
		*raise = append(*raise, func() { l.Seq, l.Version = stored.Seq, stored.Version })
	}
	if l := r.Lane; l != nil && !written[l] {
		written[l] = true
		stored, err := s.putLane(u, *l)
		if err != nil {
			return err
		}
		*raise = append(*raise, func() { l.Version = stored.Version })
	}
	if r.Outage != nil {
		set(u, s.outages, r.Outage.ID, *r.Outage)
	}
	if r.Isolation != nil {
		assign(u, &s.isolation, *r.Isolation)
	}
	s.addEvents(u, r.Events)
	return nil
}

func (s *Memory) putMessage(u *undo, m queue.Message) (queue.Message, error) {
	old, exists := s.messages[m.ID]
	if exists != (m.Version > 0) || old.Version != m.Version {
		return m, fmt.Errorf("message %s, version %d: %w", m.ID, m.Version, queue.ErrConflict)
	}
	m.Version++
	if !exists {
		if s.taken(m) {
			return m, fmt.Errorf("message %s: key %.200q of %s has edition %d already: %w", m.ID, m.Key, m.Partner, m.Edition, queue.ErrConflict)
		}
		assign(u, &s.seq, s.seq+1)
		m.Seq = s.seq
	} else {
		if m.Direction != queue.In && m.State != old.State && !queue.Possible(old.State, m.State) {
			return m, fmt.Errorf("message %s: from %s to %s is no transition: %w", m.ID, old.State, m.State, queue.ErrForbidden)
		}
		m.Seq, m.Partner, m.Lane, m.Kind, m.Direction, m.Protocol = old.Seq, old.Partner, old.Lane, old.Kind, old.Direction, old.Protocol
		m.Key, m.KeyGiven, m.Edition, m.Previous, m.MessageID, m.CorrelationID = old.Key, old.KeyGiven, old.Edition, old.Previous, old.MessageID, old.CorrelationID
		m.Actor, m.Source, m.Payload, m.Business, m.Accepted = old.Actor, old.Source, old.Payload, old.Business, old.Accepted
	}
	set(u, s.messages, m.ID, m)
	s.line(u, m)
	return m, nil
}

// line keeps the index of who stands in line.
func (s *Memory) line(u *undo, m queue.Message) {
	lane := s.lined[m.Lane]
	if lane == nil {
		lane = map[string]bool{}
		s.lined[m.Lane] = lane
	}
	switch {
	case m.State.Lined() && !lane[m.ID]:
		set(u, lane, m.ID, true)
	case !m.State.Lined() && lane[m.ID]:
		delete(lane, m.ID)
		*u = append(*u, func() { lane[m.ID] = true })
	}
}

func (s *Memory) taken(m queue.Message) bool {
	if m.State == queue.Refused {
		return false
	}
	for _, e := range s.editions(m.Partner, m.Key) {
		if e.Message.Edition == m.Edition {
			return true
		}
	}
	return false
}

func (s *Memory) putBuild(u *undo, b queue.Build) error {
	if _, ok := s.messages[b.Message]; !ok {
		return fmt.Errorf("build %d of message %s: %w", b.N, b.Message, queue.ErrNotFound)
	}
	all := slices.Clone(s.builds[b.Message])
	i, found := slices.BinarySearchFunc(all, b.N, func(b queue.Build, n int) int { return b.N - n })
	if found {
		all[i] = b
	} else {
		all = slices.Insert(all, i, b)
	}
	set(u, s.builds, b.Message, all)
	return nil
}

func (s *Memory) putAttempt(u *undo, a queue.Attempt) error {
	if _, ok := s.messages[a.Message]; !ok {
		return fmt.Errorf("attempt %d of message %s: %w", a.N, a.Message, queue.ErrNotFound)
	}
	all := slices.Clone(s.attempts[a.Message])
	i, found := slices.BinarySearchFunc(all, a.N, func(a queue.Attempt, n int) int { return a.N - n })
	if found {
		return fmt.Errorf("attempt %d of message %s: %w", a.N, a.Message, queue.ErrConflict)
	}
	set(u, s.attempts, a.Message, slices.Insert(all, i, a))
	return nil
}

func (s *Memory) openLetter(u *undo, l queue.Letter, seq int64) (queue.Letter, error) {
	m, ok := s.messages[l.Message]
	if !ok {
		return l, fmt.Errorf("letter %s of message %s: %w", l.ID, l.Message, queue.ErrNotFound)
	}
	if _, ok := s.letters[l.ID]; ok || l.Version != 0 || l.ID == "" {
		return l, fmt.Errorf("letter %q: %w", l.ID, queue.ErrConflict)
	}
	if seq == 0 {
		seq = m.Seq
	}
	l.Seq, l.Version, l.Last = seq, 1, copied(l.Last)
	set(u, s.letters, l.ID, l)
	assign(u, &s.made, append(s.made, l.ID))
	return l, nil
}

func (s *Memory) changeLetter(u *undo, l queue.Letter) (int64, error) {
	old, ok := s.letters[l.ID]
	if !ok {
		return 0, fmt.Errorf("letter %s: %w", l.ID, queue.ErrNotFound)
	}
	if old.Version != l.Version {
		return 0, fmt.Errorf("letter %s, version %d: %w", l.ID, l.Version, queue.ErrConflict)
	}
	l.Message, l.Seq, l.Partner, l.Lane, l.Protocol, l.Direction, l.Created = old.Message, old.Seq, old.Partner, old.Lane, old.Protocol, old.Direction, old.Created
	l.Version, l.Last = l.Version+1, copied(l.Last)
	set(u, s.letters, l.ID, l)
	return l.Version, nil
}

func copied(a *queue.Attempt) *queue.Attempt {
	if a == nil {
		return nil
	}
	c := *a
	return &c
}

func (s *Memory) putLane(u *undo, l queue.Lane) (queue.Lane, error) {
	old, exists := s.lanes[l.Key]
	if exists != (l.Version > 0) || old.Version != l.Version {
		return l, fmt.Errorf("lane %s, version %d: %w", l.Key, l.Version, queue.ErrConflict)
	}
	l.Version++
	set(u, s.lanes, l.Key, l)
	return l, nil
}

func (s *Memory) addEvents(u *undo, events []queue.Event) {
	if len(events) == 0 {
		return
	}
	all, last := s.events, s.lastEvent
	*u = append(*u, func() { s.events, s.lastEvent = all, last })
	for _, e := range events {
		s.lastEvent++
		e.ID = s.lastEvent
		s.events = append(s.events, e)
	}
}

// AddEvents appends events that belong to no result.
func (s *Memory) AddEvents(ctx context.Context, events ...queue.Event) error {
	return s.write(ctx, func(u *undo) error {
		s.addEvents(u, events)
		return nil
	})
}

// bare is a Message-ID without brackets.
func bare(id string) string { return strings.Trim(id, "<>") }
