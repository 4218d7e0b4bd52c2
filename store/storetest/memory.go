package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"edigw/queue"
)

// Memory is a store in memory for tests of the layers above. It keeps the
// contract but for durability and backups, runs no goroutine and blocks on
// nothing but its mutex, so that it works inside testing/synctest.
type Memory struct {
	mu        sync.Mutex
	seq       int64
	messages  map[string]queue.Message
	lined     map[string]map[string]bool // lane → ids of queued and waiting messages
	builds    map[string][]queue.Build
	attempts  map[string][]queue.Attempt
	letters   map[string]queue.Letter
	made      []string // ids of letters in the order in which they were made
	lanes     map[string]queue.Lane
	delivered map[string]int64 // lane → highest Seq that overtook
	outages   map[string]queue.Outage
	isolation queue.Isolation
	series    map[string]int64
	events    []queue.Event
	lastEvent int64
	jobs      map[string]queue.ReplayJob
	jobsMade  []string
	items     map[string][]queue.ReplayItem
	gone      map[string]bool // wire and payload files whose row was forgotten
}

var _ Store = (*Memory)(nil)

// NewMemory gives an empty store.
func NewMemory() *Memory {
	return &Memory{
		messages: map[string]queue.Message{}, lined: map[string]map[string]bool{}, builds: map[string][]queue.Build{}, attempts: map[string][]queue.Attempt{},
		letters: map[string]queue.Letter{}, lanes: map[string]queue.Lane{}, delivered: map[string]int64{}, outages: map[string]queue.Outage{},
		series: map[string]int64{}, jobs: map[string]queue.ReplayJob{}, items: map[string][]queue.ReplayItem{}, gone: map[string]bool{},
	}
}

// undo is what takes back a transaction, to be run from the last step.
type undo []func()

// set changes one entry of a map so that it can be taken back.
func set[V any](u *undo, m map[string]V, key string, value V) {
	old, had := m[key]
	m[key] = value
	*u = append(*u, func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

// assign changes a variable so that it can be taken back.
func assign[V any](u *undo, p *V, value V) {
	old := *p
	*p = value
	*u = append(*u, func() { *p = old })
}

// write runs one transaction: everything or nothing.
func (s *Memory) write(ctx context.Context, fn func(u *undo) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var u undo
	err := fn(&u)
	if err != nil {
		for _, back := range slices.Backward(u) {
			back()
		}
	}
	return err
}

// Accept admits an arrival.
func (s *Memory) Accept(ctx context.Context, a queue.Arrival) (ad queue.Admission, err error) {
	err = s.write(ctx, func(u *undo) error {
		m := a.Message
		work := s.work(m.Lane)
		ad, err = queue.Admit(a, s.editions(m.Partner, m.Key), queue.Backlog{Messages: work.Depth, Bytes: work.Bytes})
		if err != nil {
			return err
		}
		var raise []func()
		for i := range ad.Results {
			if err := s.record(u, &ad.Results[i], &raise, map[any]bool{}); err != nil {
				return err
			}
		}
		for _, f := range raise {
			f()
		}
		if ad.Outcome == queue.AdmitNew || ad.Outcome == queue.AdmitParked {
			ad.Message = *ad.Results[len(ad.Results)-1].Message
		}
		return nil
	})
	if err != nil {
		return queue.Admission{}, err
	}
	return ad, nil
}

// Message gives a message by its id.
func (s *Memory) Message(ctx context.Context, id string) (queue.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.messages[id]
	if !ok {
		return queue.Message{}, fmt.Errorf("message %s: %w", id, queue.ErrNotFound)
	}
	return s.view(m), ctx.Err()
}

// view lays over a message what its lane knows.
func (s *Memory) view(m queue.Message) queue.Message {
	if !m.State.Terminal() && m.Seq < s.delivered[m.Lane] {
		m.Overtaken = true
	}
	return m
}

// viewLetter lays over a letter what its lane knows.
func (s *Memory) viewLetter(l queue.Letter) queue.Letter {
	if l.Status == queue.LetterOpen && l.Seq < s.delivered[l.Lane] {
		l.Overtaken = true
	}
	return l
}

// Carried finds the newest outbound message of a Message-ID.
func (s *Memory) Carried(ctx context.Context, messageID string) (queue.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := bare(messageID)
	found := s.find(func(m queue.Message) bool {
		return m.Direction != queue.In && m.State != queue.Refused && want != "" && bare(m.MessageID) == want
	})
	if len(found) == 0 {
		return queue.Message{}, fmt.Errorf("Message-ID %.200q: %w", messageID, queue.ErrNotFound)
	}
	return found[len(found)-1], ctx.Err()
}

// find gives the messages that fit, by Seq.
func (s *Memory) find(fits func(queue.Message) bool) []queue.Message {
	var found []queue.Message
	for _, m := range s.messages {
		if m = s.view(m); fits(m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, bySeq)
	return found
}

func bySeq(a, b queue.Message) int { return int(a.Seq - b.Seq) }

// Editions gives the messages of a key.
func (s *Memory) Editions(ctx context.Context, partner, key string) ([]queue.Edition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.editions(partner, key), ctx.Err()
}

func (s *Memory) editions(partner, key string) []queue.Edition {
	var all []queue.Edition
	for _, m := range s.find(func(m queue.Message) bool {
		return key != "" && m.Partner == partner && m.Key == key && m.State != queue.Refused
	}) {
		e := queue.Edition{Message: m}
		if l, ok := s.letters[m.Letter]; ok && l.Status != queue.LetterClosed {
			l = s.viewLetter(l)
			e.Letter = &l
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b queue.Edition) int { return a.Message.Edition - b.Message.Edition })
	return all
}

// Builds gives the builds of a message, oldest first.
func (s *Memory) Builds(ctx context.Context, message string) ([]queue.Build, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.builds[message]), ctx.Err()
}

// Attempts gives the attempts of a message, oldest first.
func (s *Memory) Attempts(ctx context.Context, message string) ([]queue.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts[message]), ctx.Err()
}

// Backup is not possible: errors.ErrUnsupported.
func (s *Memory) Backup(context.Context, string) error {
	return fmt.Errorf("storetest: backup of a store in memory: %w", errors.ErrUnsupported)
}

// Close does nothing.
func (s *Memory) Close() error { return nil }
