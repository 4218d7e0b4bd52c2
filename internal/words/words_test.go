package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/internal/words"
)

var (
	berlin = time.FixedZone("CET", 3600)
	now    = time.Date(2026, 11, 30, 1, 10, 0, 0, time.UTC) // 02:10 CET
)

func at(hour, minute, second int) time.Time {
	return time.Date(2026, 11, 30, hour, minute, second, 0, berlin)
}

func TestLaneSaysEveryState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		facts words.LaneFacts
		want  string
	}{
		{words.LaneFacts{State: "sending"}, "Sending"},
		{words.LaneFacts{State: "open", Next: at(2, 25, 0)}, "Stopped: partner not answering. Next test 02:25"},
		{words.LaneFacts{State: "half-open"}, "Testing with one document"},
		{words.LaneFacts{State: "answering"}, "Answers again. Nothing sent yet"},
		{words.LaneFacts{State: "stopped", By: "Kim", Next: at(4, 0, 0), Reason: "their maintenance"}, "Stopped by Kim until 04:00: their maintenance"},
		{words.LaneFacts{State: "stopped"}, "Stopped"},
		{words.LaneFacts{State: "needs-fix", Ours: true, Cause: "key expired"}, "Stopped: needs a fix (on our side: key expired)"},
		{words.LaneFacts{State: "needs-fix", Cause: "decryption-failed"}, "Stopped: needs a fix (on their side: decryption-failed)"},
		{words.LaneFacts{State: "blackout", Next: at(5, 0, 0)}, "Their maintenance until 05:00"},
		{words.LaneFacts{State: "isolated"}, "Stopped: our own network"},
		{words.LaneFacts{State: "misconfigured", Mistakes: 2}, "Not sending: its settings file has 2 mistakes"},
		{words.LaneFacts{State: "orphaned", Waiting: 12}, "Not sending: its settings file is gone, 12 documents wait"},
		{words.LaneFacts{State: "window", Next: at(6, 0, 0)}, "Sends again 06:00 (their hours)"},
		{words.LaneFacts{State: "window", Next: at(6, 0, 0).AddDate(0, 0, 1)}, "Sends again 1 Dec 06:00 (their hours)"},
		{words.LaneFacts{State: "blocked"}, "Stopped behind a dead letter (first in, first out)"},
	} {
		tc.facts.Now, tc.facts.Zone = now, berlin
		if got := words.Lane(tc.facts); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.facts.State, got, tc.want)
		}
	}
}

