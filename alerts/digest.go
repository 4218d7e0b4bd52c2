package alerts

import (
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/partner"
)

// maxListed bounds the incidents that a digest names.
const maxListed = 30

// Figures is what heartbeat and digest say of the gateway.
type Figures struct {
	Node      string
	Base      string // address of the console
	Partners  int
	Incidents int // running
	Letters   int // open
	Oldest    time.Duration
	Waiting   int
	Running   []Incident
}

// digest gives the text of the daily digest if it is due, and the state after
// it. One that was missed while the gateway was down comes once.
func digest(s State, at partner.Cron, zone *time.Location, f Figures, now time.Time) (State, Text, bool) {
	if at.IsZero() {
		return s, Text{}, false
	}
	if s.Digest.IsZero() || s.Digest.After(now) {
		s.Digest = now
		return s, Text{}, false
	}
	due := at.Next(s.Digest, zone)
	if due.IsZero() || due.After(now) {
		return s, Text{}, false
	}
	t := s.Tally
	news := number(t.Delivered) + " delivered, " + number(t.Dead) + " dead, " + words.Count(f.Letters, "letter", "letters") + " open"
	var b strings.Builder
	b.WriteString("Since " + words.Clock(s.Digest, now, zone) + ": " + number(t.Accepted) + " accepted, " + number(t.Delivered) + " delivered, " +
		number(t.Dead) + " became dead letters, " + number(t.Settled) + " letters settled, " + number(t.Refused) + " refused at the door, " +
		words.Count(t.Outages, "outage", "outages") + ".\n")
	b.WriteString("Now: " + number(f.Waiting) + " in line, " + words.Count(f.Letters, "letter", "letters") + " open" + when(f.Letters > 0, ", the oldest for "+words.Span(f.Oldest)) + ".\n")
	if len(f.Running) == 0 {
		b.WriteString("No incident is running.\n")
	}
	for i, in := range f.Running {
		if i == maxListed {
			b.WriteString("… and " + number(len(f.Running)-maxListed) + " more\n")
			break
		}
		b.WriteString("- " + in.ID + " " + string(in.Kind) + " " + in.Partner + " since " + words.Clock(in.Opened, now, zone) + when(in.Detail != "", ": "+clip(in.Detail, 100)) + "\n")
	}
	b.WriteString(f.Base + "\n")
	s.Digest, s.Tally = now, Tally{}
	return s, Text{Subject: "[INFO] edigw " + clean(f.Node) + " digest: " + news, Body: b.String(),
		Lead: "edigw " + clean(f.Node), Line: "digest: " + news, Link: f.Base}, true
}
