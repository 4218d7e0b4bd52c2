package alerts

import "github.com/prometheus/client_golang/prometheus"

// Keys of log records.
const (
	keyErr          = "err"
	keyChannel      = "channel"
	keyIncident     = "incident"
	keyNotification = "notification"
)

func newDeliveries() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "edigw_alert_deliveries_total",
		Help: "Tries to hand a notification to a channel.",
	}, []string{"channel", "result"})
}

// Collectors gives the metrics of alerts, to be registered once.
func (s *Service) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.deliveries}
}

func (s *Service) counted(channel string, ok bool) {
	result := "ok"
	if !ok {
		result = "failed"
	}
	s.deliveries.WithLabelValues(channel, result).Inc()
}
