package words_test

import (
	"strings"
	"testing"
	"time"

	"edigw/internal/words"

	"github.com/google/go-cmp/cmp"
)

func TestQuestionsAboutPartnersAndUsers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want words.Question }{
		"trip": {words.Trip("Northwind", 5*time.Minute), words.Question{Title: "Hold back Northwind until a test?", Safe: "Cancel", Actions: []string{"Hold back"}, Text: []string{
			"Nothing is sent for 5 min, then one document goes as a test; the others follow when it is delivered.",
			"Documents wait in line; no dead letters are made and it counts as no outage."}}},
		"reset": {words.Reset("Northwind", 14, 3), words.Question{Title: "Send to Northwind at once, without a test?", Safe: "Cancel", Actions: []string{"Send at once"}, Text: []string{
			"14 documents that wait may start now. If the partner does not answer, each is tried and the lane stops again.",
			"3 dead letters stay until somebody replays them."}}},
		"reset of an empty line": {words.Reset("Northwind", 0, 0), words.Question{Title: "Send to Northwind at once, without a test?", Safe: "Cancel", Actions: []string{"Send at once"}, Text: []string{
			"Nothing waits. The next document goes out at once; if the partner does not answer, the lane stops again."}}},
		"remove the last admin": {words.Remove("ada", true), words.Question{Title: "Remove ada?", Safe: "Cancel", Actions: []string{"Remove ada"}, Text: []string{
			"They are signed out at once. What they did stays in the audit log.",
			"Nobody else is an admin: after this only edigw user add on the gateway's machine makes one."}}},
	} {
		if d := cmp.Diff(tc.want, tc.got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
	if q := words.Compare("Northwind"); q.Tick == "" || !strings.Contains(q.Text[0], "by phone") && !strings.Contains(q.Text[0], "Call the partner") {
		t.Errorf("compare: %+v", q)
	}
}

func TestCertificatesSayHowLong(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{-40: "ended 40 days ago", -1: "ended", 0: "ends today", 1: "1 day", 400: "400 days"} {
		if got := words.DaysLeft(days); got != want {
			t.Errorf("%d: %q, want %q", days, got, want)
		}
	}
	for n, want := range map[int]string{0: "No certificate needs you within 14 days.", 3: "Act within 14 days: 3"} {
		if got := words.ActWithin(14, n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for _, use := range []string{"sign", "decrypt", "verify", "encrypt", "tls-client", "tls-server", "tls-trust", "tls-inbound", "authority"} {
		if name, stops := words.Use(use); name == use || stops == "" {
			t.Errorf("%s has no words", use)
		}
	}
}

func TestMilestonesHaveWords(t *testing.T) {
	t.Parallel()
	for _, e := range []string{"breaker-opened", "breaker-reopened", "breaker-half-open", "answering", "breaker-closed", "lane-stopped", "lane-started", "settings", "certificate", "payload-viewed", "sign-in"} {
		if text := words.Milestone(e); text == e || strings.Contains(strings.ToLower(text), "open") || strings.Contains(strings.ToLower(text), "breaker") {
			t.Errorf("%s: %q", e, text)
		}
	}
	if got := words.Milestone("something-new"); got != "something-new" {
		t.Errorf("unknown: %q", got)
	}
}

func TestIncidentsHaveWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"outage", "letters", "blocked", "orphaned", "settings", "deadline", "certificate", "isolated", "store", "channel", "dlq-health", "key-reused", "contradiction", "warn-by", "overdue",
		"duplicate", "defect", "restored"} {
		if words.Incident(kind) == kind {
			t.Errorf("%s has no words", kind)
		}
	}
}
