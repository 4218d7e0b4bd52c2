package sqlite

import (
	"testing"

	"edigw/store/storetest"
)

// The store meets the contract.
var _ storetest.Store = (*Store)(nil)

func openTest(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return openTest(t) })
}
