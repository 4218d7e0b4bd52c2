package retry

import (
	"slices"
	"strings"

	"edigw/fault"
)

// view is what a row may look at: the outcome, what the message went through
// before, and the acknowledgement, whose zero value stands for none.
type view struct {
	fault.Outcome
	History
	ack fault.Acknowledgement
}

func look(o fault.Outcome, h History) view {
	v := view{Outcome: o, History: h}
	if o.Ack != nil {
		v.ack = *o.Ack
	}
	return v
}

// stray fits an asynchronous acknowledgement for which nothing vouches.
// Message-IDs can be guessed, so that only a signature or the random token of
// its URL shows that it is the partner's (delivery.md §3). It came by itself
// if it was read from no response of ours. One that was cut off will be posted
// again by its sender, who saw no answer either.
func stray(v view) bool {
	if v.ack.Verdict == fault.AckNone || v.Status != 0 {
		return false
	}
	signed := v.ack.Verdict == fault.AckTrusted && v.ack.Signer != ""
	return v.ack.Verdict == fault.AckCutOff || !signed && !v.ack.Token
}

func positive(v view) bool { return v.ack.Verdict == fault.AckTrusted && v.ack.Positive }

// refusesByMDN fits a negative MDN that verified as asked.
func refusesByMDN(v view) bool {
	return v.ack.Verdict == fault.AckTrusted && !v.ack.Positive && v.ack.EBMS == ""
}

// refusesByCode fits an ebMS error. An error may come unsigned even where a
// receipt may not: a receiver that cannot make out the sender has no agreement
// to sign by.
func refusesByCode(v view) bool {
	return (v.ack.Verdict == fault.AckTrusted || v.ack.Verdict == fault.AckUnsigned) && !v.ack.Positive && v.ack.EBMS != ""
}

// duplicate fits a partner's answer that it has the message already. This is
// the one thing told by text (delivery.md §4): the standards want the first
// acknowledgement repeated instead (RFC 4130 §5.5, AS4 profile §3.2) and have
// no word for it.
func duplicate(v view) bool {
	switch {
	case refusesByMDN(v):
		// QUIRK(mendelson): a repeated Message-ID is answered with an error.
		// A repeated file name, duplicate-filename, is another matter.
		if word := dispositionWord(v.ack.Text); word != "" && word != "unexpected-processing-error" {
			return says(word, "duplicate") && !says(word, "filename")
		}
		return says(v.ack.Detail, "duplicate")
	case refusesByCode(v):
		return v.ack.Verdict == fault.AckTrusted && duplicateCode(v)
	}
	return v.ack.Verdict == fault.AckNone && v.Status == 409
}

// duplicateCode fits an ebMS error that says so. Whoever stands between may break
// an attempt off and answer the next: unsigned it proves nothing.
//
// QUIRK(phase4): 4001 since 4.5.0; before, 0004 and "Another message with the
// same Message ID … was already received!".
func duplicateCode(v view) bool {
	return refusesByCode(v) && (code(v) == "4001" || code(v) == "0004" && (says(v.ack.Detail, "duplicate") || says(v.ack.Detail, "already received")))
}

func uncertain(v view) bool { return v.Uncertain }

// notServiced fits the one refusal for which a profile, Peppol AS4, puts a code
// of its own into the detail: the receiver is not served here.
func notServiced(v view) bool {
	return ebms("0004")(v) && says(v.ack.Detail, "peppol:not_serviced")
}

// soapFault fits an answer that is nothing but a SOAP fault: its code stands where
// that of an ebMS error would.
func soapFault(v view) bool { return refusesByCode(v) && strings.HasPrefix(code(v), "ENV:") }

func says(text, word string) bool { return strings.Contains(strings.ToLower(text), word) }

// dispositionWord is the first word of what follows a disposition modifier,
// in lower case: partners append explanations.
func dispositionWord(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if i := strings.IndexAny(text, " \t,;:"); i >= 0 {
		text = text[:i]
	}
	return text
}

// code is the ebMS error code without its prefix.
func code(v view) string {
	c := strings.ToUpper(strings.TrimSpace(v.ack.EBMS))
	return strings.TrimPrefix(c, "EBMS:")
}

// cutShort fits an exchange that ended after the first byte of the body
// without an answer that could settle it.
func cutShort(v view) bool {
	final := v.Status >= 300 || status(200, 299)(v) && v.AckAsked != fault.AckSync
	return reached(v) && (v.ack.Verdict == fault.AckCutOff || v.ack.Verdict == fault.AckNone && !final)
}

func reached(v view) bool  { return v.Phase.Reached() }
func protocol(v view) bool { return v.Protocol }

// broken fits every way in which the network, or the partner's end of it, can
// leave an exchange without an answer.
func broken(v view) bool {
	return causes(fault.CauseDNS, fault.CauseRefused, fault.CauseUnreachable, fault.CauseConnectTimeout,
		fault.CauseTLSTimeout, fault.CauseTLSTrust, fault.CauseTLS, fault.CauseReset, fault.CauseTimeout)(v)
}

func verdicts(want ...fault.AckVerdict) func(view) bool {
	return func(v view) bool { return slices.Contains(want, v.ack.Verdict) }
}

func disposition(words ...string) func(view) bool {
	return func(v view) bool { return refusesByMDN(v) && slices.Contains(words, dispositionWord(v.ack.Text)) }
}

func ebms(codes ...string) func(view) bool {
	return func(v view) bool { return refusesByCode(v) && slices.Contains(codes, code(v)) }
}

func causes(want ...fault.Cause) func(view) bool {
	return func(v view) bool { return slices.Contains(want, v.Cause) }
}

func statuses(want ...int) func(view) bool {
	return func(v view) bool { return slices.Contains(want, v.Status) }
}

func status(from, to int) func(view) bool {
	return func(v view) bool { return from <= v.Status && v.Status <= to }
}

func asked(want fault.AckTiming) func(view) bool {
	return func(v view) bool { return v.AckAsked == want }
}

func both(a, b func(view) bool) func(view) bool {
	return func(v view) bool { return a(v) && b(v) }
}

func either(a, b func(view) bool) func(view) bool {
	return func(v view) bool { return a(v) || b(v) }
}

func no(a func(view) bool) func(view) bool {
	return func(v view) bool { return !a(v) }
}
