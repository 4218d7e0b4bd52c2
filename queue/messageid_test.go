package queue

import (
	"crypto/rand"
	"testing"
	"time"
)

// TestIDTimes: every beginning of an id leads to the time at which it was made.
func TestIDTimes(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 12, 1, 2, 10, 4, 123e6, time.UTC)
	id, err := NewID(made, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(id) + 1 {
		first, last, ok := IDTimes(id[:n])
		if !ok || made.Before(first) || made.After(last) {
			t.Errorf("%q: from %v to %v, %v", id[:n], first, last, ok)
		}
		if n >= 10 && !first.Equal(last) {
			t.Errorf("%q: from %v to %v, want one instant", id[:n], first, last)
		}
	}
	for _, wrong := range []string{"nothing", "OUT-231", "01J", "…"} {
		if _, _, ok := IDTimes(wrong); ok {
			t.Errorf("%q begins an id", wrong)
		}
	}
}
