package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGuardBoundsRequestsAtOnce(t *testing.T) {
	t.Parallel()
	inside, release := make(chan struct{}), make(chan struct{})
	g := newGuard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside <- struct{}{}; <-release }), 1000)
	ask := func(from string, length int64) int {
		r := httptest.NewRequest(http.MethodPost, "/as2", strings.NewReader(""))
		r.RemoteAddr, r.ContentLength = from, length
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	done := make(chan int)
	for range mostFromOne {
		go func() { done <- ask("192.0.2.1:1", 0) }()
		<-inside
	}
	if got := ask("192.0.2.1:2", 0); got != http.StatusServiceUnavailable {
		t.Errorf("one more from the same address: %d, want 503", got)
	}
	go func() { done <- ask("192.0.2.2:1", 0) }()
	<-inside // another address is served
	if got := ask("192.0.2.3:1", 1001); got != http.StatusRequestEntityTooLarge {
		t.Errorf("announced too long: %d, want 413", got)
	}
	close(release)
	for range mostFromOne + 1 {
		if got := <-done; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	if g.all != 0 || len(g.from) != 0 {
		t.Errorf("%d requests, %d addresses are left", g.all, len(g.from))
	}
}

func TestGuardEndsASlowBody(t *testing.T) {
	t.Parallel()
	var set []time.Time
	b := &watched{ReadCloser: io.NopCloser(strings.NewReader("abc")), deadline: func(at time.Time) error { set = append(set, at); return nil }, begin: time.Now()}
	if _, err := b.Read(make([]byte, 1)); err != nil || len(set) != 1 || time.Until(set[0]) > bodyStall {
		t.Fatalf("%v, deadlines %v", err, set)
	}
	b.begin = time.Now().Add(-2 * bodyStall)
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, errSlow) {
		t.Errorf("a byte a minute: %v, want errSlow", err)
	}
}
