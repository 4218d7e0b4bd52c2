package alerts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// quietNights: a bubble begins at midnight UTC.
func quietNights(p *partner.Partner) { p.Notify.Quiet = &partner.Quiet{From: 22 * 60, To: 6 * 60} }

func TestQuietHoursDelayAllButPages(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.outage(queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}, queue.EventBreakerOpened)
		b.bury(b.accept("b"), fault.ReasonRejected, "", "")
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[TICKET] B: 1 rejected [INC-2]")
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(6*time.Hour - time.Minute - time.Second)
		if slices.ContainsFunc(b.mail.subjects(), func(s string) bool { return strings.Contains(s, "INC-1") }) {
			b.Errorf("told in quiet hours: %q", b.mail.subjects())
		}
		b.pass(2 * time.Minute)
		if got := b.mail.subjects(); !slices.Contains(got, "[TICKET] A: 2 rejected [INC-1]") {
			b.Errorf("not told after quiet hours: %q", got)
		}
	}, "a", "b")
}

func TestQuietHoursHoldNoPageBehindANotice(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(time.Minute)
		o.Answering = time.Now()
		b.outage(o, queue.EventAnswering) // nothing is left of it: a notice for the morning
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]")
		b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[PAGE] A answers again, 1 NOT delivered [OUT-1]")
	}, "a")
}

func TestQuietHoursThatAreLiftedHoldNothing(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", quietNights)
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(10 * time.Minute)
		b.want(b.mail)
		b.set.partner("a", func(p *partner.Partner) { p.Notify.Quiet = nil })
		b.pass(2 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]")
	}, "a")
}
