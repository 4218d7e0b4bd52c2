// Package instant compares instants of which the zero one means never, and
// waits. It reads no wall clock.
package instant

import (
	"context"
	"time"
)

// Sooner is the earlier of two instants; zero is later than any other.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Later is the later of two instants; zero is earlier than any other.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Rest waits, and reports false if ctx ended first.
func Rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Await waits until what ends returns, and gives ctx's error if ctx ends
// first.
func Await(ctx context.Context, ends func()) error {
	ended := make(chan struct{})
	go func() { ends(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
