package alerts

import (
	"strings"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
)

// suspect is what usually stands behind letters of one cause or reason.
type suspect struct {
	news  string // "rejected", after a count
	side  string // whose it probably is, and why
	do    string
	words bool // the detail is in the partner's words
}

// suspects is keyed by configuration-like cause and by reason of a letter;
// where both have one name they mean the same.
var suspects = map[string]suspect{
	"decryption-failed":     {"rejected", "theirs: they changed their certificate", "ask for the new certificate, import it", true},
	"authentication-failed": {"rejected", "ours: they do not know the certificate that we sign with", "send them our certificate, or sign with the one that they have", true},
	"receipt-signer":        {"with an untrusted receipt", "theirs: they sign receipts with a new certificate", "ask for the new certificate, import it, press Re-check", false},
	"403":                   {"refused: no access (403)", "theirs: they do not let us in, or our address or URL changed", "ask them to let us in, check the URL", true},
	"ebms-0001":             {"rejected", "ours or theirs: an agreement, service or action that they do not know", "compare the agreement with theirs", true},
	"ebms-0003":             {"rejected", "ours or theirs: values of the agreement that do not fit each other", "compare the agreement with theirs", true},
	"ebms-0010":             {"rejected", "ours or theirs: no P-Mode of theirs fits", "compare the P-Mode with theirs", true},
	"ebms-0101":             {"rejected", "ours: they do not know the certificate that we sign with", "send them our certificate", true},
	"ebms-0102":             {"rejected", "theirs: they changed their certificate", "ask for the new certificate, import it", true},
	"ebms-0103":             {"rejected", "ours: signed or encrypted otherwise than agreed", "compare the algorithms with theirs", true},

	string(fault.ReasonCircuitOpen):    {"not delivered: partner was down", "theirs", "replay when it answers", false},
	string(fault.ReasonMaxAttempts):    {"tried without success", "theirs", "read the last error, then replay", false},
	string(fault.ReasonDeadline):       {"too late", "theirs, if it was down; else ours: too little time", "ask whether they still want it, then replay or discard", false},
	string(fault.ReasonSignature):      {"rejected: signature or encryption", "ours or theirs: a certificate changed on one side", "compare the fingerprints by phone", true},
	string(fault.ReasonFormat):         {"malformed", "ours: the producer of the document", "have the producer correct it", false},
	string(fault.ReasonRejected):       {"rejected", "theirs, they refuse the document", "read their words, then correct or replay", true},
	string(fault.ReasonCredential):     {"refused: our login", "ours: the login or its password is not what they expect (401)", "put the right password into its file", true},
	string(fault.ReasonReceiptInvalid): {"with an untrusted receipt", "theirs; they probably have it", "ask whether they have it, press Re-check or Close as delivered", false},
	string(fault.ReasonReceiptMissing): {"without a receipt", "theirs; they may have it", "ask whether they have it before you replay", false},
	string(fault.ReasonLocal):          {"not sent: our side", "ours: a key, certificate, file or proxy", "repair what the text names", false},
	string(fault.ReasonUnknownOutcome): {"with unknown outcome", "not known; they may have it", "ask whether they have it before you replay", false},
	string(fault.ReasonChangedContent): {"with changed content", "ours: the producer sent other content under one reference", "send it as a new edition, or discard it", false},
}

// received is suspects for letters of what the partner sent us: there we are
// the one who refuses.
var received = map[string]suspect{
	string(fault.ReasonSignature): {"received, and refused by us: signature or encryption", "theirs or ours: a certificate or a setting changed on one side", "read why we refused, mend that, then Process again", false},
	string(fault.ReasonFormat):    {"received, and refused by us", "theirs, unless the text names a setting", "read why we refused, tell them or correct the setting, then Process again", false},
	string(fault.ReasonRejected):  {"received, and refused by us: not settled", "theirs or ours: a service, action or agreement that one side changed", "ask who is right, settle it, then Process again", false},
	string(fault.ReasonLocal):     {"received, and not handed on: our side", "ours: the folder, the disk or a setting", "repair what the text names, then Hand on again", false},
}

