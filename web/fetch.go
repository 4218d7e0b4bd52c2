package web

import (
	"time"

	"edigw/queue"
)

// Fetching knows how the messages that partners hold for us are fetched.
type Fetching interface {
	// Failing says why fetching from a partner fails; nil if it does not, or
	// nothing is fetched from him. It does not block.
	Failing(partner string) *queue.FetchTrouble
}

// Failing is why a partner's messages cannot be fetched, while his lane lets him
// be asked; else nil.
func (r Reader) Failing(partner string) *queue.FetchTrouble {
	if r.Fetching == nil {
		return nil
	}
	switch r.Lanes.View(partner).State {
	case queue.LaneStopped, queue.LaneBlackout, queue.LaneIsolated: // nobody asks him now
		return nil
	}
	return r.Fetching.Failing(partner)
}

// fetchTrouble is a queue.FetchTrouble on the wire.
type fetchTrouble struct {
	Since    *time.Time `json:"since" doc:"first failure in a row"`
	Failures int        `json:"failures" doc:"in a row"`
	Side     string     `json:"side" doc:"whose it probably is: ours, theirs"`
	Why      string     `json:"why"`
	Do       string     `json:"do" doc:"what to do about it"`
	NextAt   *time.Time `json:"next_at" doc:"next request; null while one runs"`
}

func viewFetchTrouble(t *queue.FetchTrouble) *fetchTrouble {
	if t == nil {
		return nil
	}
	side := "theirs"
	if t.Ours {
		side = "ours"
	}
	return &fetchTrouble{when(t.Since), t.Failures, side, t.Why, t.Do, when(t.Next)}
}
