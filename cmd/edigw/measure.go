package main

import (
	"context"
	"time"

	"edigw/partner"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// commits measures the store: how long a commit with its fsync takes, and how
// many requests share one.
type commits struct {
	seconds prometheus.Histogram
	rows    prometheus.Histogram
}

func newCommits() *commits {
	return &commits{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "edigw_store_commit_seconds", Help: "Time of one commit of the store, with its fsync.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 3, 12),
		}),
		rows: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "edigw_store_batch_rows", Help: "Requests that one commit made durable.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
	}
}

func (c *commits) observe(took time.Duration, requests int) {
	c.seconds.Observe(took.Seconds())
	c.rows.Observe(float64(requests))
}

// newStrangers counts messages that nobody has an agreement for: they make no
// letter and no alert.
func newStrangers() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "edigw_unknown_senders_total", Help: "Messages between names or parties without an agreement, refused.",
	})
}

// measure registers every metric of interfaces.md §6.
func (g *gateway) measure(c *commits) error {
	all := []prometheus.Collector{
		c.seconds, c.rows, g.letters.Collector(), stock{g}, g.strangers, g.ebmsErrors,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	all = append(all, g.lanes.Collectors()...)
	all = append(all, g.alerts.Collectors()...)
	all = append(all, g.inbox.Collectors()...)
	all = append(all, g.intake.Collectors()...)
	all = append(all, g.fetcher.Collectors()...)
	for _, x := range all {
		if err := g.metrics.Register(x); err != nil {
			return err
		}
	}
	return nil
}

// stock reads, when asked, what waits in lanes and how long certificates last.
type stock struct{ g *gateway }

var (
	laneDepth  = prometheus.NewDesc("edigw_lane_depth", "Documents queued, waiting and being sent.", []string{"partner"}, nil)
	laneOldest = prometheus.NewDesc("edigw_lane_oldest_age_seconds", "Age of the oldest document in line.", []string{"partner"}, nil)
	daysLeft   = prometheus.NewDesc("edigw_certificate_days_left", "Days until the use of a certificate ends; the last one of several that follow each other.", []string{"owner", "use"}, nil)
)

// Describe meets prometheus.Collector.
func (stock) Describe(out chan<- *prometheus.Desc) {
	out <- laneDepth
	out <- laneOldest
	out <- daysLeft
}

// Collect meets prometheus.Collector. A partner without anything in line has
// no series.
func (s stock) Collect(out chan<- prometheus.Metric) {
	now := s.g.now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	depths, err := s.g.store.Depths(ctx)
	if err != nil {
		s.g.log.Error("metrics: the store cannot be read", "err", err)
	}
	lined := map[string]float64{}
	oldest := map[string]time.Time{}
	for _, d := range depths {
		if d.Lined == 0 {
			continue
		}
		lined[d.Partner] += float64(d.Lined)
		if t := oldest[d.Partner]; t.IsZero() || d.Oldest.Before(t) {
			oldest[d.Partner] = d.Oldest
		}
	}
	for id, n := range lined {
		out <- prometheus.MustNewConstMetric(laneDepth, prometheus.GaugeValue, n, id)
		out <- prometheus.MustNewConstMetric(laneOldest, prometheus.GaugeValue, max(0, now.Sub(oldest[id]).Seconds()), id)
	}
	for k, d := range certificateDays(s.g.settings.Current().Certificates(now), now) {
		out <- prometheus.MustNewConstMetric(daysLeft, prometheus.GaugeValue, float64(d), k.owner, k.use)
	}
}

type ownerUse struct{ owner, use string }

// certificateDays is how long each use is covered: the longest of several.
func certificateDays(all []partner.CertificateInfo, now time.Time) map[ownerUse]int {
	days := map[ownerUse]int{}
	for _, c := range all {
		k := ownerUse{c.Owner, c.Use}
		if d, known := days[k]; !known || c.DaysLeft(now) > d {
			days[k] = c.DaysLeft(now)
		}
	}
	return days
}