func TestMessageSaysEveryState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		facts words.MessageFacts
		want  string
	}{
		{words.MessageFacts{State: "refused", Detail: "same key, other content"}, "Refused at the door: same key, other content"},
		{words.MessageFacts{State: "queued", Place: 3}, "In line (3rd)"},
		{words.MessageFacts{State: "waiting", Why: "backoff", Next: at(2, 14, 7), Detail: "they answered 503 and asked for 30 s"},
			"Next try 02:14:07: they answered 503 and asked for 30 s"},
		{words.MessageFacts{State: "waiting", Why: "rate", Rate: "10/s"}, "In line: at most 10/s"},
		{words.MessageFacts{State: "waiting", Why: "rate"}, "In line: the partner's rate"},
		{words.MessageFacts{State: "waiting", Why: "budget"}, "In line: retries are rationed"},
		{words.MessageFacts{State: "waiting", Why: "budget", First: true}, "In line: all sockets of the gateway are taken"},
		{words.MessageFacts{State: "waiting", Why: "order", Ahead: "INV-20931"}, "Behind INV-20931"},
		{words.MessageFacts{State: "waiting", Why: "probe"}, "Behind the test document"},
		{words.MessageFacts{State: "waiting", Why: "stopped"}, "Waits: lane stopped"},
		{words.MessageFacts{State: "waiting", Why: "pull"}, "Ready for pick-up"},
		{words.MessageFacts{State: "waiting", Why: "ramp-up"}, "Starting slowly after the outage"},
		{words.MessageFacts{State: "waiting", Why: "undo", Next: now.Add(5 * time.Second)}, "Goes out in 5 s (undo)"},
		{words.MessageFacts{State: "waiting", Why: "window", Lane: "Sends again 06:00 (their hours)"}, "Sends again 06:00 (their hours)"},
		{words.MessageFacts{State: "waiting", Why: "breaker", Next: at(2, 25, 0)}, "Stopped: partner not answering. Next test 02:25"},
		{words.MessageFacts{State: "waiting", Why: "network"}, "Stopped: our own network"},
		{words.MessageFacts{State: "waiting", Why: "blackout", Next: at(5, 0, 0)}, "Their maintenance until 05:00"},
		{words.MessageFacts{State: "waiting", Why: "needs-fix", Lane: "Stopped: needs a fix (on our side: key expired)"}, "Stopped: needs a fix (on our side: key expired)"},
		{words.MessageFacts{State: "waiting", Why: "misconfigured"}, "Not sending: its settings file cannot be used"},
		{words.MessageFacts{State: "waiting", Why: "orphaned"}, "Not sending: its settings file is gone"},
		{words.MessageFacts{State: "waiting", Why: "blocked"}, "Stopped behind a dead letter (first in, first out)"},
		{words.MessageFacts{State: "sending"}, "Being sent"},
		{words.MessageFacts{State: "awaiting-ack", Next: at(3, 10, 0)}, "Sent, receipt due by 03:10"},
		{words.MessageFacts{State: "delivered", Proof: "receipt"}, "Delivered"},
		{words.MessageFacts{State: "delivered", Proof: "receipt", Late: 2 * time.Hour}, "Delivered (receipt came 2 h later)"},
		{words.MessageFacts{State: "delivered", Proof: "duplicate-answer"}, "Delivered (partner says it already has it)"},
		{words.MessageFacts{State: "delivered", Proof: "http-only"}, "Accepted by the partner, no receipt asked for"},
		{words.MessageFacts{State: "delivered", Proof: "statement", By: "Kim", At: at(2, 0, 0).AddDate(0, 0, 1)}, "Closed on the partner's word (Kim, 1 Dec)"},
		{words.MessageFacts{State: "dead"}, "Not delivered"},
		{words.MessageFacts{State: "superseded"}, "Replaced by a newer edition"},
		{words.MessageFacts{State: "discarded", By: "Kim", Note: "test file"}, `Discarded by Kim: "test file"`},
		{words.MessageFacts{State: "received"}, "Received, receipt given"},
		{words.MessageFacts{State: "received", Detail: "waits for its webhook"}, "Received, receipt given: waits for its webhook"},
		{words.MessageFacts{State: "delivered", Proof: "http-only", Hook: true}, "Taken by the webhook"},
	} {
		tc.facts.Now, tc.facts.Zone = now, berlin
		if got := words.Message(tc.facts); got != tc.want {
			t.Errorf("%s %s%s: got %q, want %q", tc.facts.State, tc.facts.Why, tc.facts.Proof, got, tc.want)
		}
	}
}

// TestConfirmSaysEveryCode: no code is shown as it is spelled.
func TestConfirmSaysEveryCode(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"possible-duplicate", "changed-content", "overtaken", "overdue", "outside-window", "breaker-wait", "breaker-probe"} {
		if text := words.Confirm(code); text == code || !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q", code, text)
		}
	}
	if text := words.Confirm("later"); text != "later" {
		t.Errorf("unknown: %q", text)
	}
}