// suspected is what usually stands behind the letters of an incident.
func (in Incident) suspected() (c suspect, known bool) {
	if in.Facts["direction"] == string(queue.In) {
		if c, known = received[in.Cause]; known {
			return c, true
		}
	}
	c, known = suspects[in.Cause]
	return c, known
}

func draftLetters(t telling) draft {
	l := t.s.Letters
	c, known := t.in.suspected()
	if !known {
		c = suspect{news: "not delivered", side: "not known", do: "read the last error, then replay"}
	}
	if t.in.News == NewsOver {
		d := t.ended()
		d.news = ": all letters settled, 0 lost"
		d.line = trimColon(d.news)
		d.lines = append(d.lines, "They were: "+c.news+".", t.ends())
		return d
	}
	fix := t.s.fixes(t.in)
	waits := t.s.Depth.Lined
	d := draft{news: ": " + number(l.Open) + " " + c.news}
	if fix {
		d.news += ", lane stopped, " + number(waits) + " wait"
	}
	detail := l.Detail
	if detail == "" {
		detail = t.in.Detail
	}
	since := t.in.Opened
	if !l.Oldest.IsZero() && l.Oldest.Before(since) {
		since = l.Oldest
	}
	last := words.Count(l.Open, "document", "documents") + " since " + t.clock(since) + ": " + t.in.Cause
	if l.Open > 1 {
		last = "All " + number(l.Open) + " since " + t.clock(since) + ": " + t.in.Cause
	}
	if detail != "" && c.words && !strings.Contains(detail, "their words") {
		last += " (their words: \"" + detail + "\")"
	} else if detail != "" {
		last += " (" + detail + ")"
	}
	side := c.side
	if fix && t.s.Lane.Fix.Detail != "" && t.s.Lane.Fix.Detail != detail {
		side += " (" + clip(clean(t.s.Lane.Fix.Detail), maxText) + ")"
	}
	d.lines = []string{
		last + ".",
		when(t.in.Cause == "decryption-failed" || t.in.Cause == "ebms-0102", t.serial()),
		"Likely side: " + side + ".",
		when(l.Uncertain > 0, number(l.Uncertain)+" unknown: partner may have it."),
		when(fix, "Not lost, not tried: "+number(waits)+"."),
	}
	do := c.do
	if fix {
		do += ", press Replay " + number(l.Open) + " and start"
	}
	d.do = trim(do, t.call())
	d.line = join(d.news[2:], when(l.Uncertain > 0, number(l.Uncertain)+" unknown"), "side: "+c.side)
	return d
}

// serial says which certificate we encrypt to.
func (t telling) serial() string {
	c := t.s.Encrypts
	if c == nil {
		return ""
	}
	return "We encrypt to serial " + c.Serial + ", valid to " + c.Ends.In(t.zone).Format("2006-01-02") + "."
}

// uses are what a certificate is for, in words, and what stops when it ends.
var uses = map[string]struct{ name, stops string }{
	partner.UseSign:      {"signing certificate", "everything we sign: they refuse it"},
	partner.UseDecrypt:   {"decryption certificate", "everything encrypted that they send us"},
	partner.UseVerify:    {"signature certificate", "receipts are no longer trusted, their documents are refused"},
	partner.UseEncrypt:   {"encryption certificate", "everything we send them"},
	partner.UseTLSClient: {"TLS client certificate", "everything we send them: their server lets us in no more"},
	partner.UseTLSServer: {"TLS certificate of our listener", "everything that partners send us"},
	partner.UseTLSTrust:  {"TLS certificate of their server", "everything we send them: we no longer trust their server"},
	partner.UseTLSIn:     {"TLS client certificate of theirs", "everything they send us: our server lets them in no more"},
	partner.UseAuthority: {"authority of their signatures", "receipts are no longer trusted, their documents are refused"},
}
