package web

import (
	"context"

	"edigw/as2"
	"edigw/queue"
)

// Claims finds who is said to have signed what could not be verified.
type Claims interface {
	// Claims looks into the newest receipt of a message that we sent, or into
	// what was kept of one that we refused. Nobody is no error.
	Claims(ctx context.Context, m queue.Message) ([]as2.Claim, error)
}
