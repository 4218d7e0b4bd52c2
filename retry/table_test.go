package retry

import (
	"slices"
	"testing"
	"time"

	"edigw/fault"

	"pgregory.net/rapid"
)

// answer is an exchange that ended with a status.
func answer(status int, asked fault.AckTiming) fault.Outcome {
	return fault.Outcome{Phase: fault.PhaseDone, Status: status, AckAsked: asked}
}

// mdn is a 200 with a verified MDN; a text makes it processed/error.
func mdn(text string) fault.Outcome {
	o := answer(200, fault.AckSync)
	o.Protocol = true
	o.Ack = &fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: text == "", Type: "processed", Text: text, Signer: "ab12"}
	if text != "" {
		o.Ack.Modifier = "error"
	}
	return o
}

// signal is a SOAP answer with a verified ebMS error, on a 500 as SOAP wants.
func signal(code, detail string) fault.Outcome {
	o := answer(500, fault.AckSync)
	o.Protocol = true
	o.Ack = &fault.Acknowledgement{Verdict: fault.AckTrusted, EBMS: code, Detail: detail, Signer: "ab12"}
	return o
}

// distrusted is a 200 with an acknowledgement that was read as v.
func distrusted(v fault.AckVerdict) fault.Outcome {
	o := mdn("")
	o.Ack.Verdict = v
	return o
}

// alone is an acknowledgement that came by itself.
func alone(v fault.AckVerdict, signer string, token bool) fault.Outcome {
	return fault.Outcome{AckAsked: fault.AckAsync, Ack: &fault.Acknowledgement{Verdict: v, Positive: true, Signer: signer, Token: token}}
}

func fails(p fault.Phase, c fault.Cause) fault.Outcome {
	return fault.Outcome{Phase: p, Cause: c, AckAsked: fault.AckSync}
}

func with(o fault.Outcome, change func(*fault.Outcome)) fault.Outcome {
	change(&o)
	return o
}

