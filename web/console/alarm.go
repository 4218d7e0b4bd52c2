package console

import (
	"context"

	"edigw/access"
	"edigw/alerts"
	"edigw/fault"
)

// Alarm is the alert pipeline as pages show it and ask it; *alerts.Service is
// one.
type Alarm interface {
	// Account says how an incident stands now; an unknown one is
	// queue.ErrNotFound.
	Account(ctx context.Context, id string) (alerts.Account, error)
	Conditions(ctx context.Context) ([]alerts.Condition, error)
	// Test sends a test over one channel and waits for its answer. A channel
	// that the settings do not name is alerts.ErrNotSet.
	Test(ctx context.Context, channel string, by fault.Actor) error
}

// SignedIn lists where people are signed in; *access.Service does.
type SignedIn interface {
	Sessions(ctx context.Context, user string) ([]access.Session, error)
}
