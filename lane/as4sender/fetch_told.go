package as4sender

import (
	"context"
	"fmt"
	"time"

	"edigw/internal/words"
	"edigw/queue"

	"github.com/prometheus/client_golang/prometheus"
)

// When people hear of a partner whose messages cannot be fetched: nobody else
// notices that nothing comes.
const (
	tellAfter = 3         // failures in a row
	tellAgain = time.Hour // between two events
	tellTime  = 5 * time.Second
)

// note counts an answer, and tells the ledger when it fails for long, and when
// that is over.
func (f *Fetcher) note(p *fetched, a answer) {
	now := f.Now()
	f.mu.Lock()
	var e queue.Event
	if a.got == gotFailure {
		if p.failures++; p.failures == 1 {
			p.since = now
		}
		p.last = a
		if p.failures >= tellAfter && (p.told.IsZero() || now.Sub(p.told) >= tellAgain) {
			e = failed(p, a, now)
		}
	} else {
		p.failures = 0
		if !p.told.IsZero() {
			e = queue.Event{At: now, Type: queue.EventFetchWorks, Partner: p.id, Text: "their messages can be fetched again"}
		}
	}
	n := p.failures
	f.mu.Unlock()
	if a.got == gotFailure {
		if _, tell := f.repeats.Comes(p.id, "", now); tell {
			f.Log.Warn("messages of a partner cannot be fetched", "partner", p.id, "failures", n, "err", a.why)
		}
	}
	if e.Type == "" {
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, tellTime)
	defer cancel()
	if err := f.Ledger.AddEvents(ctx, e); err != nil { // the next answer tells it
		f.Log.Error("the ledger cannot be told of fetching", "partner", p.id, "event", string(e.Type), "err", err)
		return
	}
	f.mu.Lock()
	if p.told = now; a.got != gotFailure {
		p.told = time.Time{}
	}
	f.mu.Unlock()
}

// Failing says why fetching from a partner fails; nil if it does not, or nothing
// is fetched from him. It does not block.
func (f *Fetcher) Failing(id string) *queue.FetchTrouble {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.partners[id]
	if p == nil || p.gone || p.failures == 0 {
		return nil
	}
	t := &queue.FetchTrouble{Since: p.since, Failures: p.failures, Lasting: p.failures >= tellAfter, Ours: p.last.ours, Why: p.last.why, Do: p.last.do}
	if p.line != nil {
		t.Next = p.due
	}
	return t
}

// failed is the event of a partner whose messages cannot be fetched.
func failed(p *fetched, a answer, now time.Time) queue.Event {
	side := "theirs"
	if a.ours {
		side = "ours"
	}
	return queue.Event{
		At: now, Type: queue.EventFetchFailed, Partner: p.id,
		Text:  fmt.Sprintf("their messages cannot be fetched, %s in a row since %s: %s", words.Count(p.failures, "failure", "failures"), p.since.UTC().Format(time.RFC3339), a.why),
		Facts: map[string]string{"failures": fmt.Sprint(p.failures), "since": p.since.UTC().Format(time.RFC3339), "why": a.why, "do": a.do, "side": side},
	}
}

// forget tells that it no longer matters that fetching failed. What cannot be
// told is told with the next reload.
func (f *Fetcher) forget(ctx context.Context, over []*fetched) error {
	if len(over) == 0 {
		return nil
	}
	var events []queue.Event
	for _, p := range over {
		events = append(events, queue.Event{At: f.Now(), Type: queue.EventFetchWorks, Partner: p.id, Text: "nothing is fetched from them any more"})
	}
	err := f.Ledger.AddEvents(ctx, events...)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range over {
		if err == nil {
			p.told = time.Time{}
		} else if f.partners[p.id] == nil {
			f.partners[p.id] = p
		}
	}
	if err != nil {
		return fmt.Errorf("as4sender: telling that nothing is fetched any more: %w", err)
	}
	return nil
}

// fetchMetrics counts what is fetched.
type fetchMetrics struct{ fetches *prometheus.CounterVec }

func newFetchMetrics() *fetchMetrics {
	return &fetchMetrics{fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "edigw", Name: "fetches_total", Help: "Pull requests to AS4 partners, by what they brought: message, duplicate, refused, empty, failed.",
	}, []string{"partner", "result"})}
}

func (m *fetchMetrics) count(id string, a answer) { m.fetches.WithLabelValues(id, string(a.got)).Inc() }

// Collectors gives the metrics of fetching, to be registered once.
func (f *Fetcher) Collectors() []prometheus.Collector {
	return []prometheus.Collector{f.metrics.fetches}
}
