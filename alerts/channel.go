package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Channel takes notifications to people. Send returns nil only when the other
// side has taken it; it is never called twice at once and must end soon after
// ctx does. Its errors are *TemporaryError or *PermanentError, or count as
// temporary; they hold no secret. A channel loops over nothing: this package
// owns every retry (delivery.md §2).
type Channel interface {
	Name() string // "mail", "slack"
	Send(ctx context.Context, n Notification) error
}

// TemporaryError says that another try may succeed.
type TemporaryError struct {
	After time.Duration // not sooner than this, for the whole channel; 0: as usual
	Left  []string      // addresses that did not take it, if others did
	Err   error
}

// Error is the cause.
func (e *TemporaryError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *TemporaryError) Unwrap() error { return e.Err }

// PermanentError says that the settings or the other side must change first.
// The channel shows red; it is tried all the same, slowly.
type PermanentError struct{ Err error }

// Error is the cause.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// ErrNotSet says that the settings name no such channel.
var ErrNotSet = errors.New("the settings name no such channel")

// Condition is how a channel is.
type Condition struct {
	Name    string
	Failing bool      // red
	Since   time.Time // of the first failure in a row, zero if none
	Problem string    // of the last failure
	Last    time.Time // last success since the start of the program
	Unsent  int
}

func unknownChannel(name string) error {
	return fmt.Errorf("alerts: channel %q: %w", clip(clean(name), 40), ErrNotSet)
}