var examples = []struct {
	name string
	o    fault.Outcome
	h    History
	rule string
}{
	{"unsigned async without token settles nothing", alone(fault.AckTrusted, "", false), History{}, "ack-stray"},
	{"forged async without token settles nothing", alone(fault.AckBadSignature, "ab12", false), History{}, "ack-stray"},
	{"negative async without token settles nothing", with(alone(fault.AckTrusted, "", false), func(o *fault.Outcome) { o.Ack.Positive = false }), History{}, "ack-stray"},
	{"cut-off async settles nothing, token or not", alone(fault.AckCutOff, "", true), History{}, "ack-stray"},
	{"signed async settles", alone(fault.AckTrusted, "ab12", false), History{}, "receipt"},
	{"unsigned async with token settles", alone(fault.AckTrusted, "", true), History{}, "receipt"},
	{"forged async with token is a receipt not to be trusted", alone(fault.AckBadSignature, "", true), History{}, "receipt-signature"},
	{"positive", mdn(""), History{}, "receipt"},
	{"warning is positive", with(mdn(""), func(o *fault.Outcome) { o.Ack.Modifier, o.Ack.Text = "warning", "authentication-failed" }), History{}, "receipt"},
	{"acknowledgement before a bad status", with(mdn(""), func(o *fault.Outcome) { o.Status = 500 }), History{}, "receipt"},
	{"acknowledgement before a broken connection", with(mdn(""), func(o *fault.Outcome) { o.Cause = fault.CauseReset }), History{}, "receipt"},
	{"acknowledgement though none was asked", with(mdn(""), func(o *fault.Outcome) { o.AckAsked = fault.AckNotAsked }), History{}, "receipt"},
	{"stopped while sending", fails(fault.PhaseBody, fault.CauseStopped), History{}, "stopped-sending"},
	{"stopped while waiting", fails(fault.PhaseSent, fault.CauseStopped), History{}, "stopped-sending"},
	{"stopped while reading the receipt", with(distrusted(fault.AckCutOff), func(o *fault.Outcome) { o.Cause = fault.CauseStopped }), History{}, "stopped-sending"},
	{"stopped after 200, receipt not begun", with(answer(200, fault.AckSync), func(o *fault.Outcome) { o.Cause = fault.CauseStopped }), History{}, "stopped-sending"},
	{"stopped after 503: the status wins", with(answer(503, fault.AckSync), func(o *fault.Outcome) { o.Cause = fault.CauseStopped }), History{}, "http-busy"},
	{"stopped after 202: the status wins", with(answer(202, fault.AckAsync), func(o *fault.Outcome) { o.Cause = fault.CauseStopped }), History{}, "http-accepted"},
	{"receipt cut off", distrusted(fault.AckCutOff), History{}, "receipt-cut-off"},
	{"receipt by a stranger", distrusted(fault.AckWrongSigner), History{}, "receipt-signer"},
	{"receipt with a bad signature", distrusted(fault.AckBadSignature), History{}, "receipt-signature"},
	{"receipt unsigned", distrusted(fault.AckUnsigned), History{}, "receipt-unsigned"},
	{"negative MDN unsigned", with(mdn("decryption-failed"), func(o *fault.Outcome) { o.Ack.Verdict = fault.AckUnsigned }), History{}, "receipt-unsigned"},
	{"MIC mismatch", distrusted(fault.AckMICMismatch), History{}, "receipt-digest"},
	{"ebMS 0302", signal("EBMS:0302", ""), History{}, "receipt-digest"},
	{"receipt malformed", distrusted(fault.AckMalformed), History{}, "receipt-malformed"},
	{"two Dispositions", distrusted(fault.AckContradictory), History{}, "receipt-malformed"},
	{"receipt of another message", distrusted(fault.AckOtherMessage), History{}, "receipt-other"},
	{"409 after an uncertain attempt", answer(409, fault.AckSync), History{Uncertain: true}, "duplicate-answer"},
	{"409 out of the blue", answer(409, fault.AckSync), History{}, "duplicate-refused"},
	{"duplicate MDN after an uncertain attempt", mdn("duplicate-document"), History{Uncertain: true}, "duplicate-answer"},
	{"duplicate MDN out of the blue", mdn("Duplicate-Document"), History{}, "duplicate-refused"},
	{"duplicate told in the text part", with(mdn("unexpected-processing-error"), func(o *fault.Outcome) { o.Ack.Detail = "Duplicate message id." }), History{}, "duplicate-refused"},
	{"duplicate file name is no duplicate message", mdn("duplicate-filename"), History{Uncertain: true}, "as2-refused"},
	{"a verified refusal on a 409 counts, not the 409", with(mdn("decryption-failed"), func(o *fault.Outcome) { o.Status = 409 }), History{Uncertain: true}, "as2-decryption-failed"},
	{"a detail does not overrule a clear disposition", with(mdn("decryption-failed"), func(o *fault.Outcome) { o.Ack.Detail = "not a duplicate" }), History{Uncertain: true}, "as2-decryption-failed"},
	{"ebMS 4001", signal("4001", ""), History{Uncertain: true}, "duplicate-answer"},
	{"ebMS 0004 with a duplicate", signal("EBMS:0004", "Another message with the same ID was a Duplicate"), History{}, "duplicate-refused"},
	{"ebMS 0004 of phase4", signal("EBMS:0004", "Another message with the same Message ID 'a@b' was already received!"), History{Uncertain: true}, "duplicate-answer"},
	{"warning duplicate-document is positive", with(mdn(""), func(o *fault.Outcome) { o.Ack.Modifier, o.Ack.Text = "warning", "duplicate-document" }), History{}, "receipt"},
	{"authentication-failed", mdn("authentication-failed"), History{}, "as2-authentication-failed"},
	{"decryption-failed with an explanation", mdn("Decryption-Failed, no key for serial 4F:22"), History{}, "as2-decryption-failed"},
	{"integrity-check-failed", mdn("integrity-check-failed"), History{}, "as2-security"},
	{"insufficient-message-security", mdn("insufficient-message-security"), History{}, "as2-security"},
	{"OpenAS2 signed-message-required", mdn("signed-message-required"), History{}, "as2-security"},
	{"decompression-failed", mdn("decompression-failed"), History{}, "as2-decompression-failed"},
	{"OpenAS2 decompresion-failed", mdn("decompresion-failed"), History{}, "as2-decompression-failed"},
	{"unexpected-processing-error", mdn("unexpected-processing-error"), History{}, "as2-unexpected"},
	{"unsupported MIC-algorithms", mdn("unsupported MIC-algorithms"), History{}, "as2-refused"},
	{"unknown-trading-relationship", mdn("unknown-trading-relationship"), History{}, "as2-refused"},
	{"ebMS 0006", signal("EBMS:0006", ""), History{}, "ebms-elsewhere"},
	{"ebMS 0060", signal("EBMS:0060", ""), History{}, "ebms-elsewhere"},
	{"ebMS 0020", signal("EBMS:0020", ""), History{}, "ebms-busy"},
	{"ebMS 0301", signal("EBMS:0301", ""), History{}, "ebms-0301"},
	{"Peppol not serviced", signal("EBMS:0004", "PEPPOL:NOT_SERVICED"), History{}, "ebms-not-serviced"},
	{"ebMS 0004", signal("ebms:0004", "still in progress"), History{Uncertain: true}, "ebms-0004"},
	{"ebMS 0007", signal("EBMS:0007", ""), History{}, "ebms-limited"},
	{"ebMS 0001", signal("EBMS:0001", ""), History{}, "ebms-0001"},
	{"ebMS 0003", signal("EBMS:0003", ""), History{}, "ebms-0003"},
	{"ebMS 0010", signal("EBMS:0010", ""), History{}, "ebms-0010"},
	{"ebMS 0101", signal("EBMS:0101", ""), History{}, "ebms-0101"},
	{"ebMS 0101 unsigned", with(signal("EBMS:0101", ""), func(o *fault.Outcome) { o.Ack.Verdict = fault.AckUnsigned }), History{}, "ebms-0101"},
	{"ebMS 0102", signal("EBMS:0102", ""), History{}, "ebms-0102"},
	{"ebMS 0103", signal("EBMS:0103", ""), History{}, "ebms-0103"},
	{"ebMS 0303", signal("EBMS:0303", ""), History{}, "ebms-format"},
	{"ebMS 0051", signal("EBMS:0051", ""), History{}, "ebms-refused"},
	{"SOAP fault Sender", signal("env:Sender", "no header"), History{}, "soap-sender"},
	{"SOAP fault MustUnderstand, unsigned", with(signal("env:MustUnderstand", ""), func(o *fault.Outcome) { o.Ack.Verdict = fault.AckUnsigned }), History{}, "soap-sender"},
	{"SOAP fault Receiver", signal("env:Receiver", "a duplicate key in the database"), History{Uncertain: true}, "soap-receiver"},
	{"SOAP fault of a code of their own", signal("env:Busy", ""), History{}, "soap-receiver"},
	{"ebMS 9999", signal("EBMS:9999", ""), History{}, "ebms-unknown"},
	{"own key expired", fails(fault.PhaseNone, fault.CauseKey), History{}, "local"},
	{"payload unreadable", fails(fault.PhaseNone, fault.CausePayload), History{}, "local"},
	{"cannot build", fails(fault.PhaseNone, fault.CauseBuild), History{}, "local"},
	{"no such receiver", fails(fault.PhaseNone, fault.CauseNotListed), History{}, "not-listed"},
	{"a receiver's SMP is down", fails(fault.PhaseResolve, fault.CauseDirectory), History{}, "directory"},
	{"proxy wants a login, its status noted", with(fails(fault.PhaseProxy, fault.CauseProxyAuth), func(o *fault.Outcome) { o.Status = 407 }), History{}, "proxy-login"},
	{"proxy refuses, its status noted", with(fails(fault.PhaseProxy, fault.CauseProxy), func(o *fault.Outcome) { o.Status = 502 }), History{}, "proxy"},
	{"202, MDN later", answer(202, fault.AckAsync), History{}, "http-accepted"},
	{"204, MDN later", answer(204, fault.AckAsync), History{}, "http-accepted"},
	{"299, MDN later", answer(299, fault.AckAsync), History{}, "http-accepted"},
	{"200 and a lost body, MDN later", with(answer(200, fault.AckAsync), func(o *fault.Outcome) { o.Cause = fault.CauseReset }), History{}, "http-accepted"},
	{"204, none asked", answer(204, fault.AckNotAsked), History{}, "http-only"},
	{"HTML instead of a receipt", answer(200, fault.AckSync), History{}, "receipt-absent"},
	{"408", answer(408, fault.AckSync), History{}, "http-busy"},
	{"425", answer(425, fault.AckSync), History{}, "http-busy"},
	{"503 wins over the reset after it", with(answer(503, fault.AckSync), func(o *fault.Outcome) { o.Cause = fault.CauseReset }), History{}, "http-busy"},
	{"429", answer(429, fault.AckSync), History{}, "http-429"},
	{"401", answer(401, fault.AckSync), History{}, "http-login"},
	{"407 of the partner's side", answer(407, fault.AckSync), History{}, "http-login"},
	{"403", answer(403, fault.AckSync), History{}, "http-403"},
	{"404 of a web server", answer(404, fault.AckSync), History{}, "http-404"},
	{"404 of an AS4 server", with(answer(404, fault.AckSync), func(o *fault.Outcome) { o.Protocol = true }), History{}, "http-refused"},
	{"502", answer(502, fault.AckSync), History{}, "http-gateway"},
	{"504", answer(504, fault.AckSync), History{}, "http-gateway"},
	{"301", answer(301, fault.AckSync), History{}, "http-refused"},
	{"413 before the body was sent", with(answer(413, fault.AckSync), func(o *fault.Outcome) { o.Phase = fault.PhaseResponse }), History{}, "http-refused"},
	{"501", answer(501, fault.AckSync), History{}, "http-refused"},
	{"505", answer(505, fault.AckSync), History{}, "http-refused"},
	{"500", answer(500, fault.AckSync), History{}, "http-5xx"},
	{"507", answer(507, fault.AckSync), History{}, "http-5xx"},
	{"stopped before the body", fails(fault.PhaseRequest, fault.CauseStopped), History{}, "stopped"},
	{"reset while sending", fails(fault.PhaseBody, fault.CauseReset), History{}, "cut-off"},
	{"no answer in time", fails(fault.PhaseSent, fault.CauseTimeout), History{}, "cut-off"},
	{"TLS alert after the body began", fails(fault.PhaseBody, fault.CauseTLS), History{}, "cut-off"},
	{"untrusted TLS certificate", fails(fault.PhaseTLS, fault.CauseTLSTrust), History{}, "tls-trust"},
	{"name not found", fails(fault.PhaseResolve, fault.CauseDNS), History{}, "unreachable"},
	{"refused", fails(fault.PhaseConnect, fault.CauseRefused), History{}, "unreachable"},
	{"no route", fails(fault.PhaseConnect, fault.CauseUnreachable), History{}, "unreachable"},
	{"no connection in time", fails(fault.PhaseConnect, fault.CauseConnectTimeout), History{}, "unreachable"},
	{"no handshake in time", fails(fault.PhaseTLS, fault.CauseTLSTimeout), History{}, "unreachable"},
	{"no common TLS version", fails(fault.PhaseTLS, fault.CauseTLS), History{}, "unreachable"},
	{"reset before the body", fails(fault.PhaseRequest, fault.CauseReset), History{}, "unreachable"},
	{"nothing known", fault.Outcome{}, History{}, "unclassified"},
	{"no word on whether a receipt was asked for", answer(200, ""), History{}, "unclassified"},
	{"stopped after the body, asked for who knows what", with(answer(200, ""), func(o *fault.Outcome) { o.Cause = fault.CauseStopped }), History{}, "unclassified"},
	{"status of no class", answer(999, fault.AckSync), History{}, "unclassified"},
}

