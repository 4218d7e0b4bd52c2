package alerts_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/fault"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestAFailingChannelDelaysNoOther(t *testing.T) {
	within(t, func(b *bench) {
		var fine atomic.Bool
		b.mail.failing(func(alerts.Notification) error {
			if !fine.Load() {
				return &alerts.PermanentError{Err: errors.New("535 login refused")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(32 * time.Second)
		ticket := "[TICKET] A: 1 rejected [INC-1]"
		b.want(b.slack, ticket)
		b.want(b.mail)
		b.pass(time.Minute)
		red := "[PAGE] Alert channel mail fails since 00:00 [INC-2]"
		b.want(b.slack, ticket, red)
		all, err := b.service.Conditions(b.Context())
		b.must(err)
		if len(all) != 2 || !all[0].Failing || all[0].Unsent != 1 || all[1].Failing || all[1].Unsent != 0 {
			b.Errorf("conditions %+v", all)
		}
		b.pass(10 * time.Minute)
		fine.Store(true)
		b.pass(2 * time.Hour)
		b.want(b.mail, ticket)
		b.want(b.slack, ticket, red, "[OK] Alert channel mail works again [INC-2]")
		const want = `
# HELP edigw_alert_deliveries_total Tries to hand a notification to a channel.
# TYPE edigw_alert_deliveries_total counter
edigw_alert_deliveries_total{channel="mail",result="failed"} 4
edigw_alert_deliveries_total{channel="mail",result="ok"} 1
edigw_alert_deliveries_total{channel="slack",result="ok"} 3
`
		if err := testutil.CollectAndCompare(b.service.Collectors()[0], strings.NewReader(want)); err != nil {
			b.Error(err)
		}
	}, "a")
}

func TestRetryAfterHoldsTheWholeChannel(t *testing.T) {
	within(t, func(b *bench) {
		begin := time.Now()
		busy := true
		b.slack.failing(func(alerts.Notification) error {
			if busy {
				busy = false
				return &alerts.TemporaryError{After: 10 * time.Minute, Err: errors.New("429")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.bury(b.accept("b"), fault.ReasonRejected, "", "")
		b.pass(5 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]", "[TICKET] B: 1 rejected [INC-2]")
		b.want(b.slack)
		b.pass(6 * time.Minute)
		b.want(b.slack, "[TICKET] A: 1 rejected [INC-1]", "[TICKET] B: 1 rejected [INC-2]")
		if first := b.slack.at[0].Sub(begin); first < 10*time.Minute+30*time.Second {
			b.Errorf("tried again after %v", first)
		}
	}, "a", "b")
}

func TestWhoDidNotGetItIsTriedAlone(t *testing.T) {
	within(t, func(b *bench) {
		b.mail.failing(func(n alerts.Notification) error {
			if n.Left == nil {
				return &alerts.TemporaryError{Left: []string{"late@acme.example"}, Err: errors.New("450")}
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(5 * time.Minute)
		if len(b.mail.got) != 1 || !slices.Equal(b.mail.got[0].Left, []string{"late@acme.example"}) {
			b.Errorf("sent %+v", b.mail.got)
		}
	}, "a")
}

func TestAPanicOfAChannelEndsNothing(t *testing.T) {
	within(t, func(b *bench) {
		n := 0
		b.mail.failing(func(alerts.Notification) error {
			if n++; n == 1 {
				panic("defect")
			}
			return nil
		})
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(2 * time.Minute)
		b.want(b.mail, "[TICKET] A: 1 rejected [INC-1]")
	}, "a")
}

func TestTestOfAChannelIsSentAtOnce(t *testing.T) {
	within(t, func(b *bench) {
		b.must(b.service.Test(b.Context(), "slack", fault.Actor{Name: "kim"}))
		b.want(b.slack, "[INFO] edigw gw1 test of alerts")
		if err := b.service.Test(b.Context(), "pager", fault.Actor{}); !errors.Is(err, alerts.ErrNotSet) {
			b.Errorf("%v, want ErrNotSet", err)
		}
	}, "a")
}
