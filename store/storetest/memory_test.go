package storetest

import "testing"

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) Store { return NewMemory() })
}
