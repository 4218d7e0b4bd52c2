package words

import "time"

// PlanFacts is how a partner's documents go out. What does not apply stays
// zero.
type PlanFacts struct {
	Retries     string // the schedule of retries, in words
	Failures    int    // within Within, that stop the lane
	Within      time.Duration
	Cooldown    time.Duration // before the first test
	MaxCooldown time.Duration // between later tests
	Holds       bool          // what waits stays in line while the partner is down
	Width       int           // documents at once
	Rate        string        // "10/s"; empty: no limit
	WarnBy      time.Duration
	DeliverBy   time.Duration
	KeepOverdue bool
	Why         string    // window or blackout keeps the lane closed now; empty: it may send
	Until       time.Time // when that changes, zero: never
	Note        string    // about a blackout
	Now         time.Time
	Zone        *time.Location
}

// Plan tells when and how a partner's documents go out, in sentences.
func Plan(f PlanFacts) []string {
	pace := "One at a time, first in, first out"
	if f.Width > 1 {
		pace = "Up to " + Number(int64(f.Width)) + " at once"
	}
	all := []string{pace + when(f.Rate != "", ", at most "+f.Rate) + "."}
	has := !f.Until.IsZero()
	switch {
	case f.Why == "blackout":
		all = append(all, "Their maintenance now"+when(has, ", until "+Clock(f.Until, f.Now, f.Zone))+when(f.Note != "", ": "+f.Note)+".")
	case f.Why == "window":
		all = append(all, "Outside their hours now"+when(has, ", sends again "+Clock(f.Until, f.Now, f.Zone))+".")
	case has:
		all = append(all, "May send until "+Clock(f.Until, f.Now, f.Zone)+".")
	}
	all = append(all, f.Retries)
	down := "New documents become dead letters while it is down."
	if f.Holds {
		down = "Documents wait in line while it is down."
	}
	all = append(all, "Stops after "+Count(f.Failures, "failure", "failures")+" within "+Span(f.Within)+"; a test after "+Span(f.Cooldown)+", later ones at most "+Span(f.MaxCooldown)+" apart. "+down)
	if f.WarnBy > 0 {
		all = append(all, "Alert when a document is not delivered after "+Span(f.WarnBy)+".")
	}
	if f.DeliverBy > 0 {
		end := "then it becomes a dead letter."
		if f.KeepOverdue {
			end = "then it goes on, marked as past its due time."
		}
		all = append(all, "Due after "+Span(f.DeliverBy)+", "+end)
	}
	return all
}
