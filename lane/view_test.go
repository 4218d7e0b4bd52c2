package lane_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// Shown is the first state that holds, in the order of interfaces.md §5.
func TestViewShowsTheFirstStateThatHolds(t *testing.T) {
	t.Parallel()
	block := func(p *partner.Partner) { p.Lane.AfterDead = partner.DeadBlock }
	inBubble(t, &wire{answer: func(m queue.Message, n int) reply {
		if m.Key == "bad" {
			return reply{o: notAcceptable}
		}
		return reply{o: refused}
	}}, one(hold, block, parallel), func(t *testing.T, g *gateway) {
		g.wantLane("northwind", queue.LaneSending)
		g.accept("northwind", "1")
		g.pass(opensAfter + time.Second)
		if v := g.wantLane("northwind", queue.LaneOpen); v.Since.IsZero() || v.Next.IsZero() {
			t.Errorf("open since %v, next %v", v.Since, v.Next)
		}
		if err := g.s.Reset(t.Context(), "northwind", operator); err != nil {
			t.Fatal(err)
		}
		g.accept("northwind", "bad")
		g.pass(time.Second)
		g.wantLane("northwind", queue.LaneBlocked)
		if err := g.s.StopLane(t.Context(), "northwind", operator, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		g.wantLane("northwind", queue.LaneStopped)
		g.book.put(&partner.Partner{ID: "northwind", Misconfigured: true, Problems: []partner.Problem{{Key: "as2.sign"}}})
		if v := g.wantLane("northwind", queue.LaneMisconfigured); len(v.Problems) != 1 {
			t.Errorf("problems %v", v.Problems)
		}
		g.book.mu.Lock()
		clear(g.book.m)
		g.book.mu.Unlock()
		g.wantLane("northwind", queue.LaneOrphaned)
	})
}

func TestOverlayInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: always(busy)}, one(), func(t *testing.T, g *gateway) {
		first, second := g.accept("northwind", "1"), g.accept("northwind", "2")
		g.pass(time.Millisecond)
		if o := g.s.Overlay(g.get(first), 0); o.State != queue.Waiting || o.Why != queue.WhyBackoff || !o.Next.After(time.Now()) {
			t.Errorf("first shown as %+v", o)
		}
		if o := g.s.Overlay(g.get(second), 1); o.State != queue.Waiting || o.Why != queue.WhyOrder {
			t.Errorf("second shown as %+v", o)
		}
	})
}

// calendar reads windows or blackouts as a partner file has them.
func calendar(t *testing.T, text string) partner.Calendar {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("edigw.yaml", "node: gw1\ndata: ./data\npartners: ./partners\nidentity: {domain: edi.acme.example, as2: ACME-AS2}\n"+
		"listen: {console: {address: \"127.0.0.1:4000\", base_url: \"http://127.0.0.1:4000\"}}\n")
	write("partners/northwind.yaml", "protocol: as2\nas2: {id: NORTHWIND, url: \"https://as2.northwind.example/as2\", sign: none, encrypt: none, mdn: {mode: none}}\nlane:\n"+text)
	r, problems, err := partner.Open(filepath.Join(dir, "edigw.yaml"), func() time.Time { return epoch })
	if err != nil {
		t.Fatal(err)
	}
	p, ok := r.Current().Partner("northwind")
	if !ok || p.Misconfigured {
		t.Fatalf("the sample file is bad: %+v", problems)
	}
	return p.Lane.Calendar
}

func TestWindowsAndBlackouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		state queue.LaneState
		why   queue.Why
		open  time.Duration // from midnight, one minute of spread at most
	}{
		{"  windows: [{cron: \"0 6 * * *\", for: 14h}]\n", queue.LaneWindow, queue.WhyWindow, 6 * time.Hour},
		{"  blackouts: [{cron: \"0 0 * * *\", for: 3h}]\n", queue.LaneBlackout, queue.WhyBlackout, 3 * time.Hour},
	} {
		cal := calendar(t, c.text)
		inBubble(t, &wire{answer: always(receipt)}, one(func(p *partner.Partner) { p.Lane.Calendar = cal }), func(t *testing.T, g *gateway) {
			m := g.accept("northwind", "1")
			g.pass(c.open - time.Second)
			g.wantState(m, queue.Queued)
			v := g.wantLane("northwind", c.state)
			if o := g.s.Overlay(m, 0); o.Why != c.why || !o.Next.Equal(v.Next) || v.Next.IsZero() {
				t.Errorf("shown as %+v", o)
			}
			g.pass(2 * time.Minute)
			g.wantState(m, queue.Delivered)
		})
	}
}

// A lane outside its window buries nothing, and its test waits.
func TestNothingIsTestedOutsideTheWindow(t *testing.T) {
	t.Parallel()
	cal := calendar(t, "  windows: [{cron: \"0 0 * * *\", for: 10m}]\n")
	inBubble(t, &wire{answer: always(refused)}, one(func(p *partner.Partner) { p.Lane.Calendar = cal; p.Retry.Attempts = 100 }), func(t *testing.T, g *gateway) {
		g.pass(2 * time.Minute)
		g.accept("northwind", "1")
		g.pass(9 * time.Minute)
		n := len(g.wire.arrivals(""))
		late := g.accept("northwind", "2")
		g.pass(time.Hour)
		g.wantState(late, queue.Queued)
		g.wantLane("northwind", queue.LaneWindow)
		if more := len(g.wire.arrivals("")) - n; more > 0 {
			t.Errorf("%d tests outside the window", more)
		}
	})
}

func TestMetricsAreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	inBubble(t, &wire{answer: firstFails(6)}, one(func(p *partner.Partner) { p.Retry = retry.Default() }), func(t *testing.T, g *gateway) {
		r := prometheus.NewRegistry()
		r.MustRegister(g.s.Collectors()...)
		if names := metricNames(t, r); !slices.Contains(names, "edigw_gateway_isolated") || !slices.Contains(names, "edigw_recovered_on_attempt") {
			t.Errorf("from the start there are only %v", names)
		}
		m := g.accept("northwind", "1")
		g.accept("northwind", "2")
		g.pass(time.Hour)
		g.wantLetterOrDelivered(m)
		want := []string{"edigw_ack_latency_seconds", "edigw_attempt_duration_seconds", "edigw_attempts_total", "edigw_breaker_state",
			"edigw_breaker_transitions_total", "edigw_deadline_exceeded_total", "edigw_gateway_isolated", "edigw_messages_total",
			"edigw_recovered_on_attempt", "edigw_retries_exhausted_total", "edigw_retry_budget_exhausted_total", "edigw_retry_delay_seconds"}
		if names := metricNames(t, r); !slices.Equal(names, want) {
			t.Errorf("metrics %s\nwant %s", strings.Join(names, " "), strings.Join(want, " "))
		}
	})
}

func (g *gateway) wantLetterOrDelivered(m queue.Message) {
	g.t.Helper()
	if now := g.get(m); now.State != queue.Delivered {
		g.wantLetter(m, fault.ReasonMaxAttempts)
	}
}

func metricNames(t *testing.T, r *prometheus.Registry) (names []string) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
	}
	slices.Sort(names)
	return names
}
