package exchange

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// stage is the part of an exchange that a time-out belongs to.
type stage uint8

const (
	stageIdle stage = iota
	stageSend
	stageResponse
	stageReceive
)

// timeoutError is the cause with which a watch cancels an exchange.
type timeoutError struct {
	stage stage
	after time.Duration
	total bool // the whole body took too long, though it moved
}

func (e *timeoutError) Error() string {
	switch {
	case e.stage == stageSend:
		return fmt.Sprintf("no progress in sending for %v", e.after)
	case e.stage == stageResponse:
		return fmt.Sprintf("no answer within %v after the last byte was sent", e.after)
	case e.total:
		return fmt.Sprintf("the answer was not complete within %v", e.after)
	}
	return fmt.Sprintf("the answer stopped for %v before its end", e.after)
}

// Timeout makes it a net.Error for those who ask.
func (e *timeoutError) Timeout() bool { return true }

// watch cancels an exchange that makes no progress. Stages only go forward: an
// early answer is not taken back to sending by the body that still flows.
type watch struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	stage   stage
	timer   *time.Timer
	total   *time.Timer
	allowed time.Duration // until total ends,
	begun   time.Time     // counted from here
	done    bool
}

// progress arms the watch for d in the given stage.
func (w *watch) progress(s stage, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || s < w.stage {
		return
	}
	if s == w.stage && w.timer != nil {
		w.timer.Reset(d)
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.stage = s
	w.timer = time.AfterFunc(d, func() { w.cancel(&timeoutError{stage: s, after: d}) })
}

// bound cancels after d whatever progress there is.
func (w *watch) bound(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.total != nil {
		return
	}
	w.allowed, w.begun = d, time.Now()
	w.total = time.AfterFunc(d, func() {
		w.mu.Lock()
		after := w.allowed
		w.mu.Unlock()
		w.cancel(&timeoutError{stage: stageReceive, after: after, total: true})
	})
}

// extend moves the end that bound set.
func (w *watch) extend(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.total == nil {
		return
	}
	w.allowed += d
	w.total.Reset(time.Until(w.begun.Add(w.allowed)))
}

// rest stops waiting for progress, until the next of it is looked for.
func (w *watch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, t := range []*time.Timer{w.timer, w.total} {
		if t != nil {
			t.Stop()
		}
	}
}
