package alerts

import (
	"context"
	"errors"
	"strings"

	"edigw/queue"
)

// mostShown bounds the letters that are read to count them for a page, which
// may be asked for every second.
const mostShown = 1000

// Account is what is to be said of an incident as things stand now: what its
// next notification would say, without the frame of a mail.
type Account struct {
	Incident Incident // its Stage is that of now
	Title    string   // "Northwind Retail DE down, first deadline 03:00"
	Lines    []string // what, cause, whose side, impact, next step
	Do       []string // in order
	Letters  Letters
	Waiting  int // documents of the partner in line
}

// Account gives the account of an incident or of an outage that nobody was
// told of. The error is queue.ErrNotFound or the store's.
func (s *Service) Account(ctx context.Context, id string) (Account, error) {
	in, err := s.incident(ctx, id)
	if err != nil {
		return Account{}, err
	}
	see := &observer{store: s.Store, set: s.Settings(), now: s.Now(), most: mostShown}
	now, err := see.look(ctx, in)
	if err != nil {
		return Account{}, err
	}
	st, err := s.Store.AlertState(ctx)
	if err != nil {
		return Account{}, err
	}
	all, err := s.Store.ActiveIncidents(ctx)
	if err != nil {
		return Account{}, err
	}
	if now, err = see.study(ctx, in, now, Book{State: st, Incidents: all}); err != nil {
		return Account{}, err
	}
	if in.Stage != Over {
		in.Stage = now.stage(in, s.Now())
	}
	t := telling{in: in.asTold(), s: now, now: s.Now(), zone: zoneOf(now.Partner), sev: in.Severity}
	if now.Partner == nil {
		t.zone = s.zone()
	}
	d := t.draft()
	a := Account{Incident: in, Title: strings.TrimSpace(d.news), Lines: trim(d.lines...), Do: d.do, Letters: now.Letters, Waiting: now.Depth.Lined}
	if !d.bare {
		a.Title = joined(t.name(), d.news)
	}
	return a, nil
}

// incident is what is kept of one; an outage stands for its own incident.
func (s *Service) incident(ctx context.Context, id string) (Incident, error) {
	in, err := s.Store.Incident(ctx, id)
	if !errors.Is(err, queue.ErrNotFound) {
		return in, err
	}
	o, err := s.Store.Outage(ctx, id)
	if err != nil {
		return Incident{}, err
	}
	return Incident{ID: o.ID, Kind: KindOutage, Partner: o.Partner, Lane: o.Lane, Severity: manners[KindOutage].severity, Stage: Running, Opened: o.Since, Over: o.Ended}, nil
}

// asTold is the incident as if its present stage were news.
func (in Incident) asTold() Incident {
	switch in.Stage {
	case Over:
		in.News, in.Told = NewsOver, max(in.Told, 1)
	case Answering:
		in.News = NewsAnswers
	default:
		in.News, in.Told = NewsOpened, 0
	}
	return in
}
