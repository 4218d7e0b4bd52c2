package words

import "time"

// Uncertain is shown wherever we do not know whether the partner has the
// document.
const Uncertain = "Unknown: partner may have it"

// MessageFacts is what a message's sentence may need. What does not apply
// stays zero.
type MessageFacts struct {
	State   string // as the API spells it: queued, waiting, awaiting-ack, …
	Why     string // waiting: backoff, rate, …
	Proof   string // delivered: receipt, duplicate-answer, …
	Now     time.Time
	Zone    *time.Location
	Place   int           // queued: in line, from 1; 0 = not known
	Next    time.Time     // waiting: next try; awaiting-ack: receipt due
	Detail  string        // what the last result or the refusal said: "they answered 503 and asked for 30 s"
	Rate    string        // why rate: "10/s"
	First   bool          // why budget: it is no retry
	Inbound bool          // the partner sent it
	Refused bool          // and we refused it
	Hook    bool          // it carries a received document to a webhook
	Ahead   string        // why order: reference of the document ahead
	Lane    string        // the lane's sentence, for what waits with the lane
	By      string        // who discarded it or closed it on the partner's word
	Note    string        // their reason
	At      time.Time     // when they did
	Late    time.Duration // delivered: how long after the letter the receipt came
}

// received is an inbound message that waits for being handed on.
const received = "Received, receipt given"

// Message is the sentence of a message's state. The flag uncertain has its own
// words, Uncertain, beside it.
func Message(f MessageFacts) string {
	switch f.State {
	case "refused":
		return "Refused at the door" + when(f.Detail != "", ": "+f.Detail)
	case "queued":
		return "In line" + when(f.Place > 0, " ("+Ordinal(f.Place)+")")
	case "waiting":
		return waiting(f)
	case "sending":
		return "Being sent"
	case "awaiting-ack":
		return "Sent, receipt due by " + Clock(f.Next, f.Now, f.Zone)
	case "delivered":
		return delivered(f)
	case "dead":
		return when(f.Refused, "Refused") + when(f.Inbound && !f.Refused, "Not handed on") + when(!f.Inbound, "Not delivered")
	case "superseded":
		return superseded(f)
	case "discarded":
		return "Discarded" + when(f.By != "", " by "+f.By) + when(f.Note != "", `: "`+f.Note+`"`)
	case "received":
		return received + when(f.Detail != "", ": "+f.Detail)
	}
	return f.State
}

func superseded(f MessageFacts) string {
	switch {
	case f.Refused:
		return "Refused first, then opened again and accepted"
	case f.Hook:
		return "Its document was put into the folder instead"
	}
	return "Replaced by a newer edition"
}

func waiting(f MessageFacts) string {
	switch f.Why {
	case "backoff":
		return "Next try " + clock(f.Next, f.Now, f.Zone, "15:04:05") + when(f.Detail != "", ": "+f.Detail)
	case "rate":
		return "In line" + when(f.Rate != "", ": at most "+f.Rate) + when(f.Rate == "", ": the partner's rate")
	case "budget":
		return "In line: " + when(f.First, "all sockets of the gateway are taken") + when(!f.First, "retries are rationed")
	case "order":
		if f.Ahead == "" {
			return "Behind an earlier document"
		}
		return "Behind " + f.Ahead
	case "probe":
		return "Behind the test document"
	case "stopped":
		return "Waits: lane stopped"
	case "pull":
		return "Ready for pick-up"
	case "ramp-up":
		return "Starting slowly after the outage"
	case "undo":
		return "Goes out in " + Span(f.Next.Sub(f.Now)) + " (undo)"
	case "breaker", "window", "blackout", "needs-fix", "network", "misconfigured", "orphaned", "blocked":
		if f.Lane != "" {
			return f.Lane
		}
		return Lane(LaneFacts{State: laneOf[f.Why], Now: f.Now, Zone: f.Zone, Next: f.Next, Hook: f.Hook})
	}
	return "In line"
}

// laneOf names the lane's state for a why that is spelled otherwise.
var laneOf = map[string]string{
	"breaker": "open", "network": "isolated", "window": "window", "blackout": "blackout",
	"needs-fix": "needs-fix", "misconfigured": "misconfigured", "orphaned": "orphaned", "blocked": "blocked",
}

func delivered(f MessageFacts) string {
	if f.Inbound {
		return "Handed on"
	}
	switch f.Proof {
	case "duplicate-answer":
		return "Delivered (partner says it already has it)"
	case "http-only":
		if f.Hook {
			return "Taken by the webhook"
		}
		return "Accepted by the partner, no receipt asked for"
	case "statement":
		if f.By == "" {
			return "Closed on the partner's word"
		}
		return "Closed on the partner's word (" + f.By + ", " + Day(f.At, f.Now, f.Zone) + ")"
	}
	return "Delivered" + when(f.Late > 0, " (receipt came "+Span(f.Late)+" later)")
}
