package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// claimed takes what a test calls itself for the partner's name.
func claimed(r *http.Request) (string, bool) {
	name := r.Header.Get("AS2-From")
	return name, strings.HasPrefix(name, "partner")
}

// queuer asks a guard and stays inside until it is released.
type queuer struct {
	*guard
	inside, release chan struct{}
	done            chan int
	held            int
}

func newQueuer() *queuer {
	q := &queuer{inside: make(chan struct{}), release: make(chan struct{}), done: make(chan int)}
	q.guard = newGuard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { q.inside <- struct{}{}; <-q.release }), 1000, claimed)
	return q
}

func (q *queuer) ask(name, from string, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/as2", strings.NewReader(""))
	r.RemoteAddr, r.ContentLength = from, length
	r.Header.Set("AS2-From", name)
	w := httptest.NewRecorder()
	q.ServeHTTP(w, r)
	return w
}

// hold lets n requests in.
func (q *queuer) hold(n int, name, from string) {
	for range n {
		go func() { q.done <- q.ask(name, from, 0).Code }()
		<-q.inside
	}
	q.held += n
}

// end lets all of them out.
func (q *queuer) end(t *testing.T) {
	t.Helper()
	close(q.release)
	for range q.held {
		if got := <-q.done; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	if q.all != 0 || q.unknown != 0 || len(q.from)+len(q.partners)+len(q.strangers) != 0 {
		t.Errorf("left: %d requests, %d of strangers, %v, %v, %v", q.all, q.unknown, q.from, q.partners, q.strangers)
	}
}

func TestGuardBoundsRequestsAtOnce(t *testing.T) {
	t.Parallel()
	q := newQueuer()
	q.hold(mostFromOne, "partner-a", "192.0.2.1:1")
	if got := q.ask("partner-b", "192.0.2.1:2", 0).Code; got != http.StatusServiceUnavailable {
		t.Errorf("one more from the same address: %d, want 503", got)
	}
	if got := q.ask("partner-a", "192.0.2.2:2", 0).Code; got != http.StatusServiceUnavailable {
		t.Errorf("one more of the same partner: %d, want 503", got)
	}
	q.hold(1, "partner-b", "192.0.2.2:1") // another one is served
	if got := q.ask("partner-b", "192.0.2.3:1", 1001).Code; got != http.StatusRequestEntityTooLarge {
		t.Errorf("announced too long: %d, want 413", got)
	}
	q.end(t)
}

// TestStrangersShutOutOnlyStrangers: whatever they open, from wherever, every
// partner has his share, and none of theirs is kept idle.
func TestStrangersShutOutOnlyStrangers(t *testing.T) {
	t.Parallel()
	q := newQueuer()
	for i := range mostStrangers / strangersOne {
		from := fmt.Sprintf("192.0.2.%d:1", i)
		q.hold(strangersOne, "A", from)
		if got := q.ask("B", from, 0).Code; got != http.StatusServiceUnavailable {
			t.Errorf("one more stranger from %s: %d, want 503", from, got)
		}
	}
	if w := q.ask("C", "[2001:db8::1]:1", 0); w.Code != http.StatusServiceUnavailable || w.Header().Get("Connection") != "close" {
		t.Errorf("one more stranger: %d, %v", w.Code, w.Header())
	}
	for i := range (mostBodies - mostStrangers) / mostOfPartner {
		q.hold(mostOfPartner, fmt.Sprint("partner-", i), fmt.Sprintf("198.51.100.%d:1", i))
	}
	q.end(t)
}

func TestGuardEndsASlowBody(t *testing.T) {
	t.Parallel()
	var set []time.Time
	now := time.Now()
	body := func(since time.Duration, read int64) *watched {
		return &watched{ReadCloser: io.NopCloser(strings.NewReader("abc")), deadline: func(at time.Time) error { set = append(set, at); return nil }, begin: now.Add(-since), read: read}
	}
	if _, err := body(0, 0).Read(make([]byte, 1)); err != nil || len(set) != 1 || set[0].Sub(now) > bodyStall+time.Minute {
		t.Fatalf("%v, deadlines %v", err, set)
	}
	stranger := body(strangerTime-time.Second/2, 1<<30)
	stranger.last = stranger.begin.Add(strangerTime)
	late := body(strangerTime, 1<<30)
	late.last = late.begin.Add(strangerTime)
	if _, err := stranger.Read(make([]byte, 1)); err != nil && !errors.Is(err, errSlow) || err == nil && set[1] != stranger.last {
		t.Errorf("a stranger within his time: %v, deadlines %v", err, set)
	}
	for name, b := range map[string]*watched{
		"a byte a minute": body(2*bodyStall, 1), "a kilobyte a second for an hour": body(time.Hour, 3600<<10), "a stranger whose time is over": late,
	} {
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, errSlow) {
			t.Errorf("%s: %v, want errSlow", name, err)
		}
	}
	if _, err := body(time.Hour, 3600*slowestLong).Read(make([]byte, 1)); err != nil {
		t.Errorf("slow, but it goes on: %v", err)
	}
}

// TestIdentifiedHasThePartnersShare: whoever begins as a stranger and is known by
// his envelope leaves the strangers' share and time for the partner's, and does
// not where that is used up.
func TestIdentifiedHasThePartnersShare(t *testing.T) {
	t.Parallel()
	q := newQueuer()
	q.hold(mostOfPartner-1, "partner-a", "192.0.2.1:1")
	q.hold(1, "partner-b", "192.0.2.2:1")
	var answers []bool
	q.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body.(*watched)
		for range 2 { // a second time changes nothing
			answers = append(answers, identified(r, "partner-a"))
			known, left := answers[len(answers)-1], body.last.IsZero()
			if kept := w.Header().Get("Connection") == ""; known != left || known != kept {
				t.Errorf("known %t, time without end %t, connection kept %t", known, left, kept)
			}
			if want := map[bool]int{true: 0, false: 1}[known]; q.unknown != want || len(q.strangers) != want || q.partners["partner-a"] != mostOfPartner {
				t.Errorf("known %t: %d strangers, %v", known, q.unknown, q.partners)
			}
		}
		if len(answers) == 2 {
			if w := q.ask("A", "192.0.2.4:1", 0); w.Header().Get("Connection") != "close" {
				t.Error("a stranger's connection is kept")
			}
		}
	})
	q.ask("A", "192.0.2.3:1", 0)
	if want := []bool{true, true, false, false}; !slices.Equal(answers, want) {
		t.Errorf("identified %v, want %v", answers, want)
	}
	if !identified(httptest.NewRequest(http.MethodPost, "/as4", nil), "partner-a") {
		t.Error("without a guard nobody has a share")
	}
	q.end(t)
}
