package main

import (
	"strings"
	"testing"

	"edigw/fault"
)

// TestNoThenYesIsAskedAndSettled: a replay is what comes second, and under the
// same Message-ID.
func TestNoThenYesIsAskedAndSettled(t *testing.T) {
	t.Parallel()
	l := letterView{ID: "l1", Partner: "northwind", Direction: "out", Reason: fault.ReasonMaxAttempts, Uncertain: true, Contra: true}
	if got := l.advice("document"); len(got) != 2 || !strings.HasPrefix(got[0], "edigw dlq settle l1") || !strings.HasPrefix(got[1], "edigw dlq replay l1 --confirm possible-duplicate\t") {
		t.Errorf("advice %q", got)
	}
	if got := l.sentence(messageView{}); got != "They refused it, then sent a receipt that says yes" {
		t.Errorf("sentence %q", got)
	}
}
