package sqlite

import (
	"testing"

	"edigw/store/storetest"
)

// The store meets the part of the contract that alerts rely on.
var _ storetest.AlertStore = (*Store)(nil)

func TestStoreKeepsTheContractOfAlerts(t *testing.T) {
	t.Parallel()
	storetest.RunAlerts(t, func(t *testing.T) storetest.AlertStore { return openTest(t) })
}

func TestStoreAlertsReachPeople(t *testing.T) {
	t.Parallel()
	storetest.RunPipeline(t, func(t *testing.T) storetest.AlertStore { return openTest(t) })
}
