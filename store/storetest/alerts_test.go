package storetest

import "testing"

func TestMemoryAlertsKeepTheContract(t *testing.T) {
	t.Parallel()
	RunAlerts(t, func(*testing.T) AlertStore { return NewMemoryAlerts() })
}

func TestMemoryAlertsReachPeople(t *testing.T) {
	t.Parallel()
	RunPipeline(t, func(*testing.T) AlertStore { return NewMemoryAlerts() })
}
