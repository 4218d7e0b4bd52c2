package words

import "time"

// LaneFacts is what a lane's sentence may need. What does not apply stays zero.
type LaneFacts struct {
	State    string    // as the API spells it: sending, open, needs-fix, …
	Now      time.Time // for dates
	Zone     *time.Location
	Next     time.Time // open: next test; stopped, blackout: its end; window: when it sends again
	By       string    // who stopped it
	Reason   string    // why it was stopped
	Ours     bool      // needs-fix: on our side
	Cause    string    // needs-fix: what to fix
	Mistakes int       // misconfigured: in its settings file
	Waiting  int       // documents that wait
	Hook     bool      // it is the lane of a webhook: a system of ours
}

// LaneOf names a lane that carries no documents, and says how it stands.
func LaneOf(kind, sentence string, waiting int) string {
	name, what := "Receipts to them", Count(waiting, "receipt waits", "receipts wait")
	if kind == "webhook" {
		name, what = "Our webhook", Count(waiting, "document waits", "documents wait")
	}
	return name + ": " + lower(sentence) + when(waiting > 0, "; "+what)
}

// Lane is the sentence of a lane's state.
func Lane(f LaneFacts) string {
	at := Clock(f.Next, f.Now, f.Zone)
	has := !f.Next.IsZero()
	switch f.State {
	case "sending":
		return "Sending"
	case "open":
		return "Stopped: " + when(f.Hook, "it does not answer") + when(!f.Hook, "partner not answering") + when(has, ". Next test "+at)
	case "half-open":
		return "Testing with one document"
	case "answering":
		return "Answers again. Nothing sent yet"
	case "stopped":
		return "Stopped" + when(f.By != "", " by "+f.By) + when(has, " until "+at) + when(f.Reason != "", ": "+f.Reason)
	case "needs-fix":
		side := "on their side"
		if f.Ours {
			side = "on our side"
		}
		return "Stopped: needs a fix (" + side + when(f.Cause != "", ": "+f.Cause) + ")"
	case "blackout":
		return "Their maintenance" + when(has, " until "+at)
	case "isolated":
		return "Stopped: our own network"
	case "misconfigured":
		if f.Mistakes == 0 {
			return "Not sending: its settings file cannot be used"
		}
		return "Not sending: its settings file has " + Count(f.Mistakes, "mistake", "mistakes")
	case "orphaned":
		return "Not sending: its settings file is gone" + when(f.Waiting > 0, ", "+Count(f.Waiting, "document waits", "documents wait"))
	case "window":
		return when(has, "Sends again "+at) + when(!has, "Does not send now") + " (their hours)"
	case "blocked":
		return "Stopped behind a dead letter (first in, first out)"
	}
	return f.State
}

func when(holds bool, s string) string {
	if holds {
		return s
	}
	return ""
}
