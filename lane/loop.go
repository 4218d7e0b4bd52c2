package lane

import (
	"container/heap"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"edigw/internal/instant"
	"edigw/queue"
)

// Bounds of the loop.
const (
	maxTurns = 256              // lanes that decide at once: enough for a store to commit in groups
	maxSleep = 30 * time.Second // a jump of the wall clock is noticed at the latest then
	maxJump  = 5 * time.Second  // difference between wall clock and monotonic clock that is none
	arrivals = time.Second      // how long a new message's deadline may stay unnoticed
)

// schedule is when a line is next due; guarded by Scheduler.mu.
type schedule struct {
	users   int       // who holds the line: it is not dropped
	due     time.Time // zero: no turn is planned
	index   int       // place in the agenda, -1 if not there
	queued  bool      // in Scheduler.ready
	turning bool
}

// agenda is a heap of lines by due.
type agenda []*line

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

// Push is heap.Interface's.
func (a *agenda) Push(x any) {
	l := x.(*line)
	l.index = len(*a)
	*a = append(*a, l)
}

// Pop is heap.Interface's.
func (a *agenda) Pop() any {
	old := *a
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	l.index = -1
	return l
}

// hold gives the line of a lane, making it if it is not in memory. The caller
// calls done once for it.
func (s *Scheduler) hold(key string) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held(key)
}

func (s *Scheduler) held(key string) *line {
	l := s.lines[key]
	if l == nil {
		l = newLine(s, key)
		s.lines[key] = l
	}
	l.users++
	return l
}

// done ends a hold. A line that nobody needs is dropped.
func (s *Scheduler) done(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	s.drop(l)
}

// drop forgets an idle line. Whoever holds a line, has planned a turn of it,
// or noted it in a ring keeps it. The caller holds s.mu.
func (s *Scheduler) drop(l *line) {
	busy := l.users > 0 || l.index >= 0 || l.queued || l.turning || l.overBudget.Load() || s.slots.asks(l)
	if !busy && !l.notable.Load() && !l.parked.Load() {
		delete(s.lines, l.key)
	}
}

// due plans a turn of l at t, or leaves an earlier one.
func (s *Scheduler) due(l *line, t time.Time) {
	s.mu.Lock()
	earlier := s.plan(l, t)
	s.mu.Unlock()
	if earlier {
		s.poked()
	}
}

// plan reports whether the loop must look again.
func (s *Scheduler) plan(l *line, t time.Time) bool {
	if l.queued || !l.due.IsZero() && !t.Before(l.due) {
		return false
	}
	l.due = t
	switch {
	case l.index >= 0:
		heap.Fix(&s.agenda, l.index)
	case l.turning: // joins the agenda when the turn ends
		return false
	default:
		heap.Push(&s.agenda, l)
	}
	return l.index == 0
}

// grant gives a lane a turn at once: what it waited for is there.
func (s *Scheduler) grant(l *line) { s.due(l, s.Now()) }

// poked makes the loop look again.
func (s *Scheduler) poked() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// timer makes sure that the message timers are looked at by t.
func (s *Scheduler) timer(t time.Time) {
	if t.IsZero() {
		return
	}
	s.mu.Lock()
	sooner := s.timerAt.IsZero() || t.Before(s.timerAt)
	if sooner {
		s.timerAt = t
	}
	s.mu.Unlock()
	if sooner {
		s.poked()
	}
}

// loop gives turns until Stop. It never waits for the store.
func (s *Scheduler) loop() {
	defer close(s.loopEnded)
	sleep := time.NewTimer(0)
	defer sleep.Stop()
	for {
		next, more := s.round()
		if !more {
			return
		}
		if next < 0 {
			<-s.poke
			continue
		}
		sleep.Reset(next)
		select {
		case <-sleep.C:
		case <-s.poke:
		}
	}
}

