package sqlite

import (
	"testing"

	"edigw/access"
	"edigw/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// The store meets the part of the contract that access relies on.
var _ storetest.AccessStore = (*Store)(nil)

func TestStoreKeepsTheContractOfAccess(t *testing.T) {
	t.Parallel()
	storetest.RunAccess(t, func(t *testing.T) storetest.AccessStore { return openTest(t) })
}

func TestSchemaHasTheRolesOfAccess(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(sorted(access.Roles...), listed(t, openTest(t), `CHECK \(role IN \(([^)]*)\)`, quoted)); d != "" {
		t.Errorf("roles: -access +schema\n%s", d)
	}
}