func TestFirstRowThatFitsDecides(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"ack-missing": true}
	for _, c := range examples {
		seen[c.rule] = true
		if got := Classify(c.o, c.h).Rule; got != c.rule {
			t.Errorf("%s: got %s, want %s", c.name, got, c.rule)
		}
	}
	for _, r := range table {
		if !seen[r.id] {
			t.Errorf("row %s has no example", r.id)
		}
	}
}

// The codes that delivery.md §4 lists, row by row.
func TestEveryListedCodeHasItsRow(t *testing.T) {
	t.Parallel()
	listed := map[string][]string{
		"receipt-digest": {"0302"},
		"ebms-elsewhere": {"0006", "0046", "0060"},
		"ebms-busy":      {"0005", "0020", "0021", "0054"},
		"ebms-0301":      {"0301"},
		"ebms-0004":      {"0004"},
		"ebms-limited":   {"0007", "0022", "0201", "0202"},
		"ebms-format":    {"0009", "0303"},
		"ebms-refused": {"0002", "0008", "0011", "0023", "0030", "0031", "0040", "0041", "0042", "0043", "0044", "0045",
			"0047", "0048", "0049", "0050", "0051", "0052", "0053", "0055"},
		"ebms-0001": {"0001"}, "ebms-0003": {"0003"}, "ebms-0010": {"0010"},
		"ebms-0101": {"0101"}, "ebms-0102": {"0102"}, "ebms-0103": {"0103"},
		"duplicate-refused": {"4001"},
	}
	for want, codes := range listed {
		for _, c := range codes {
			if got := Classify(signal("EBMS:"+c, ""), History{}).Rule; got != want {
				t.Errorf("%s: got %s, want %s", c, got, want)
			}
		}
	}
}

