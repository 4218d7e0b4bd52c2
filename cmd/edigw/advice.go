package main

import (
	"strings"

	"edigw/fault"
)

// advice is what to do about an open letter: commands, each with what it is
// for. docs/errors.md says more.
func (l letterView) advice() []string {
	replay, settle, discard := "edigw dlq replay "+l.ID, "edigw dlq settle "+l.ID+" --note \"who said so\"", "edigw dlq discard "+l.ID+" --why \"…\""
	if l.Uncertain {
		replay += " --confirm possible-duplicate"
	}
	first := map[fault.Reason][]string{
		fault.ReasonMaxAttempts:    {"edigw partner test " + l.Partner + "\tnames what does not work"},
		fault.ReasonSignature:      {"edigw cert list --partner " + l.Partner + "\tcompare fingerprints with them; edigw cert import takes their new one"},
		fault.ReasonRejected:       {"edigw partner show " + l.Partner + " --effective\tids and URL, against what they say"},
		fault.ReasonCredential:     {"edigw partner test " + l.Partner + "\tafter the new password is in its file"},
		fault.ReasonReceiptInvalid: {"edigw cert import " + l.Partner + " FILE\tif they sign receipts with a new certificate", "edigw dlq recheck " + l.ID + "\tverifies the receipt again, sends nothing"},
		fault.ReasonLocal:          {"edigw doctor\tfinds what is wrong on our side; then edigw reload"},
	}[l.Reason]
	if l.Direction == "in" {
		return append(first, discard+"\tif nobody needs it; else POST /api/v1/letters/"+l.ID+"/process hands it on again")
	}
	switch l.Reason {
	case fault.ReasonCircuitOpen:
		if l.Outage != "" {
			first = append(first, "edigw dlq replay --outage "+l.Outage+"\tall letters of the outage, when the partner answers again")
		}
		return append(first, replay+"\tthis one alone")
	case fault.ReasonReceiptInvalid, fault.ReasonReceiptMissing, fault.ReasonUnknownOutcome:
		return append(first, settle+"\tthey have it", replay+"\tthey do not have it")
	case fault.ReasonFormat:
		return append(first, discard+"\tafter a corrected document was sent", replay+"\tif the partner's rules were at fault and are changed")
	case fault.ReasonChangedContent:
		return append(first, replay+" --confirm changed-content\tas a new edition, if they expect it", discard+"\tif it is a mistake")
	case fault.ReasonDeadline:
		return append(first, replay+"\tif it is still of use; without a deadline", discard+"\tif not")
	}
	return append(first, replay+"\twhen it is repaired")
}

// sayAdvice prints it.
func (e *env) sayAdvice(l letterView) {
	for i, line := range l.advice() {
		head := ""
		if i == 0 {
			head = "next"
		}
		command, why, _ := strings.Cut(line, "\t")
		e.say("  %-10s  %s", head, command)
		e.say("  %-10s    %s", "", why)
	}
	e.say("  %-10s  docs/errors.md#%s", "", l.Reason)
}
