package instant

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestZeroMeansNever(t *testing.T) {
	t.Parallel()
	never, early, late := time.Time{}, time.Unix(1, 0), time.Unix(2, 0)
	for name, c := range map[string]struct{ a, b, sooner, later time.Time }{
		"two instants":    {early, late, early, late},
		"the other way":   {late, early, early, late},
		"never and one":   {never, late, late, late},
		"one and never":   {early, never, early, early},
		"never and never": {never, never, never, never},
		"twice the same":  {late, late, late, late},
	} {
		if got := Sooner(c.a, c.b); !got.Equal(c.sooner) {
			t.Errorf("%s: sooner is %v, want %v", name, got, c.sooner)
		}
		if got := Later(c.a, c.b); !got.Equal(c.later) {
			t.Errorf("%s: later is %v, want %v", name, got, c.later)
		}
	}
}

func TestRestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if !Rest(t.Context(), time.Hour) {
			t.Error("a rest was cut off")
		}
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		if Rest(ctx, time.Hour) {
			t.Error("a rest outlived its context")
		}
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		if err := Await(ctx, func() {}); err != nil {
			t.Errorf("what ended at once: %v", err)
		}
		over := make(chan struct{})
		go func() { synctest.Wait(); end() }()
		if err := Await(ctx, func() { <-over }); !errors.Is(err, context.Canceled) {
			t.Errorf("what never ends: %v, want the context's error", err)
		}
		close(over)
	})
}
