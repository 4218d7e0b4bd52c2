package storetest

import "testing"

func TestMemoryAccessKeepsTheContract(t *testing.T) {
	t.Parallel()
	RunAccess(t, func(*testing.T) AccessStore { return NewMemoryAccess(NewMemory()) })
}
