package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"edigw/internal/instant"
	"edigw/queue"
)

// How notifications are tried again. Waits double from the first to the
// longest.
const (
	firstWait   = 5 * time.Second
	longestWait = 5 * time.Minute // of a channel that cannot be reached
	refusedWait = time.Hour       // of what the other side refuses
	sendLimit   = 2 * time.Minute // for one try
	redAfter    = 3               // failures in a row
	idle        = time.Minute     // how long a sender sleeps at most: clocks jump
	atOnce      = 20
)

// sender takes the notifications of one channel to it, one at a time. No other
// channel waits for it.
type sender struct {
	channel Channel
	records Outbox
	active  func() bool // the settings name the channel
	now     func() time.Time
	log     *slog.Logger
	count   func(channel string, ok bool)
	poke    chan struct{}
	wake    func() // the pipeline has something to read

	sending sync.Mutex // one Send at a time

	mu     sync.Mutex
	row    int // failures in a row
	since  time.Time
	red    bool
	cause  string
	last   time.Time
	paused time.Time // nothing is tried before
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.poke:
		}
		timer.Reset(max(s.round(ctx), 10*time.Millisecond))
	}
}

// round sends what is due and says how long to sleep.
func (s *sender) round(ctx context.Context) time.Duration {
	if !s.active() {
		return idle
	}
	now := s.now()
	if wait := s.pause(now); wait > 0 {
		return min(wait, idle)
	}
	due, next, err := s.records.DueNotifications(ctx, s.channel.Name(), now, atOnce)
	if err != nil {
		s.log.Error("notifications cannot be read", keyChannel, s.channel.Name(), keyErr, err)
		return firstWait
	}
	for _, n := range due {
		if ctx.Err() != nil || s.pause(s.now()) > 0 {
			return 0
		}
		s.one(ctx, n)
	}
	switch {
	case len(due) == atOnce:
		return 0
	case next.IsZero():
		return idle
	}
	return min(max(next.Sub(s.now()), 0), idle)
}

// pause is how long nothing may be tried.
func (s *sender) pause(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.paused.Sub(now)
	if wait > refusedWait+time.Minute { // the clock was put back
		s.paused, wait = time.Time{}, 0
	}
	return wait
}

// one tries one notification and records what came of it. The record is tried
// until it succeeds, so that what was sent is not sent again.
func (s *sender) one(ctx context.Context, n Notification) {
	err := s.send(ctx, n)
	if err != nil && ctx.Err() != nil {
		return // stopping: tried again at the next start
	}
	now := s.now()
	events := s.judge(&n, err, now)
	s.count(s.channel.Name(), err == nil)
	for wait := firstWait / 5; ; wait = min(2*wait, longestWait) {
		saved := s.records.SaveNotification(context.WithoutCancel(ctx), n, events...)
		if saved == nil {
			break
		}
		if errors.Is(saved, queue.ErrNotFound) {
			s.log.Error("a notification is gone from the store", keyNotification, n.ID)
			return
		}
		s.log.Error("what became of a notification is not recorded yet", keyNotification, n.ID, keyErr, saved)
		if !instant.Rest(ctx, wait) {
			return
		}
	}
	if len(events) > 0 {
		s.wake()
	}
}

// send keeps a channel's defect from ending the sender.
func (s *sender) send(ctx context.Context, n Notification) (err error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the channel has a defect: %.200v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return s.channel.Send(ctx, n)
}

// judge notes the outcome of a try in n and in the channel's condition, and
// gives the event if that changed.
func (s *sender) judge(n *Notification, err error, now time.Time) []queue.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Attempts++
	if err == nil {
		n.Sent, n.Problem, n.Left = now, "", nil
		was := s.red
		s.row, s.since, s.red, s.cause, s.last, s.paused = 0, time.Time{}, false, "", now, time.Time{}
		s.log.Info("alert sent", keyChannel, s.channel.Name(), keyNotification, n.ID, "attempts", n.Attempts)
		if was {
			return []queue.Event{s.event(now, "ok", "alert channel "+s.channel.Name()+" works again")}
		}
		return nil
	}
	n.Problem = clip(clean(err.Error()), maxText)
	s.row++
	s.cause = n.Problem
	if s.since.IsZero() {
		s.since = now
	}
	var permanent *PermanentError
	refused := errors.As(err, &permanent)
	if refused {
		n.NextAt = now.Add(backoff(n.Attempts, time.Minute, refusedWait))
	} else {
		wait := backoff(s.row, firstWait, longestWait)
		var temporary *TemporaryError
		if errors.As(err, &temporary) {
			wait = max(wait, min(temporary.After, refusedWait))
			if len(temporary.Left) > 0 {
				n.Left = slices.Clone(temporary.Left)
			}
		}
		n.NextAt, s.paused = now.Add(wait), now.Add(wait)
	}
	s.log.Warn("alert not sent; it is tried again", keyChannel, s.channel.Name(), keyNotification, n.ID, "attempts", n.Attempts, "next", n.NextAt, keyErr, n.Problem)
	if s.red || !refused && s.row < redAfter {
		return nil
	}
	s.red = true
	return []queue.Event{s.event(now, "failing", "alert channel "+s.channel.Name()+" fails: "+n.Problem)}
}

func (s *sender) event(now time.Time, state, text string) queue.Event {
	return queue.Event{At: now, Type: queue.EventChannel, Text: text, Facts: map[string]string{"channel": s.channel.Name(), "state": state}}
}

// condition is how the channel is.
func (s *sender) condition() Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Condition{Name: s.channel.Name(), Failing: s.red, Since: s.since, Problem: s.cause, Last: s.last}
}

// remember takes over from an earlier process that the channel was red.
func (s *sender) remember(in Incident) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.red, s.since, s.cause = true, in.Opened, in.Detail
}

// backoff is the wait after the n-th failure.
func backoff(n int, first, longest time.Duration) time.Duration {
	d := first
	for i := 1; i < n && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}
