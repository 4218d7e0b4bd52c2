package fault

import (
	"testing"
	"time"
)

func TestSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    Outcome
		want string
	}{
		"plain success":               {Outcome{Status: 200, Ack: &Acknowledgement{Verdict: AckTrusted, Positive: true, Type: "processed"}}, ""},
		"what broke":                  {Outcome{Detail: "connection refused by 127.0.0.1:4080"}, "connection refused by 127.0.0.1:4080"},
		"status":                      {Outcome{Status: 503}, "they answered 503"},
		"status with Retry-After":     {Outcome{Status: 503, HasRetry: true, RetryAfter: 30 * time.Second}, "they answered 503 and asked for 30 s"},
		"long Retry-After":            {Outcome{Status: 429, HasRetry: true, RetryAfter: 5 * time.Minute}, "they answered 429 and asked for 5 min"},
		"no receipt asked for":        {Outcome{Status: 200}, ""},
		"receipt comes later":         {Outcome{Status: 202, AckAsked: AckAsync}, ""},
		"receipt asked for":           {Outcome{Status: 200, AckAsked: AckSync}, "they answered 200 without the receipt that was asked for"},
		"another protocol":            {Outcome{Status: 101, AckAsked: AckSync}, "they answered 101, which answers no message"},
		"negative disposition":        {Outcome{Status: 200, Ack: &Acknowledgement{Verdict: AckTrusted, Type: "processed", Modifier: "error", Text: "decryption-failed", Detail: "no key for serial 4F:22"}}, `processed/error: decryption-failed (their words: "no key for serial 4F:22")`},
		"negative without words":      {Outcome{Status: 200, Ack: &Acknowledgement{Verdict: AckTrusted, Type: "failed", Modifier: "failure", Text: "unsupported format"}}, "failed/failure: unsupported format"},
		"warning":                     {Outcome{Status: 200, Ack: &Acknowledgement{Verdict: AckTrusted, Positive: true, Type: "processed", Modifier: "warning", Text: "duplicate-document"}}, "processed/warning: duplicate-document"},
		"ebMS":                        {Outcome{Ack: &Acknowledgement{Verdict: AckTrusted, EBMS: "EBMS:0004", Detail: "busy"}}, `EBMS:0004 (their words: "busy")`},
		"a receipt not to be trusted": {Outcome{Detail: "the receipt is signed by somebody else", Ack: &Acknowledgement{Verdict: AckWrongSigner, Positive: true, Type: "processed"}}, "the receipt is signed by somebody else; the receipt, unproven, says processed"},
		"its refusal, unproven":       {Outcome{Detail: "the receipt is signed by somebody else", Ack: &Acknowledgement{Verdict: AckWrongSigner, Type: "processed", Modifier: "error", Text: "decryption-failed"}}, "the receipt is signed by somebody else; the receipt, unproven, says processed/error: decryption-failed"},
		"a receipt that says nothing": {Outcome{Detail: "the receipt ends early", Ack: &Acknowledgement{Verdict: AckCutOff}}, "the receipt ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.o.Sentence(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
