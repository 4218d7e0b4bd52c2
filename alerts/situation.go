package alerts

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"edigw/partner"
	"edigw/queue"
)

// maxCounted bounds the letters that are read to count them for a text.
const maxCounted = 10_000

// Situation is how things stand for one incident.
type Situation struct {
	Partner     *partner.Partner // nil: gateway-wide, or its file is gone
	Found       bool             // the outage is in the store
	Outage      queue.Outage
	Lane        queue.Lane
	Depth       queue.Depth
	Letters     Letters
	Isolation   queue.Isolation
	Certificate *partner.CertificateInfo // that the incident is about, nil: gone
	Encrypts    *partner.CertificateInfo // the partner's that we encrypt to now
	Health      Health
	Bounds      partner.DLQAlerts
	Others      int // other partners
	Fine        int // of these, without an outage
	Waiting     int // messages in line in the whole gateway
	Settings    Setting
}

// Letters counts the letters that an incident gathers.
type Letters struct {
	Open, Replaying, Uncertain int // Uncertain of both
	Untried, Tried, Overdue    int // of the open ones, if they were read
	Oldest                     time.Time
	Detail                     string // of the newest that was read
	Read                       int    // how many were read
	More                       bool   // there are more than were read
}

// Health is what open letters there are.
type Health struct {
	Letters int
	Oldest  time.Duration
}

// Settings is the part of a partner.Snapshot that the pipeline needs.
type Settings interface {
	Gateway() *partner.Gateway
	Partner(id string) (*partner.Partner, bool)
	IDs() []string
	Certificates(now time.Time) []partner.CertificateInfo
	CertificatesOf(id string, now time.Time) []partner.CertificateInfo
}

// observer reads situations during one step; what is asked of the whole
// gateway is read once.
type observer struct {
	store    Facts
	set      Settings
	now      time.Time
	depths   []queue.Depth
	read     bool
	certs    []partner.CertificateInfo
	listed   bool
	isolated *queue.Isolation
	most     int // letters to be read; 0: maxCounted
}

func (o *observer) allDepths(ctx context.Context) (_ []queue.Depth, err error) {
	if !o.read {
		o.depths, err = o.store.Depths(ctx)
		o.read = err == nil
	}
	return o.depths, err
}

func (o *observer) certificates() []partner.CertificateInfo {
	if !o.listed {
		o.certs, o.listed = o.set.Certificates(o.now), true
	}
	return o.certs
}

func (o *observer) isolation(ctx context.Context) (queue.Isolation, error) {
	if o.isolated == nil {
		i, err := o.store.Isolation(ctx)
		if err != nil {
			return i, err
		}
		o.isolated = &i
	}
	return *o.isolated, nil
}

// look reads what decides how the incident stands.
func (o *observer) look(ctx context.Context, in Incident) (s Situation, err error) {
	s.Bounds = o.bounds()
	if p, ok := o.set.Partner(in.Partner); ok && in.Partner != "" {
		s.Partner = p
	}
	if s.Lane, err = o.lane(ctx, in); err != nil {
		return s, err
	}
	switch in.Kind {
	case KindOutage:
		s.Outage, err = o.store.Outage(ctx, in.ID)
		s.Found = err == nil
		if errors.Is(err, queue.ErrNotFound) {
			err = nil
		}
		s.Letters = Letters{Open: s.Outage.Open}
	case KindLetters:
		s.Letters, err = o.group(ctx, in)
	case KindIsolated:
		s.Isolation, err = o.isolation(ctx)
	case KindDeadline:
		if s.Isolation, err = o.isolation(ctx); err == nil {
			s.Depth, err = o.depth(ctx, in.Lane)
		}
	case KindHealth:
		s.Health, err = o.unsettled(ctx)
	case KindCertificate:
		s.Certificate = o.certificate(in.Cause)
	}
	return s, err
}

func (o *observer) bounds() partner.DLQAlerts {
	if a := o.set.Gateway().Alerts; a != nil {
		return a.DLQ
	}
	return partner.DLQAlerts{}
}

func (o *observer) lane(ctx context.Context, in Incident) (queue.Lane, error) {
	key := in.Lane
	if key == "" {
		key = in.Partner
	}
	if key == "" {
		return queue.Lane{}, nil
	}
	l, err := o.store.Lane(ctx, key)
	if errors.Is(err, queue.ErrNotFound) {
		return queue.Lane{Key: key, Partner: in.Partner}, nil
	}
	return l, err
}

func (o *observer) depth(ctx context.Context, lane string) (queue.Depth, error) {
	all, err := o.depths, error(nil)
	if !o.read {
		partner, _, _ := strings.Cut(lane, "/")
		all, err = o.store.PartnerDepths(ctx, partner)
	}
	for _, d := range all {
		if d.Lane == lane {
			return d, err
		}
	}
	return queue.Depth{Lane: lane}, err
}

