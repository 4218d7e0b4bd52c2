package alerts

import (
	"time"

	"edigw/partner"
)

// quietUntil is when a partner's quiet hours end, by the clock in its zone;
// the zero time if there are none now.
func quietUntil(p *partner.Partner, now time.Time) time.Time {
	if p == nil || p.Notify.Quiet == nil {
		return time.Time{}
	}
	q := p.Notify.Quiet
	local := now.In(zoneOf(p))
	if !q.Covers(local) {
		return time.Time{}
	}
	end := time.Date(local.Year(), local.Month(), local.Day(), 0, q.To, 0, 0, local.Location())
	if !end.After(local) {
		end = time.Date(local.Year(), local.Month(), local.Day()+1, 0, q.To, 0, 0, local.Location())
	}
	return end
}

func zoneOf(p *partner.Partner) *time.Location {
	if p == nil || p.Zone == nil {
		return time.UTC
	}
	return p.Zone
}

// severity is how loud the incident's news is for its partner: one that is not
// live, or not of tier 1, never pages.
func (in Incident) severity(p *partner.Partner, openLetters int) Severity {
	s := manners[in.Kind].severity
	switch {
	case in.News == NewsOver, in.News == NewsAnswers && openLetters == 0:
		s = Info
	case s == Page && p != nil && (p.Stage == partner.StageTest || p.Stage == partner.StageSetup || p.Notify.Tier > 1):
		s = Ticket
	}
	return s
}
