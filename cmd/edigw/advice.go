package main

import (
	"strings"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// advice is what to do about an open letter: commands, each with what it is
// for. docs/errors.md says more.
func (l letterView) advice(kind string) []string {
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
	switch {
	case l.refused():
		return append(l.mend(), discard+"\tif they sent it again, or nobody needs it")
	case l.inbound():
		return []string{"edigw doctor\tfinds what is wrong on our side", "edigw dlq process " + l.ID + "\twhen it is repaired: hands the document on again", discard + "\tif nobody needs it"}
	case kind == string(queue.KindWebhook):
		return []string{replay + "\twhen the system behind inbox.webhook takes it", "edigw dlq process " + l.ID + "\tputs the document into the folder instead", settle + "\tif that system has it", discard + "\tif nobody needs it"}
	case kind == string(queue.KindReceipt):
		return []string{replay + "\tposts the same receipt again, when they take it there", settle + "\tif they do not wait for it any more"}
	}
	if l.Contra {
		return []string{settle + "\task them first: they said no, then yes; if they have it", replay + "\tif they do not have it; it keeps its Message-ID"}
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

// mend is what mends the cause of a refused message: nothing, if it must be
// sent again in any case.
func (l letterView) mend() (all []string) {
	switch words.RefusalOf(l.Detail) {
	case words.NotForUs:
		all = []string{"edigw cert export --use decrypt\tprints the certificate that they must encrypt to: send it to them"}
	case words.UnknownSigner:
		all = []string{"edigw cert list --partner " + l.Partner + "\tcompare the fingerprints with them by phone", "edigw cert import " + l.Partner + " FILE --use verify\tif they sign with a new certificate"}
	case words.NoLogin:
		return []string{"edigw partner show " + l.Partner + " --effective\ttls.inbound lists their client certificates; to add theirs: the file, then edigw reload. They must send it again"}
	case words.LessThanDemanded:
		section := "as4.receive"
		if strings.Contains(l.Detail, "as2.receive") {
			section = "as2.receive"
		}
		all = []string{"edigw partner show " + l.Partner + " --effective\t" + section + " says what is demanded; to change it: the file, then edigw reload"}
	case words.NotSettled:
		all = []string{"edigw partner show " + l.Partner + "\tsays what is settled; as4.receive.also takes more than one service and action"}
	case words.ReceiptElsewhere:
		all = []string{"edigw partner show " + l.Partner + " --effective\tas2.receive.receipt_urls lists the addresses; to add theirs: the file, then edigw reload"}
	case words.ReceiptNotOurs:
		all = []string{"edigw cert check\tnames keys of ours that are not in force"}
	case words.OtherRefusal:
	default:
		return nil
	}
	return append(all, "edigw dlq process "+l.ID+"\tthen: opens it again under the settings of today")
}

// sayAdvice prints it. kind is that of the letter's message.
func (e *env) sayAdvice(l letterView, kind string) {
	for i, line := range l.advice(kind) {
		head := ""
		if i == 0 {
			head = "next"
		}
		command, why, _ := strings.Cut(line, "\t")
		e.say("  %-10s  %s", head, command)
		e.say("  %-10s    %s", "", why)
	}
	page := "errors.md#" + string(l.Reason)
	switch {
	case l.refused():
		page = "errors.md#refused"
	case kind == string(queue.KindWebhook):
		page = "webhook.md#what-your-system-answers"
	}
	e.say("  %-10s  docs/%s", "", page)
}
