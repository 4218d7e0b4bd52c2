package alerts

import (
	"time"

	"edigw/internal/words"
)

// beat gives the text of a heartbeat if one is due, and the state after it.
// The first is due one interval after the gateway's first start; what was
// missed while it was down comes once.
func beat(s State, every time.Duration, f Figures, now time.Time) (State, Text, bool) {
	switch {
	case every <= 0:
		return s, Text{}, false
	case s.Heartbeat.IsZero() || s.Heartbeat.After(now): // first start, or the clock was put back
		s.Heartbeat = now
		return s, Text{}, false
	case now.Sub(s.Heartbeat) < every:
		return s, Text{}, false
	}
	s.Heartbeat = now
	news := "heartbeat: alerts work, " + words.Count(f.Partners, "partner", "partners") + ", " + words.Count(f.Incidents, "incident", "incidents") + " running"
	return s, Text{
		Subject: "[INFO] edigw " + clean(f.Node) + " " + news,
		Body:    "This is a sign of life, the next one is due in " + words.Span(every) + ".\nIf it does not come, look at the gateway: nobody else will tell you.\n" + f.Base + "\n",
		Lead:    "edigw " + clean(f.Node), Line: news, Link: f.Base,
	}, true
}
