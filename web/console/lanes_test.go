package console

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// lanes are pretended: they note what was asked of them.
type lanes struct {
	mu      sync.Mutex
	view    map[string]queue.LaneView
	show    map[string]queue.Shown // by message
	done    []string
	outcome fault.Outcome
	imports []web.Import
	fail    error

	processing web.Processing
	inbound    map[string]web.Inbound // by message
}

func newLanes() *lanes {
	return &lanes{view: map[string]queue.LaneView{}, show: map[string]queue.Shown{}, inbound: map[string]web.Inbound{}}
}

func (l *lanes) View(id string) queue.LaneView {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v, ok := l.view[id]; ok {
		return v
	}
	return queue.LaneView{Partner: id, Lane: id, State: queue.LaneSending}
}

func (l *lanes) LaneView(key string) queue.LaneView { return l.View(key) }

func (l *lanes) Overlay(m queue.Message, position int) queue.Shown {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.show[m.ID]; ok {
		return s
	}
	if position > 0 {
		return queue.Shown{State: queue.Waiting, Why: queue.WhyOrder}
	}
	return queue.Shown{State: m.State, Why: m.Why, Next: m.NextAt}
}

func (l *lanes) note(format string, args ...any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, fmt.Sprintf(format, args...))
	return l.fail
}

func (l *lanes) StopLane(_ context.Context, id string, by fault.Actor, reason string, until time.Time) error {
	return l.note("stop %s by %s: %s until %s", id, by.Name, reason, until.Format(time.RFC3339))
}

func (l *lanes) StartLane(_ context.Context, id string, by fault.Actor) error {
	return l.note("start %s by %s", id, by.Name)
}

func (l *lanes) Trip(_ context.Context, id string, by fault.Actor) error {
	return l.note("trip %s by %s", id, by.Name)
}

func (l *lanes) Reset(_ context.Context, id string, by fault.Actor) error {
	return l.note("reset %s by %s", id, by.Name)
}

func (l *lanes) Test(_ context.Context, id string, by fault.Actor) (fault.Outcome, error) {
	return l.outcome, l.note("test %s by %s", id, by.Name)
}

func (l *lanes) Import(_ context.Context, i web.Import) ([]partner.CertificateInfo, error) {
	l.imports = append(l.imports, i)
	return nil, l.fail
}

func (l *lanes) Process(_ context.Context, message string, by fault.Actor, note string) error {
	return l.note("process %s by %s: %s", message, by.Name, note)
}

func (l *lanes) Processing(context.Context, string) (web.Processing, error) { return l.processing, nil }

func (l *lanes) Inbound(_ context.Context, message string) (web.Inbound, error) {
	if in, ok := l.inbound[message]; ok {
		return in, nil
	}
	return web.Inbound{}, queue.ErrNotFound
}

func (l *lanes) Evidence(_ context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error {
	_, err := fmt.Fprintf(w, "PK evidence of %s: %d attempts, %d builds", m.ID, len(attempts), len(builds))
	return err
}

// As package dlq sees lanes.
func (l *lanes) Breaker(lane string) breaker.State { return l.View(lane).Breaker }

func (l *lanes) Running(string, string) bool { return false }

func (l *lanes) UseAsTest(_ context.Context, id string, by fault.Actor) error {
	return l.note("use %s as test by %s", id, by.Name)
}

func (l *lanes) Wake(string) {}

func (l *lanes) LettersChanged(string) {}

// Judge finds every stored receipt good.
func (l *lanes) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, Protocol: true, AckAsked: fault.AckSync, Ack: &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Token: true}}
}
