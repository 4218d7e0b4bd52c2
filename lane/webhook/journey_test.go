package webhook

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"edigw/dlq"
	"edigw/fault"
	"edigw/queue"
	"edigw/store/storetest"
)

var kim = fault.Actor{Name: "kim", Role: "operator", From: "192.0.2.7"}

// Each case is a kill at one step of a document's way to the webhook. However
// often it is posted, it has one id; and in the end it was taken.
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		die   func(*site) queue.Message
		posts int
	}{
		{"received, nothing was sent", func(s *site) queue.Message {
			s.awake()
			m := s.receive("1", order)
			s.kill()
			return m
		}, 1},
		{"the webhook has it and has not answered", func(s *site) queue.Message {
			begun := make(chan struct{})
			s.hook.play(func(w http.ResponseWriter, q *http.Request) { close(begun); silence(w, q) })
			s.start()
			m := s.receive("1", order)
			<-begun
			s.kill()
			return m
		}, 2},
		{"the webhook has taken it, which could not be recorded", func(s *site) queue.Message {
			answered := make(chan struct{})
			s.hook.play(func(w http.ResponseWriter, _ *http.Request) {
				s.live.store.dead.Store(true)
				w.WriteHeader(http.StatusOK)
				close(answered)
			})
			s.start()
			m := s.receive("1", order)
			<-answered
			s.kill()
			return m
		}, 2},
		{"all is recorded", func(s *site) queue.Message {
			s.start()
			m := s.receive("1", order)
			s.ends(m, queue.Delivered, queue.Delivered)
			s.kill()
			return m
		}, 1},
	} {
		for name, open := range stores {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, open(t))
				m := tt.die(s)
				s.start()
				s.ends(m, queue.Delivered, queue.Delivered)
				other := s.receive("2", order+"2")
				s.ends(other, queue.Delivered, queue.Delivered) // what would go out again stood before it
				all := s.hook.all()
				first := all[:len(all)-1]
				if len(first) != tt.posts {
					t.Errorf("%d posts, want %d", len(first), tt.posts)
				}
				for _, p := range first {
					if p.header.Get("webhook-id") != m.ID || p.body != order {
						t.Errorf("posted under %s: %q", p.header.Get("webhook-id"), p.body)
					}
				}
			})
		}
	}
}

// replay sends a letter out again. For a moment after it was made its exchange
// counts as running.
func (s *site) replay(p *process, letter string) {
	s.Helper()
	s.until("letter "+letter+" is replayed", func() bool {
		_, err := p.letters.Replay(s.Context(), letter, dlq.Ask{Actor: kim})
		var busy *dlq.ConflictError
		if err != nil && !errors.As(err, &busy) {
			s.Fatal(err)
		}
		return err == nil
	})
}

// The letter of a post is one like any other; what becomes of it is recorded on
// the document in the same transaction.
func TestLetterOfAPost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		act    func(*site, *process, string) error
		state  queue.State // of the document
		posted queue.State
		detail string
		events map[queue.EventType]int // about the document
	}{
		{"replayed", func(s *site, p *process, id string) error {
			s.replay(p, id)
			return nil
		}, queue.Delivered, queue.Delivered, "taken by the webhook", map[queue.EventType]int{queue.EventDelivered: 1}},
		{"replayed and refused again", func(s *site, p *process, id string) error {
			s.hook.play(status(410))
			s.replay(p, id)
			s.until("it came again", func() bool { return len(s.hook.all()) == 2 })
			return nil
		}, queue.Received, queue.Dead, "its webhook post is a dead letter: ", nil},
		{"settled", func(s *site, p *process, id string) error {
			_, err := p.letters.Settle(s.Context(), id, dlq.Ask{Actor: kim, Note: "booked by hand"})
			return err
		}, queue.Delivered, queue.Delivered, "its webhook post was closed as delivered by hand: booked by hand", map[queue.EventType]int{queue.EventDelivered: 1}},
		{"discarded", func(s *site, p *process, id string) error {
			_, err := p.letters.Discard(s.Context(), id, dlq.Ask{Actor: kim, Note: "a test file"})
			return err
		}, queue.Discarded, queue.Discarded, "its webhook post was discarded: a test file", map[queue.EventType]int{queue.EventCancelled: 1}},
	} {
		for name, open := range stores {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, open(t))
				s.hook.play(status(410))
				p := s.start()
				m := s.receive("1", order)
				_, post := s.ends(m, queue.Received, queue.Dead)
				if err := tt.act(s, p, post.Letter); err != nil {
					t.Fatal(err)
				}
				got, _ := s.ends(m, tt.state, tt.posted)
				if !strings.HasPrefix(got.Detail, tt.detail) || got.State.Terminal() == got.Finished.IsZero() {
					t.Errorf("the document says %q, finished %v", got.Detail, got.Finished)
				}
				events, err := s.store.Events(t.Context(), 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[queue.EventType]int{}
				for _, e := range events {
					if e.Message == m.ID {
						seen[e.Type]++
					}
				}
				for e, n := range tt.events {
					if seen[e] != n {
						t.Errorf("%d events %s of the document, want %d", seen[e], e, n)
					}
				}
			})
		}
	}
}

// While it is replayed the document says that it waits.
func TestReplayedPostIsNoLetterToTheDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	s.hook.play(status(410), silence)
	p := s.start()
	m := s.receive("1", order)
	_, post := s.ends(m, queue.Received, queue.Dead)
	s.replay(p, post.Letter)
	s.until("it is sent again", func() bool { return len(s.hook.all()) == 2 })
	if got := s.message(m.ID); got.State != queue.Received || got.Detail != "waits for its webhook" {
		t.Errorf("%s: %s", got.State, got.Detail)
	}
	s.kill()
}

// A cancelled post ends its document too.
func TestCancelledPostEndsItsDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t, storetest.NewMemory())
	p := s.awake()
	m := s.receive("1", order)
	if _, err := p.letters.Cancel(t.Context(), s.post(m).ID, dlq.Ask{Actor: kim, Note: "not wanted"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.ends(m, queue.Discarded, queue.Discarded); got.Detail != "its webhook post was discarded: not wanted" {
		t.Errorf("it says %q", got.Detail)
	}
}
