package web

import (
	"context"

	"edigw/queue"
)

// Past reads what happened to a partner or in an outage as a whole; every
// store does.
type Past interface {
	History(ctx context.Context, f queue.HistoryFilter, limit int) ([]queue.Event, error)
}
