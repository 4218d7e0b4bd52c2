package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"edigw/queue"
)

// Paces of the pipeline.
const (
	poll      = time.Second
	readLimit = 1000        // events in one step
	sweep     = time.Minute // every incident is looked at again
	certWatch = time.Hour   // certificates

	forgetLimit = 500              // rows dropped in one transaction
	keepState   = 30 * time.Second // a cursor that nothing came of is stored no more often

	maxClashes = 10 // conflicts in a row that somebody else's writes explain
)

// pipe is what the reading goroutine remembers between steps.
type pipe struct {
	loaded  bool
	book    Book
	saved   time.Time
	swept   time.Time
	watched time.Time
	touched map[string]bool // incidents to be looked at, of events that were read while there were more
	since   time.Time       // when there began to be more to read than one step takes
	clashes int             // conflicts in a row
}

// read runs steps until ctx ends.
func (s *Service) read(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			s.leave(context.WithoutCancel(ctx))
			return
		case <-timer.C:
		case <-s.poke:
		}
		again := s.guarded(ctx)
		if again {
			timer.Reset(0)
		} else {
			timer.Reset(poll)
		}
	}
}

// guarded is one step with everything that can go wrong in it. It reports
// whether there is more to read.
func (s *Service) guarded(ctx context.Context) (again bool) {
	now := s.Now()
	defer func() {
		if p := recover(); p != nil {
			s.pipe.loaded = false
			s.failed(ctx, fmt.Errorf("defect: %.200v", p), now)
		}
	}()
	again, err := s.step(ctx, now)
	switch {
	case err == nil:
		return again
	case ctx.Err() != nil:
		return false
	}
	s.pipe.loaded = false // read it anew: somebody else wrote, or we do not know
	if errors.Is(err, queue.ErrConflict) {
		if s.pipe.clashes++; s.pipe.clashes < maxClashes {
			return true
		}
	}
	s.failed(ctx, err, now)
	return false
}

// step reads what is new in the ledger, brings incidents up to date, and
// writes all that follows in one transaction.
func (s *Service) step(ctx context.Context, now time.Time) (again bool, err error) {
	if err := s.load(ctx); err != nil {
		return false, err
	}
	was := s.pipe.book
	events, err := s.Store.Events(ctx, was.State.Cursor, readLimit)
	if err != nil {
		return false, err
	}
	pace, route := s.pace()
	book, touched := Fold(was, events, pace, now)
	maps.Copy(touched, s.pipe.touched)
	w := &writing{Service: s, book: book, pace: pace, route: route, now: now, see: &observer{store: s.Store, set: s.Settings(), now: now}}
	w.all = now.Sub(s.pipe.swept) >= sweep || now.Before(s.pipe.swept)
	if err := w.number(ctx); err != nil {
		return false, err
	}
	again = len(events) == readLimit
	if !again {
		s.pipe.since = time.Time{}
	} else if s.pipe.since.IsZero() {
		s.pipe.since = now
	}
	// What the store says is newer than what was read: people are told when
	// both agree, unless that takes too long.
	if again && now.Sub(s.pipe.since) < max(pace.Wait, firstWait) {
		s.pipe.touched = touched
		return true, s.save(ctx, w, was)
	}
	s.pipe.touched = nil
	for _, work := range []func(context.Context) error{w.incidents(touched), w.watch, w.clock} {
		if err := work(ctx); err != nil {
			return false, err
		}
	}
	again = again || len(w.step.Events) > 0
	return again, s.save(ctx, w, was)
}

func (s *Service) load(ctx context.Context) (err error) {
	if s.pipe.loaded {
		return nil
	}
	b := Book{}
	if b.State, err = s.Store.AlertState(ctx); err != nil {
		return err
	}
	if b.Incidents, err = s.Store.ActiveIncidents(ctx); err != nil {
		return err
	}
	s.pipe.book, s.pipe.loaded = b, true
	return nil
}

// save writes a step if anything came of it, or if the cursor ran far ahead.
func (s *Service) save(ctx context.Context, w *writing, was Book) error {
	for i, in := range w.book.Incidents { // Fold only appends
		if i >= len(was.Incidents) || !same(was.Incidents[i], in) {
			w.step.Incidents = append(w.step.Incidents, in)
		}
	}
	w.step.State = w.book.State
	w.step.Events = append(w.step.Events, s.recovered(w.now)...)
	clocked := !w.book.State.Heartbeat.Equal(was.State.Heartbeat) || !w.book.State.Digest.Equal(was.State.Digest)
	due := w.now.Sub(s.pipe.saved) >= keepState || w.now.Before(s.pipe.saved)
	if len(w.step.Incidents)+len(w.step.Notifications)+len(w.step.Events) > 0 || clocked || due {
		if err := s.Store.SaveAlerts(context.WithoutCancel(ctx), &w.step); err != nil {
			return err
		}
		s.pipe.saved = w.now
	}
	w.keep()
	s.pipe.book, s.pipe.clashes, s.trouble = w.book, 0, trouble{}
	if w.all {
		s.pipe.swept = w.now
	}
	if w.certs {
		s.pipe.watched = w.now
	}
	for _, n := range w.step.Notifications {
		s.Log.Info("alert made", keyIncident, n.Incident, keyNotification, n.ID, keyChannel, n.Channel, "severity", n.Severity, "subject", n.Text.Subject)
		if to := s.senders[n.Channel]; to != nil {
			select {
			case to.poke <- struct{}{}:
			default:
			}
		}
	}
	return nil
}

// leave stores the cursor at the end, so that less is read again.
func (s *Service) leave(ctx context.Context) {
	if !s.pipe.loaded {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	if err := s.Store.SaveAlerts(ctx, &Step{State: s.pipe.book.State}); err != nil {
		s.Log.Warn("the cursor of alerts is not stored; some events are read again", keyErr, err)
	}
}

func (s *Service) pace() (Pace, []string) {
	g := s.Settings().Gateway()
	if g.Alerts == nil {
		return Pace{Repeat: 4 * time.Hour}, nil
	}
	return Pace{Wait: time.Duration(g.Alerts.GroupWait), Repeat: time.Duration(g.Alerts.Repeat)}, Route(g)
}

// zone is the operators'.
func (s *Service) zone() *time.Location {
	if a := s.Settings().Gateway().Alerts; a != nil {
		if z, err := time.LoadLocation(a.Zone); err == nil {
			return z
		}
	}
	return time.UTC
}

// same reports whether nothing of an incident changed.
func same(a, b Incident) bool {
	return a.Version == b.Version && a.ID == b.ID && a.Stage == b.Stage && a.News == b.News && a.Severity == b.Severity && a.Under == b.Under && a.Held == b.Held &&
		a.Due.Equal(b.Due) && a.Changed.Equal(b.Changed) && a.Over.Equal(b.Over) && a.Closed.Equal(b.Closed) &&
		a.Told == b.Told && a.Events == b.Events && total(a.Ended) == total(b.Ended)
}

func total(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