func TestReasonSaysEveryReason(t *testing.T) {
	t.Parallel()
	f := words.ReasonFacts{
		Now: now, Zone: berlin, Tried: 7, Due: at(6, 0, 0), Wait: time.Hour, Status: 401, Words: "their words",
		Detail: "SE01 says 24, counted 23 (segment 25)",
	}
	want := map[fault.Reason]string{
		fault.ReasonCircuitOpen:    "Not delivered: partner was down (tried 7 times)",
		fault.ReasonMaxAttempts:    "Tried 7 times without success",
		fault.ReasonDeadline:       "Too late: was due 06:00",
		fault.ReasonSignature:      "Partner rejects our signature or encryption",
		fault.ReasonFormat:         "Document malformed: SE01 says 24, counted 23 (segment 25)",
		fault.ReasonRejected:       `Partner refused: "their words"`,
		fault.ReasonCredential:     "Partner refuses our login (401)",
		fault.ReasonReceiptInvalid: "Receipt not trusted; partner probably has it",
		fault.ReasonReceiptMissing: "No receipt within 60 min; partner may have it",
		fault.ReasonLocal:          "Our side: SE01 says 24, counted 23 (segment 25)",
		fault.ReasonUnknownOutcome: "Connection broke after everything was sent",
		fault.ReasonChangedContent: "Same reference as a delivered document, other content",
	}
	for _, reason := range fault.Reasons {
		if got := words.Reason(string(reason), f); got != want[reason] {
			t.Errorf("%s: got %q, want %q", reason, got, want[reason])
		}
		// Nothing known must still be a sentence, not the API's name.
		if got := words.Reason(string(reason), words.ReasonFacts{}); got == string(reason) || strings.HasSuffix(got, ": ") {
			t.Errorf("%s without facts: got %q", reason, got)
		}
	}
	for _, tc := range []struct {
		reason string
		facts  words.ReasonFacts
		want   string
	}{
		{"circuit-open", words.ReasonFacts{}, "Not delivered: partner was down (not tried)"},
		{"max-attempts", words.ReasonFacts{Tried: 1}, "Tried 1 time without success"},
		{"max-attempts", words.ReasonFacts{Tried: 1, Contradicted: true}, "They refused it, then sent a receipt that says yes"},
		{"rejected", words.ReasonFacts{Status: 403}, "Partner refused: status 403"},
		{"unknown-outcome", words.ReasonFacts{Partly: true}, "Connection broke while it was being sent"},
	} {
		if got := words.Reason(tc.reason, tc.facts); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}

func TestEndsOfLettersHaveWords(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"delivered", "delivered-late", "confirmed", "superseded", "discarded", "withdrawn", "failed-again"} {
		if got := words.ClosedAs(end); got == end {
			t.Errorf("%s: got the API's name", end)
		}
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want words.Question }{
		"bulk replay with doubt": {
			words.Replay(words.ReplayFacts{Partner: "Northwind", Total: 1240, Untried: 1198, Failed: 39, Uncertain: 3, Overdue: 812,
				Newer: 17, Shared: 2, Takes: 4 * time.Minute, Rate: "5/s"}),
			words.Question{
				Title: "Replay 1,240 to Northwind?", Safe: "Cancel",
				Text: []string{"1,198 were never tried.", "39 failed before reaching them.", "3 may already be there.", "812 are past their due time.",
					"17 newer documents were delivered meanwhile; 2 share a purchase order with this set.",
					"Same Message-IDs; the oldest goes first as the test; about 4 min at 5/s."},
				Actions: []string{"Replay 1,237, leave the 3", "Replay all 1,240 …"}, Tick: "I checked the 3 with the partner",
			},
		},
		"bulk replay without doubt": {
			words.Replay(words.ReplayFacts{Total: 2, Untried: 1, Failed: 1, Newer: 1}),
			words.Question{
				Title: "Replay 2?", Safe: "Cancel",
				Text: []string{"1 was never tried.", "1 failed before reaching them.", "1 newer document was delivered meanwhile.",
					"Same Message-IDs; the oldest goes first as the test."},
				Actions: []string{"Replay 2"},
			},
		},
		"only doubtful ones": {
			words.Replay(words.ReplayFacts{Total: 1, Uncertain: 1}),
			words.Question{
				Title: "Replay 1?", Safe: "Cancel", Text: []string{"1 may already be there.", "Same Message-IDs; the oldest goes first as the test."},
				Actions: []string{"Replay all 1 …"}, Tick: "I checked the 1 with the partner",
			},
		},
		"possible duplicate": {
			words.Duplicate(words.DuplicateFacts{Partner: "Northwind", Bytes: 48211, At: at(2, 11, 0), Now: at(5, 11, 0), Zone: berlin, Window: 7 * 24 * time.Hour}),
			words.Question{
				Title: "Possible duplicate.", Safe: "Cancel", Actions: []string{"Copy enquiry", "Send again"},
				Text: []string{"Northwind received all 48,211 bytes at 02:11 but sent no receipt.",
					"It goes out again under the same Message-ID; a correct AS2 receiver ignores the second copy.", "Their window: 7 d, age: 3 h."},
			},
		},
		"duplicates not recognised": {
			words.Duplicate(words.DuplicateFacts{Partner: "Northwind", At: at(2, 11, 0), Now: at(5, 11, 0), Zone: berlin}),
			words.Question{
				Title: "Possible duplicate.", Safe: "Cancel", Actions: []string{"Copy enquiry", "Send again"},
				Text: []string{"Northwind may have received it at 02:11 but sent no receipt.", "They do not recognise duplicates: a second copy counts as new."},
			},
		},
		"discard": {
			words.Discard(4),
			words.Question{
				Title: "Discard 4 documents?", Safe: "Cancel", Actions: []string{"Discard 4"}, Reason: true,
				Text: []string{"They will never be sent.", "If the partner has them, use Close as delivered instead."},
			},
		},
		"stop": {
			words.Stop("Northwind", at(6, 0, 0), now, berlin),
			words.Question{
				Title: "Stop Northwind?", Safe: "Cancel", Actions: []string{"Stop"}, Reason: true,
				Text: []string{"Documents wait in line; nothing is lost.", "Earliest deadline: 06:00."},
			},
		},
		"still down": {
			words.StillDown(),
			words.Question{Title: "Partner still not answering.", Safe: "Wait and send when it answers", Actions: []string{"Use this document as the test"}},
		},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, want := words.AlreadyReplayed("Kim", now.Add(-20*time.Second), now), "Kim replayed this 20 s ago. Nothing was sent twice."; got != want {
		t.Errorf("second click: got %q, want %q", got, want)
	}
	if got, want := words.Progress(612, 2, 1240), "612 of 1,240 delivered · 2 failed again"; got != want {
		t.Errorf("progress: got %q, want %q", got, want)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ got, want string }{
		{words.Board(words.BoardFacts{Partners: 212, Last: 3 * time.Second, LastTo: "Northwind DE"}), "All 212 partners fine. Last delivery 3 s ago (Northwind DE)."},
		{words.Board(words.BoardFacts{Partners: 212, Troubled: 3, FirstLost: 38 * time.Minute}), "3 of 212 partners need you. First deadline lost in 38 min."},
		{words.Board(words.BoardFacts{Partners: 2, Troubled: 1}), "1 of 2 partners needs you."},
		{words.Board(words.BoardFacts{}), "No partner yet. Add the first one with edigw partner new."},
		{words.Stale(at(2, 14, 0), now, berlin), "Not updated since 02:14, retrying"},
		{words.NoLetters(now.AddDate(0, 0, -18), now, berlin, "replayed by Kim"), "No dead letters. Last one: 12 Nov, replayed by Kim."},
		{words.NoLetters(time.Time{}, now, berlin, ""), "No dead letters."},
		{words.Removed(400 * 24 * time.Hour), "Content and evidence removed after 400 d; facts and Message-ID kept."},
		{words.NothingFound(400*24*time.Hour, "reference"), "Nothing matches. Searched 400 days by reference."},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestTimesAndNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ got, want string }{
		{words.Span(0), "0 s"},
		{words.Span(300 * time.Millisecond), "under 1 s"},
		{words.Span(8 * time.Second), "8 s"},
		{words.Span(47*time.Minute + 59*time.Second), "47 min"},
		{words.Span(60 * time.Minute), "60 min"},
		{words.Span(2 * time.Hour), "2 h"},
		{words.Span(3*time.Hour + 52*time.Minute), "3 h 52 min"},
		{words.Span(51 * time.Hour), "2 d 3 h"},
		{words.Span(-5 * time.Minute), "5 min"},
		{words.When(at(1, 23, 0), now, berlin), "01:23 CET · 47 min ago"},
		{words.When(at(2, 25, 0), now, berlin), "02:25 CET · in 15 min"},
		{words.When(now, now, nil), "01:10 UTC · now"},
		{words.When(at(2, 10, 0).AddDate(-1, 0, 0), now, berlin), "30 Nov 2025 02:10 CET · 365 d ago"},
		{words.When(time.Time{}, now, berlin), "never"},
		{words.Clock(at(0, 30, 0), now, time.UTC), "29 Nov 23:30"},
		{words.Number(0), "0"},
		{words.Number(999), "999"},
		{words.Number(1240), "1,240"},
		{words.Number(-1234567), "-1,234,567"},
		{words.Count(1, "document", "documents"), "1 document"},
		{words.Count(1240, "document", "documents"), "1,240 documents"},
		{words.Ordinal(1), "1st"},
		{words.Ordinal(2), "2nd"},
		{words.Ordinal(3), "3rd"},
		{words.Ordinal(11), "11th"},
		{words.Ordinal(112), "112th"},
		{words.Ordinal(1021), "1,021st"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
