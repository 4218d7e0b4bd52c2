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
	Detail string        // format: what is wrong where; local: what to fix
	Partly bool          // unknown-outcome: the connection broke while the document was being sent
}

// Reason says why a letter exists.
func Reason(reason string, f ReasonFacts) string {
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
		switch {
		case f.Words != "":
			return `Partner refused: "` + f.Words + `"`
		case f.Status != 0:
			return "Partner refused: status " + strconv.Itoa(f.Status)
		}
		return "Partner refused"
	case "credential":
		return "Partner refuses our login" + when(f.Status != 0, " ("+strconv.Itoa(f.Status)+")")
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
