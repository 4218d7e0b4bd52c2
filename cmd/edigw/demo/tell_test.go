package demo

import (
	"strings"
	"testing"
	"time"
)

// TestFactsAreOneLineEach: what the timeline of a busy partner reads like.
func TestFactsAreOneLineEach(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	teller := &teller{print: &printer{out: &out}}
	at := time.Date(2026, 12, 1, 12, 0, 3, 0, time.UTC)
	old := message{Direction: "out", Partner: "northwind-flaky", Timeline: []event{{Type: "accepted"}}}
	now := old
	now.References = []reference{{"interchange", "000030001"}, {"invoice", "INV-30001"}}
	now.Attempts = []attempt{{N: 1, Status: 503, Headers: map[string]string{"Retry-After": "1"}}, {N: 2, Detail: "Connection refused"}}
	now.Timeline = []event{
		{Type: "accepted", At: at}, {Type: "built", At: at, Text: "built"}, {Type: "sending", At: at},
		{Type: "retry", At: at, Text: "503 Service Unavailable", Facts: map[string]string{"next": "2026-12-01T12:00:04.4Z"}},
		{Type: "sending", At: at}, {Type: "retry", At: at, Text: "Connection refused", Facts: map[string]string{"next": "2026-12-01T12:00:03Z"}},
		{Type: "sending", At: at}, {Type: "delivered", At: at, Facts: map[string]string{"proof": "receipt"}},
	}
	teller.message(old, now)
	teller.flush()
	var got []string
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(line, "  ")
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{
		"northwind-flaky     INV-30001 retry 2 in 1.4s: 503, Retry-After 1s",
		"northwind-flaky     INV-30001 retry 3 at once: Connection refused",
		"northwind-flaky     INV-30001 delivered: attempt 3, receipt verified",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestInboundMessagesAreNotTold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	teller := &teller{print: &printer{out: &out}}
	teller.message(message{}, message{Direction: "in", Timeline: []event{{Type: "delivered"}}})
	teller.flush()
	if out.Len() > 0 {
		t.Errorf("told: %q", out.String())
	}
}