// group counts the letters of a cause that belong to no outage.
func (o *observer) group(ctx context.Context, in Incident) (l Letters, err error) {
	groups, err := o.store.LetterGroups(ctx, queue.LetterFilter{Partner: in.Partner})
	for _, g := range groups {
		if !in.gathers(string(g.Reason), g.Cause, g.Outage) {
			continue
		}
		l.Open += g.Open
		l.Replaying += g.Replaying
		l.Uncertain += g.Uncertain
		if l.Oldest.IsZero() || g.Oldest.Before(l.Oldest) {
			l.Oldest = g.Oldest
		}
	}
	return l, err
}

// gathers reports whether letters of that kind belong to the incident.
func (in Incident) gathers(reason, cause, outage string) bool {
	if in.Kind == KindOutage {
		return outage == in.ID
	}
	return outage == "" && (cause == in.Cause || cause == "" && reason == in.Cause)
}

// unsettled counts the letters that belong to no running outage, as the bounds
// of package dlq do.
func (o *observer) unsettled(ctx context.Context) (h Health, err error) {
	groups, err := o.store.LetterGroups(ctx, queue.LetterFilter{})
	running := map[string]bool{"": false}
	for _, g := range groups {
		runs, known := running[g.Outage]
		if !known {
			out, err := o.store.Outage(ctx, g.Outage)
			if err != nil && !errors.Is(err, queue.ErrNotFound) {
				return h, err
			}
			runs = err == nil && out.Ended.IsZero()
			running[g.Outage] = runs
		}
		if !runs && g.Open > 0 {
			h = h.add(g.Open, g.Oldest, o.now)
		}
	}
	return h, err
}

// letters counts all open letters.
func (o *observer) letters(ctx context.Context) (h Health, err error) {
	all, err := o.allDepths(ctx)
	for _, d := range all {
		n := 0
		for _, open := range d.Letters {
			n += open
		}
		h = h.add(n, d.OldestL, o.now)
	}
	return h, err
}

func (h Health) add(n int, oldest, now time.Time) Health {
	h.Letters += n
	if age := now.Sub(oldest); !oldest.IsZero() && age > h.Oldest {
		h.Oldest = age
	}
	return h
}

func (o *observer) certificate(id string) *partner.CertificateInfo {
	for _, c := range o.certificates() {
		if certificateID(c) == id {
			return &c
		}
	}
	return nil
}

// certificateID names a certificate in one of its uses.
func certificateID(c partner.CertificateInfo) string { return c.Use + "/" + c.SHA256 }

// study adds to a situation what only its text needs.
func (o *observer) study(ctx context.Context, in Incident, s Situation, b Book) (Situation, error) {
	s.Settings = b.State.Settings
	s.Others = len(o.set.IDs()) - 1
	s.Fine = s.Others
	for _, other := range b.Incidents {
		if other.Kind == KindOutage && other.Stage == Running && other.Partner != in.Partner {
			s.Fine--
		}
	}
	var err error
	if s.Depth, err = o.depth(ctx, s.Lane.Key); err != nil {
		return s, err
	}
	if in.Kind == KindIsolated { // of the whole gateway
		all, err := o.allDepths(ctx)
		if err != nil {
			return s, err
		}
		for _, d := range all {
			s.Waiting += d.Lined
		}
	}
	for _, c := range o.set.CertificatesOf(in.Partner, o.now) {
		if c.Use == partner.UseEncrypt && c.InForce && (s.Encrypts == nil || c.Begins.After(s.Encrypts.Begins)) {
			s.Encrypts = &c
		}
	}
	if in.Kind == KindOutage || in.Kind == KindLetters {
		s.Letters, err = o.count(ctx, in, s.Letters)
	}
	return s, err
}

// count reads the open letters of an incident, newest first, within bounds.
func (o *observer) count(ctx context.Context, in Incident, l Letters) (Letters, error) {
	f := queue.LetterFilter{Partner: in.Partner, Status: queue.LetterOpen}
	if in.Kind == KindOutage {
		f.Outage = in.ID
	} // letters of one cause may have several reasons: they are picked below
	p := queue.Page{Limit: 500}
	unsure, most := 0, cmp.Or(o.most, maxCounted)
	for read := 0; ; {
		page, next, err := o.store.Letters(ctx, f, p)
		if err != nil {
			return l, err
		}
		for _, x := range page {
			read++
			if !in.gathers(string(x.Reason), x.Cause, x.Outage) {
				continue
			}
			l = l.add(x)
			if x.Uncertain {
				unsure++
			}
		}
		if next == "" || read >= most {
			l.Read, l.More = read, next != ""
			l.Uncertain = max(l.Uncertain, unsure)
			return l, nil
		}
		p.Cursor = next
	}
}

func (l Letters) add(x queue.Letter) Letters {
	if l.Detail == "" {
		l.Detail = clip(clean(x.Detail), maxText)
	}
	switch {
	case x.Attempts == 0 && !x.Uncertain:
		l.Untried++
	case !x.Uncertain:
		l.Tried++
	}
	if x.Overdue {
		l.Overdue++
	}
	return l
}