func TestRowsAreWellFormed(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, r := range table {
		if ids[r.id] {
			t.Errorf("%s: id used twice", r.id)
		}
		ids[r.id] = true
		if !slices.Contains(Classes, r.class) {
			t.Errorf("%s: unknown class %q", r.id, r.class)
		}
		if r.reason != "" && !slices.Contains(fault.Reasons, r.reason) {
			t.Errorf("%s: unknown reason %q", r.id, r.reason)
		}
		if (r.when == nil) != (r.class == AckMissing) {
			t.Errorf("%s: only the row of no exchange has no predicate", r.id)
		}
		dies := !slices.Contains([]Class{Success, Accepted, NotAnAttempt, NoOutcome}, r.class) && r.proof == ""
		if dies != (r.reason != "") {
			t.Errorf("%s: %s with reason %q", r.id, r.class, r.reason)
		}
		if r.uncertain && r.definite {
			t.Errorf("%s: both uncertain and definite", r.id)
		}
	}
	if last := table[len(table)-1]; last.id != "unclassified" || !last.defect || !last.when(view{}) {
		t.Errorf("the last row is %s, not the one that fits everything", last.id)
	}
}

func TestRetryAfterIsHandedOnWhereThereIsARetry(t *testing.T) {
	t.Parallel()
	asks := func(o *fault.Outcome) { o.HasRetry, o.RetryAfter = true, 30*time.Second }
	for _, c := range []struct {
		o    fault.Outcome
		want bool
	}{
		{answer(503, fault.AckSync), true},
		{answer(429, fault.AckSync), true},
		{answer(502, fault.AckSync), true},
		{answer(500, fault.AckSync), true},
		{signal("EBMS:0021", ""), true},
		{answer(301, fault.AckSync), false},
		{answer(401, fault.AckSync), false},
		{mdn(""), false},
	} {
		v := Classify(with(c.o, asks), History{})
		if v.HasAfter != c.want || (v.After == 30*time.Second) != c.want {
			t.Errorf("%s: got %v %v, want %v", v.Rule, v.HasAfter, v.After, c.want)
		}
	}
	if v := Classify(answer(503, fault.AckSync), History{}); v.HasAfter {
		t.Errorf("no header, yet After %v", v.After)
	}
}

