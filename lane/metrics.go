package lane

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// metrics counts what lanes do (interfaces.md §6).
type metrics struct {
	messages    *prometheus.CounterVec
	attempts    *prometheus.CounterVec
	duration    prometheus.Histogram
	delay       prometheus.Histogram
	recoveredOn prometheus.Histogram
	exhausted   prometheus.Counter
	budget      prometheus.Counter
	deadlines   prometheus.Counter
	state       *prometheus.GaugeVec
	transitions *prometheus.CounterVec
	ack         prometheus.Histogram
	network     prometheus.Gauge
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "edigw", Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "edigw", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "edigw", Name: name, Help: help, Buckets: buckets})
	}
	return &metrics{
		messages:    counters("messages_total", "Messages that came into a state.", "partner", "protocol", "direction", "state"),
		attempts:    counters("attempts_total", "Exchanges with partners, by what they meant.", "partner", "protocol", "class"),
		duration:    histogram("attempt_duration_seconds", "Length of an exchange.", prometheus.ExponentialBuckets(0.01, 2.5, 13)),
		delay:       histogram("retry_delay_seconds", "Wait before a retry.", prometheus.ExponentialBuckets(0.1, 2.5, 12)),
		recoveredOn: histogram("recovered_on_attempt", "Attempt on which a retried message was delivered.", prometheus.LinearBuckets(2, 1, 9)),
		exhausted:   counter("retries_exhausted_total", "Letters max-attempts."),
		budget:      counter("retry_budget_exhausted_total", "Retries that had to wait for the retry budget."),
		deadlines:   counter("deadline_exceeded_total", "Messages whose deadline passed before they were delivered."),
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "edigw", Name: "breaker_state",
			Help: "State of a breaker: 0 closed, 1 half-open, 2 open."}, []string{"partner"}),
		transitions: counters("breaker_transitions_total", "Transitions of breakers.", "partner", "to"),
		ack:         histogram("ack_latency_seconds", "Time from sending to the acknowledgement.", prometheus.ExponentialBuckets(0.01, 3, 13)),
		network:     prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "edigw", Name: "gateway_isolated", Help: "1 while our own network is to blame."}),
	}
}

// Collectors gives the metrics of lanes, to be registered once.
func (s *Scheduler) Collectors() []prometheus.Collector {
	m := s.metrics
	return []prometheus.Collector{m.messages, m.attempts, m.duration, m.delay, m.recoveredOn, m.exhausted, m.budget, m.deadlines,
		m.state, m.transitions, m.ack, m.network}
}

// CountMessage counts a message that came into its present state by somebody
// else's doing: accepted, refused, received, discarded.
func (s *Scheduler) CountMessage(m queue.Message) {
	s.metrics.messages.WithLabelValues(m.Partner, m.Protocol, string(m.Direction), string(m.State)).Inc()
}

// recorded counts what a recorded step did to a message.
func (c *metrics) recorded(r *queue.Result) {
	for _, e := range r.Events {
		switch e.Type {
		case queue.EventSending, queue.EventRetry, queue.EventAwaiting, queue.EventDelivered, queue.EventDead:
			if m := r.Message; m != nil {
				c.messages.WithLabelValues(m.Partner, m.Protocol, string(m.Direction), string(m.State)).Inc()
			}
		case queue.EventOverdue:
			c.deadlines.Inc()
		}
		if e.Type == queue.EventRetry && r.Message != nil {
			c.delay.Observe(max(0, r.Message.NextAt.Sub(e.At)).Seconds())
		}
	}
	if l := r.Opened; l != nil {
		switch l.Reason {
		case fault.ReasonMaxAttempts:
			c.exhausted.Inc()
		case fault.ReasonDeadline:
			c.deadlines.Inc()
		}
	}
}

// attempt counts an exchange whose result is recorded.
func (c *metrics) attempt(before queue.Message, v retry.Verdict, after *queue.Message, started, ended time.Time) {
	took := ended.Sub(started).Seconds()
	c.attempts.WithLabelValues(before.Partner, before.Protocol, string(v.Class)).Inc()
	c.duration.Observe(took)
	if v.Proof == retry.ProofReceipt {
		c.ack.Observe(took)
	}
	if after.State == queue.Delivered && before.State == queue.Sending && after.Attempts > 1 {
		c.recoveredOn.Observe(float64(after.Attempts))
	}
}

// acknowledged observes how long an asynchronous acknowledgement took.
func (c *metrics) acknowledged(d time.Duration) { c.ack.Observe(max(0, d).Seconds()) }

func (c *metrics) overBudget() { c.budget.Inc() }

// moved shows the phase of a breaker.
func (c *metrics) moved(lane string, to breaker.Phase) {
	c.transitions.WithLabelValues(lane, string(to)).Inc()
	c.show(lane, to)
}

var phaseValue = map[breaker.Phase]float64{breaker.Closed: 0, breaker.HalfOpen: 1, breaker.Open: 2}

func (c *metrics) show(lane string, p breaker.Phase) {
	c.state.WithLabelValues(lane).Set(phaseValue[p])
}

func (c *metrics) isolated(on bool) {
	c.network.Set(0)
	if on {
		c.network.Set(1)
	}
}
