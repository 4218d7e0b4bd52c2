package words_test

import (
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/internal/words"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]words.VerdictFacts{
		"Delivered 02:13, receipt signed by Northwind, digest matches.":                            {State: "delivered", Proof: "receipt", Signed: true, Digest: true},
		"Delivered 02:13, receipt not signed.":                                                     {State: "delivered", Proof: "receipt"},
		"Delivered 02:13, 2 h after it was given up, receipt signed by Northwind, digest matches.": {State: "delivered", Proof: "receipt", Signed: true, Digest: true, Late: 2 * time.Hour},
		"Accepted by the partner, no receipt asked for, 02:13.":                                    {State: "delivered", Proof: "http-only", Sentence: "Accepted by the partner, no receipt asked for"},
		"Not delivered: tried 7 times without success.":                                            {State: "dead", Reason: "Tried 7 times without success"},
		"Not delivered: partner was down (not tried).":                                             {State: "dead", Reason: "Not delivered: partner was down (not tried)"},
		"Unknown: partner may have it. No receipt within 60 min.":                                  {State: "dead", Unsure: true, Reason: "No receipt within 60 min; partner may have it"},
		"Not handed on: our side: the folder is full.":                                             {State: "dead", Inbound: true, Reason: "Our side: the folder is full"},
		"Received from Northwind, handed on 02:13.":                                                {State: "delivered", Inbound: true},
		"Received from Northwind, receipt given. Not handed on yet.":                               {State: "received", Inbound: true},
		"Received from Northwind, receipt given. Not handed on yet: waits for its webhook.":        {State: "received", Inbound: true, Sentence: "Received, receipt given: waits for its webhook"},
		"Refused at the door: it is a test.":                                                       {State: "refused", Sentence: "Refused at the door: it is a test."},
		"In line (3rd).":                                                                           {State: "queued", Sentence: "In line (3rd)"},
		"Next try 02:14:07. Unknown: partner may have it.":                                         {State: "waiting", Sentence: "Next try 02:14:07", Unsure: true},
		"Replaced by a newer edition.":                                                             {State: "superseded", Sentence: "Replaced by a newer edition"},
	} {
		f.Partner, f.Done, f.Now, f.Zone = "Northwind", at(2, 13, 0), at(2, 20, 0), berlin
		if got := words.Verdict(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestEveryReasonHasAdvice: nobody is left with a reason and no next step, and
// each is a sentence of its own.
func TestEveryReasonHasAdvice(t *testing.T) {
	t.Parallel()
	seen := map[string]fault.Reason{}
	for _, r := range fault.Reasons {
		a := words.Advise(string(r))
		if !strings.HasSuffix(a.Do, ".") || a.Call == "" {
			t.Errorf("%s: %+v", r, a)
		}
		if other, twice := seen[a.Do]; twice {
			t.Errorf("%s and %s advise the same", r, other)
		}
		seen[a.Do] = r
	}
	for _, r := range []fault.Reason{fault.ReasonSignature, fault.ReasonFormat, fault.ReasonLocal} {
		if in := words.AdviseReceived(string(r), ""); in == words.Advise(string(r)) || !strings.HasSuffix(in.Do, ".") {
			t.Errorf("%s, received: %+v", r, in)
		}
	}
	if a := words.Advise("later"); a.Do == "" {
		t.Error("an unknown reason has no next step")
	}
}

// TestVerdictsOnReceiptsAndPhasesHaveWords: nothing is shown as the API spells
// it.
func TestVerdictsOnReceiptsAndPhasesHaveWords(t *testing.T) {
	t.Parallel()
	for _, v := range []fault.AckVerdict{
		fault.AckTrusted, fault.AckCutOff, fault.AckBadSignature, fault.AckWrongSigner, fault.AckMICMismatch, fault.AckUnsigned,
		fault.AckMalformed, fault.AckOtherMessage, fault.AckContradictory,
	} {
		if got := words.Receipt(string(v), true); got == words.Receipt("", true) || strings.Contains(got, string(v)) && v != fault.AckCutOff && v != fault.AckMalformed {
			t.Errorf("%s: %q", v, got)
		}
	}
	for p := fault.PhaseNone; p <= fault.PhaseDone; p++ {
		if got := words.Phase(p.String()); got == p.String() {
			t.Errorf("%s is shown as it is spelled", p)
		}
	}
}

// TestAReceiptOfOtherContentNeedsNoCertificate: another one does not make it
// good.
func TestAReceiptOfOtherContentNeedsNoCertificate(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]string{"mic-mismatch": "Close as delivered", "wrong-signer": "Import the certificate", "bad-signature": "Import the certificate", "": "Import the certificate"} {
		if a := words.AdviseReceipt(verdict); !strings.Contains(a.Do, want) || want != "Import the certificate" && strings.Contains(a.Do, "certificate") || a.Call == "" {
			t.Errorf("%q: %+v", verdict, a)
		}
	}
}

// TestAGroupHasNoNumbers of one of its letters.
func TestAGroupHasNoNumbers(t *testing.T) {
	t.Parallel()
	for _, r := range fault.Reasons {
		if text := words.ReasonGroup(string(r)); text == string(r) || strings.ContainsAny(text, "0123456789") || strings.Contains(text, "not tried") {
			t.Errorf("%s: %q", r, text)
		}
	}
}

// TestAShortReplayNamesNoTime: "about under 1 s" is no news.
func TestAShortReplayNamesNoTime(t *testing.T) {
	t.Parallel()
	text := func(takes time.Duration) string {
		return strings.Join(words.Replay(words.ReplayFacts{Total: 1, Takes: takes, Rate: "5/s"}).Text, " ")
	}
	if got := text(200 * time.Millisecond); strings.Contains(got, "about") {
		t.Errorf("said %q", got)
	}
	if got := text(2 * time.Second); !strings.Contains(got, "about 2 s at 5/s") {
		t.Errorf("said %q", got)
	}
}
