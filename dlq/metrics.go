package dlq

import (
	"context"
	"sync"
	"time"

	"edigw/fault"
	"edigw/queue"
	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of what a scrape asks of the store.
const (
	gaugesKept   = 5 * time.Second // so that many scrapers cost no more than one
	gaugesWithin = 5 * time.Second
)

// Descriptions of the gauges (interfaces.md §6).
var (
	depthDesc   = prometheus.NewDesc("edigw_dlq_depth", "Open dead letters.", []string{"partner", "reason"}, nil)
	ageDesc     = prometheus.NewDesc("edigw_dlq_oldest_age_seconds", "Age of a partner's oldest open dead letter.", []string{"partner"}, nil)
	outagesDesc = prometheus.NewDesc("edigw_outages_open", "Outages that run: the partner does not answer, or letters of it are open.", nil, nil)
)

func newReplayDuration() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "edigw_replay_duration_seconds", Help: "From the start of a bulk replay until each of its letters came to an end.",
		Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
	})
}

// gauges is what was last read for a scrape.
type gauges struct {
	mu      sync.Mutex
	read    time.Time
	letters map[series]int
	oldest  map[string]time.Time // by partner
	outages int
}

type series struct {
	partner string
	reason  fault.Reason
}

// Collector gives the metrics of dead letters. A scrape that the store does
// not answer in time shows what was last known.
func (s *Service) Collector() prometheus.Collector { return collector{s} }

type collector struct{ *Service }

// Describe is prometheus.Collector's.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	to <- depthDesc
	to <- ageDesc
	to <- outagesDesc
	c.replay.Describe(to)
}

// Collect is prometheus.Collector's.
func (c collector) Collect(to chan<- prometheus.Metric) {
	g := &c.gauges
	g.mu.Lock()
	defer g.mu.Unlock()
	now := c.Now()
	if age := now.Sub(g.read); age < 0 || age >= gaugesKept {
		if err := c.readGauges(); err != nil {
			c.Log.Warn("the store does not say how many dead letters there are; metrics show what was last known", keyErr, err)
		}
		g.read = now
	}
	for of, n := range g.letters {
		to <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(n), of.partner, string(of.reason))
	}
	for partner, t := range g.oldest {
		to <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, max(0, now.Sub(t).Seconds()), partner)
	}
	to <- prometheus.MustNewConstMetric(outagesDesc, prometheus.GaugeValue, float64(g.outages))
	c.replay.Collect(to)
}

// readGauges asks the store. The caller holds gauges.mu.
func (s *Service) readGauges() error {
	ctx, cancel := context.WithTimeout(context.Background(), gaugesWithin)
	defer cancel()
	depths, err := s.Store.Depths(ctx)
	if err != nil {
		return err
	}
	outages := 0
	for cursor := ""; ; {
		running, next, err := s.Store.Outages(ctx, "", true, queue.Page{Limit: page, Cursor: cursor})
		if err != nil {
			return err
		}
		outages += len(running)
		if cursor = next; cursor == "" {
			break
		}
	}
	g := &s.gauges
	g.letters, g.oldest, g.outages = map[series]int{}, map[string]time.Time{}, outages
	for _, d := range depths {
		for reason, n := range d.Letters {
			if n > 0 {
				g.letters[series{d.Partner, reason}] += n
			}
		}
		if t := g.oldest[d.Partner]; !d.OldestL.IsZero() && (t.IsZero() || d.OldestL.Before(t)) {
			g.oldest[d.Partner] = d.OldestL
		}
	}
	return nil
}
