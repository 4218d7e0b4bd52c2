package words

import (
	"strconv"
	"time"
)

// ReasonFacts is what the reason of a letter may need. What does not apply
// stays zero.
type ReasonFacts struct {
	Now    time.Time
	Zone   *time.Location
	Tried  int           // attempts of the round
	Due    time.Time     // deadline
	Wait   time.Duration // how long we waited for the receipt
	Status int           // HTTP status of the last answer
	Words  string        // the partner's own words, cleaned and bounded
	Detail string        // format: what is wrong where; local: what to fix; of a refused message the problem
	Partly bool          // unknown-outcome: the connection broke while the document was being sent

	Inbound      bool // the partner sent it
	Hook         bool // it carries a received document to a webhook
	Contradicted bool // they refused it and then acknowledged it, with nothing sent in between
}

// weRefused begins the reason of a message that we refused.
const weRefused = "We refused it"

// WeRefused reports whether a letter of a received message is there because we
// refused it.
func WeRefused(reason string) bool {
	return reason == "signature" || reason == "format" || reason == "rejected"
}

// Reason says why a letter exists.
func Reason(reason string, f ReasonFacts) string {
	if f.Inbound && WeRefused(reason) {
		return weRefused + ": " + RefusalOf(f.Detail).Title()
	}
	if f.Contradicted {
		return "They refused it, then sent a receipt that says yes"
	}
	switch reason {
	case "circuit-open":
		return "Not delivered: partner was down (" + tried(f.Tried) + ")"
	case "max-attempts":
		return "Tried " + Count(f.Tried, "time", "times") + " without success"
	case "deadline":
		return "Too late" + when(!f.Due.IsZero(), ": was due "+Clock(f.Due, f.Now, f.Zone))
	case "signature":
		return "Partner rejects our signature or encryption"
	case "format":
		return "Document malformed" + when(f.Detail != "", ": "+f.Detail)
	case "rejected":
		who := when(!f.Hook, "Partner") + when(f.Hook, "Webhook")
		switch {
		case f.Words != "":
			return who + ` refused: "` + f.Words + `"`
		case f.Status != 0:
			return who + " refused: status " + strconv.Itoa(f.Status)
		}
		return who + " refused"
	case "credential":
		return when(!f.Hook, "Partner refuses our login") + when(f.Hook, "Webhook refuses our signature") + when(f.Status != 0, " ("+strconv.Itoa(f.Status)+")")
	case "receipt-invalid":
		return "Receipt not trusted; partner probably has it"
	case "receipt-missing":
		return "No receipt" + when(f.Wait > 0, " within "+Span(f.Wait)) + "; partner may have it"
	case "local":
		return "Our side" + when(f.Detail != "", ": "+f.Detail)
	case "unknown-outcome":
		if f.Partly {
			return "Connection broke while it was being sent"
		}
		return "Connection broke after everything was sent"
	case "changed-content":
		return "Same reference as a delivered document, other content"
	}
	return reason
}

// ReasonGroupReceived is ReasonGroup for letters of what a partner sent us.
func ReasonGroupReceived(reason string) string {
	switch reason {
	case "signature":
		return "Received, and we refused it: signature or encryption"
	case "format":
		return "Received, and we refused it: malformed, or not as agreed"
	case "rejected":
		return "Received, and we refused it: not settled with them"
	case "local":
		return "Received, and could not be handed on"
	}
	return "Received: " + ReasonGroup(reason)
}

// ReasonGroup says why the letters of a group exist: what holds for all of
// them, without the numbers of one.
func ReasonGroup(reason string) string {
	switch reason {
	case "circuit-open":
		return "Not delivered: partner was down"
	case "max-attempts":
		return "Tried until the retries were used up"
	case "deadline":
		return "Too late: the due time passed"
	case "receipt-missing":
		return "No receipt in time; partner may have it"
	case "local":
		return "A fault of our own side"
	case "signature":
		return "A signature or encryption was rejected"
	case "unknown-outcome":
		return "Connection broke while or after it was sent"
	}
	return Reason(reason, ReasonFacts{})
}

func tried(n int) string {
	if n == 0 {
		return "not tried"
	}
	return "tried " + Count(n, "time", "times")
}

// ClosedProcessed says how the letter of a received document ended. post: of
// its way to a webhook.
func ClosedProcessed(end string, post bool) string {
	switch {
	case end == "superseded" && post:
		return "Put into the folder instead"
	case end == "superseded":
		return "Opened again and accepted"
	case end == "delivered" && !post:
		return "Handed on"
	}
	return ClosedAs(end)
}

// ClosedAs says how a letter ended.
func ClosedAs(end string) string {
	switch end {
	case "delivered":
		return "Delivered"
	case "delivered-late":
		return "Delivered (the receipt came late)"
	case "confirmed":
		return "Closed on the partner's word"
	case "superseded":
		return "Replaced by a newer edition"
	case "discarded":
		return "Discarded"
	case "withdrawn":
		return "Back in line: our own network was down"
	case "failed-again":
		return "Failed again"
	}
	return end
}
