package main

import (
	"errors"
	"strings"
	"testing"

	"edigw/dlq"
	"edigw/fault"
	"edigw/web"
)

// TestTheReasonToHandOnIsBounded: as those of all other actions, from console
// and API.
func TestTheReasonToHandOnIsBounded(t *testing.T) {
	t.Parallel()
	for _, note := range []string{strings.Repeat("x", dlq.MaxNote+1), "\xff"} {
		var p *web.Problem
		if err := (received{}).Process(t.Context(), "m1", fault.Actor{Name: "Kim"}, note); !errors.As(err, &p) || p.Slug != web.BadRequest || p.Field != "reason" {
			t.Errorf("a reason of %d bytes: %v", len(note), err)
		}
	}
}