func TestMissingAck(t *testing.T) {
	t.Parallel()
	v := MissingAck()
	if v.Rule != "ack-missing" || v.Class != AckMissing || v.Signal != fault.SignalNeutral || v.Reason != fault.ReasonReceiptMissing || !v.Uncertain {
		t.Errorf("got %+v", v)
	}
}

// anyOutcome draws facts as an exchange or an asynchronous acknowledgement can
// leave them, and some that none should.
func anyOutcome(t *rapid.T) fault.Outcome {
	causes := []fault.Cause{fault.CauseNone, fault.CauseDNS, fault.CauseRefused, fault.CauseUnreachable, fault.CauseConnectTimeout,
		fault.CauseTLSTimeout, fault.CauseTLSTrust, fault.CauseTLS, fault.CauseProxy, fault.CauseProxyAuth, fault.CauseReset,
		fault.CauseTimeout, fault.CauseStopped, fault.CauseKey, fault.CausePayload, fault.CauseBuild, fault.CauseNotListed, fault.CauseDirectory, "new"}
	o := fault.Outcome{
		Phase:      fault.Phase(rapid.IntRange(0, int(fault.PhaseDone)).Draw(t, "phase")),
		Cause:      rapid.SampledFrom(causes).Draw(t, "cause"),
		AckAsked:   rapid.SampledFrom([]fault.AckTiming{fault.AckNotAsked, fault.AckSync, fault.AckAsync, ""}).Draw(t, "asked"),
		Protocol:   rapid.Bool().Draw(t, "protocol"),
		HasRetry:   rapid.Bool().Draw(t, "hasRetry"),
		RetryAfter: time.Duration(rapid.Int64().Draw(t, "retryAfter")),
	}
	if o.Phase >= fault.PhaseResponse || o.Cause == fault.CauseProxy || o.Cause == fault.CauseProxyAuth {
		o.Status = rapid.IntRange(100, 620).Draw(t, "status")
	}
	if rapid.Bool().Draw(t, "acknowledged") {
		o.Ack = &fault.Acknowledgement{
			Verdict: rapid.SampledFrom([]fault.AckVerdict{fault.AckNone, fault.AckTrusted, fault.AckCutOff, fault.AckBadSignature, fault.AckWrongSigner,
				fault.AckMICMismatch, fault.AckUnsigned, fault.AckMalformed, fault.AckOtherMessage, fault.AckContradictory}).Draw(t, "verdict"),
			Positive: rapid.Bool().Draw(t, "positive"),
			Text: rapid.SampledFrom([]string{"", "authentication-failed", "decryption-failed", "integrity-check-failed", "unsupported format",
				"unexpected-processing-error", "decompression-failed", "duplicate-document", "duplicate-filename", "?"}).Draw(t, "text"),
			EBMS:   rapid.OneOf(rapid.Just(""), rapid.StringMatching(`EBMS:0[0-3][0-9]{2}`), rapid.SampledFrom([]string{"EBMS:4001", "4001", "EBMS:", "x"})).Draw(t, "ebms"),
			Detail: rapid.SampledFrom([]string{"", "Duplicate", "PEPPOL:NOT_SERVICED", "disk"}).Draw(t, "detail"),
			Signer: rapid.SampledFrom([]string{"", "ab12"}).Draw(t, "signer"),
			Token:  rapid.Bool().Draw(t, "token"),
		}
	}
	return o
}

func TestInvariantsOfEveryOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o, h := anyOutcome(t), History{Uncertain: rapid.Bool().Draw(t, "uncertain")}
		v := Classify(o, h)
		acknowledged := o.Ack != nil && o.Ack.Verdict != fault.AckNone
		verified := acknowledged && o.Ack.Verdict == fault.AckTrusted

		if v.Rule == "" || v.Class == "" || v.Signal == "" {
			t.Fatalf("no row decided: %+v", v)
		}
		retried := v.Class == Transient || v.Class == Unknown || v.Class == Limited || v.Class == Credential
		if v.Class == Permanent && (v.PerRound != 0 || v.HasAfter || v.Reason == fault.ReasonMaxAttempts) {
			t.Fatalf("permanent, but looks retried: %+v", v)
		}
		if (v.Class == Success) != (v.Proof == ProofReceipt || v.Proof == ProofHTTP) {
			t.Fatalf("success and proof differ: %+v", v)
		}
		if v.Proof == ProofDuplicate && !h.Uncertain {
			t.Fatalf("delivered by a duplicate answer, though nothing was uncertain: %+v", v)
		}
		if v.Proof == ProofReceipt && !(verified && o.Ack.Positive) {
			t.Fatalf("proof by an acknowledgement that is none: %+v", v)
		}
		if v.Uncertain && !(o.Phase.Reached() || acknowledged || o.Status != 0) {
			t.Fatalf("uncertain, though the partner was not reached: %+v", v)
		}
		if o.Phase.Reached() && o.Status == 0 && !acknowledged && v.Class == NotAnAttempt {
			t.Fatalf("the partner may have part of it, yet it is no attempt: %+v", v)
		}
		if v.Definite && (!acknowledged || o.Ack.Positive) {
			t.Fatalf("definite without a negative acknowledgement: %+v", v)
		}
		if v.Counts() == (v.Signal == fault.SignalNone) {
			t.Fatalf("counts as an attempt, but no exchange: %+v", v)
		}
		if (v.Class == NotAnAttempt || v.Class == NoOutcome) && v.Counts() {
			t.Fatalf("%s counts as an attempt", v.Class)
		}
		if v.HasAfter && !retried || v.After < 0 {
			t.Fatalf("waits for nothing: %+v", v)
		}
		if (v.PerRound == 2) != (v.Class == Limited || v.Class == Credential) {
			t.Fatalf("rounds: %+v", v)
		}
		if o.Status == 0 && acknowledged && o.Ack.Signer == "" && !o.Ack.Token && v.Class != NoOutcome {
			t.Fatalf("an acknowledgement that anyone could send settled something: %+v", v)
		}
		if (v.Rule == "tls-trust") != (v.Signal == fault.SignalTrip) {
			t.Fatalf("trips without a trust fault: %+v", v)
		}
	})
}
