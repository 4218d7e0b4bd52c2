package dlq

import (
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func (b *bench) outage(ended time.Time) {
	b.t.Helper()
	o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "northwind", Lane: "northwind", Since: t0, Ended: ended}
	if err := b.store.Record(b.t.(*testing.T).Context(), &queue.Result{Outage: &o}); err != nil {
		b.t.Fatalf("outage: %v", err)
	}
}

func TestHealthRaisesWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Bounds = func() Bounds { return Bounds{Depth: 2, Oldest: 4 * time.Hour, Growth: 4.0 / 3600} }
	look := func(want string) {
		t.Helper()
		before := len(b.events(queue.EventDLQHealth))
		for range 2 { // the second look has nothing new to say
			if err := b.Health(ctx(t)); err != nil {
				t.Fatal(err)
			}
		}
		got := "nothing"
		if e := b.events(queue.EventDLQHealth); len(e) > before {
			got = e[len(e)-1].Facts["over"]
			if len(e) != before+1 {
				t.Errorf("%d events of one change", len(e)-before)
			}
		}
		if got != want {
			t.Errorf("raised %q, want %q", got, want)
		}
	}
	look("nothing")
	b.outage(time.Time{})
	for range 10 {
		b.buried("northwind") // counts as the outage
	}
	look("nothing")
	var made []queue.Letter
	for range 3 {
		made = append(made, b.failed("northwind", rejects, queue.Attempt{Status: 400}))
	}
	look("depth")
	e := b.events(queue.EventDLQHealth)
	if d := cmp.Diff("Dead letters: 3 documents are not delivered (bound 2). By reason: 3 rejected", e[0].Text); d != "" {
		t.Errorf("text (-want +got)\n%s", d)
	}
	b.pass(5 * time.Hour)
	look("depth,oldest")
	for range 5 {
		made = append(made, b.failed("northwind", rejects, queue.Attempt{Status: 400}))
	}
	look("depth,oldest,growth")
	for _, l := range made {
		if _, err := b.Settle(ctx(t), l.ID, Ask{Actor: kim}); err != nil {
			t.Fatal(err)
		}
	}
	look("nothing")
	b.outage(b.now()) // it is over, and its letters are not
	look("depth,oldest")
}

// gathered writes the metrics of a registry as "name{labels} value".
func gathered(t *testing.T, r *prometheus.Registry) []string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			line := f.GetName()
			for _, l := range m.GetLabel() {
				line += " " + l.GetName() + "=" + l.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				line += fmt.Sprintf(" count %d", h.GetSampleCount())
			} else {
				line += fmt.Sprintf(" %v", m.GetGauge().GetValue())
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.Collector())
	expect := func(want ...string) {
		t.Helper()
		if d := cmp.Diff(want, gathered(t, registry)); d != "" {
			t.Errorf("metrics (-want +got)\n%s", d)
		}
	}
	expect("edigw_outages_open 0", "edigw_replay_duration_seconds count 0")
	b.outage(time.Time{})
	b.buried("northwind")
	b.buried("northwind")
	b.failed("northwind", retry.Verdict{Class: retry.Configuration, Reason: fault.ReasonLocal, Signal: fault.SignalNeutral}, queue.Attempt{})
	expect("edigw_outages_open 0", "edigw_replay_duration_seconds count 0") // a scrape within 5 s asks nothing
	b.pass(time.Minute)
	expect("edigw_dlq_depth partner=northwind reason=circuit-open 2", "edigw_dlq_depth partner=northwind reason=local 1",
		"edigw_dlq_oldest_age_seconds partner=northwind 60", "edigw_outages_open 1", "edigw_replay_duration_seconds count 0")
}