// round starts everything that is due and says how long to sleep, negative:
// until poked.
func (s *Scheduler) round() (sleep time.Duration, more bool) {
	now := s.Now()
	trial := s.net.trialDue(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return 0, false
	}
	if s.clock.jumped(now) {
		s.rewind(now)
	}
	for len(s.agenda) > 0 && !s.agenda[0].due.After(now) {
		l := heap.Pop(&s.agenda).(*line)
		l.due, l.queued = time.Time{}, true
		s.ready = append(s.ready, l)
	}
	for len(s.ready) > 0 && s.turns < maxTurns {
		l := s.ready[0]
		s.ready[0] = nil
		s.ready = s.ready[1:]
		l.queued, l.turning = false, true
		s.turns++
		s.work.Add(1)
		go s.turn(l)
	}
	if !s.timing && !s.timerAt.IsZero() && !s.timerAt.After(now) {
		s.timing, s.timerAt = true, time.Time{}
		s.work.Add(1)
		go s.runTimers()
	}
	if trial {
		s.work.Add(1)
		go s.tryNetwork()
	}
	return s.sleep(now), true
}

// sleep is the time to the next thing due.
func (s *Scheduler) sleep(now time.Time) time.Duration {
	next := s.net.nextTrial()
	if len(s.agenda) > 0 {
		next = instant.Sooner(next, s.agenda[0].due)
	}
	if !s.timing {
		next = instant.Sooner(next, s.timerAt)
	}
	if next.IsZero() {
		return -1
	}
	return min(maxSleep, max(0, next.Sub(now)))
}

// turn lets one lane decide. A panic in it delays that lane only.
func (s *Scheduler) turn(l *line) {
	defer s.work.Done()
	granted := s.slots.granted(l)
	next := s.guarded(l)
	if granted { // what was granted meanwhile is for the next turn
		s.slots.unused(l)
	}
	s.mu.Lock()
	s.turns--
	l.turning = false
	if planned := l.due; !planned.IsZero() {
		l.due = time.Time{}
		next = instant.Sooner(next, planned)
	}
	if !next.IsZero() {
		s.plan(l, next)
	}
	s.drop(l)
	s.mu.Unlock()
	s.poked()
}

// guarded is the lane's own turn with everything that can go wrong in it.
func (s *Scheduler) guarded(l *line) (next time.Time) {
	var err error
	panicked := s.shielded(l, "", func() { next, err = l.turn(s.base) })
	switch {
	case s.base.Err() != nil:
		return time.Time{}
	case !panicked && err == nil:
		return next
	}
	wait := l.stumbled()
	if err != nil {
		s.Log.Error("a lane cannot decide; it tries again", keyLane, l.key, keyErr, err, "in", wait)
	}
	return s.Now().Add(wait)
}

// shielded runs work of a lane and reports whether it panicked.
func (s *Scheduler) shielded(l *line, message string, work func()) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			s.defect(l, message, p)
			panicked = true
		}
	}()
	work()
	return false
}

// defect records a panic: a fault of this program, in one lane.
func (s *Scheduler) defect(l *line, message string, p any) {
	s.Log.Error("defect: a lane's work panicked; only this lane is delayed", keyLane, l.key, keyMessage, message, "panic", p, "stack", string(debug.Stack()))
	e := queue.Event{At: s.Now(), Type: queue.EventDefect, Partner: l.partner, Lane: l.key, Message: message,
		Text: fmt.Sprintf("edigw has a defect: %.200v", p)}
	if err := s.Store.AddEvents(s.base, e); err != nil {
		s.Log.Error("a defect could not be recorded", keyLane, l.key, keyErr, err)
	}
}

// split takes a lane's key apart: see queue.LaneKey.
func split(key string) (partner string, kind queue.Kind) {
	for _, k := range []queue.Kind{queue.KindReceipt, queue.KindWebhook} {
		if id, found := strings.CutSuffix(key, queue.LaneKey("", k)); found {
			return id, k
		}
	}
	return key, queue.KindDocument
}
