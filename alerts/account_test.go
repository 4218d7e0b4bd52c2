package alerts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
)

func TestAnAccountSaysHowAnIncidentStandsNow(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		l := b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(time.Minute)
		says := func(id, title string, lines ...string) {
			b.Helper()
			got, err := b.service.Account(b.Context(), id)
			b.must(err)
			if got.Title != title {
				b.Errorf("%s: title %q, want %q", id, got.Title, title)
			}
			for _, want := range lines {
				if !slices.ContainsFunc(got.Lines, func(l string) bool { return strings.Contains(l, want) }) {
					b.Errorf("%s does not say %q: %q", id, want, got.Lines)
				}
			}
		}
		says("OUT-1", "A down since 00:00, refused", "Cause: connection refused", "Likely side: theirs (1 other partner fine)", "2 documents not sent")
		says("INC-1", "A: 1 rejected", "Likely side: ")
		if got, err := b.service.Account(b.Context(), "OUT-1"); err != nil || got.Letters.Open != 2 || got.Letters.Untried != 2 || got.Incident.ID != "OUT-1" || len(got.Do) == 0 {
			b.Errorf("account %+v, %v", got, err)
		}
		o.Recovered = time.Now()
		b.outage(o, queue.EventBreakerClosed)
		says("OUT-1", "A answers again, 2 NOT delivered", "Nothing moves until you decide.")
		b.settle(l)
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		says("OUT-1", "A: all 2 settled, 0 lost")
		if _, err := b.service.Account(b.Context(), "INC-9"); !errors.Is(err, queue.ErrNotFound) {
			b.Errorf("unknown: %v", err)
		}
	}, "a", "b")
}

// TestAnOutageThatNobodyWasToldOfHasAnAccount: its page is there at once.
func TestAnOutageThatNobodyWasToldOfHasAnAccount(t *testing.T) {
	within(t, func(b *bench) {
		b.must(b.store.Record(b.Context(), &queue.Result{Outage: &queue.Outage{ID: "OUT-7", Number: 7, Partner: "a", Lane: "a", Since: time.Now(), Status: 503}}))
		got, err := b.service.Account(b.Context(), "OUT-7")
		b.must(err)
		if got.Title != "A down since 00:00, 503" || got.Incident.Partner != "a" {
			b.Errorf("account %+v", got)
		}
	}, "a", "b")
}
