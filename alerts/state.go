package alerts

import (
	"time"

	"edigw/queue"
)

// State is how far the pipeline came. It is kept as one row and written
// together with what it led to.
type State struct {
	Version   int64     `json:"-"` // as queue.Message's
	Cursor    int64     `json:"cursor"`
	Heartbeat time.Time `json:"heartbeat,omitzero"` // last one made
	Digest    time.Time `json:"digest,omitzero"`    // last one made
	Settings  Setting   `json:"settings,omitzero"`
	Tally     Tally     `json:"tally,omitzero"` // since the last digest
}

// Setting is the last change of settings.
type Setting struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Tally counts what happened since the last digest.
type Tally struct {
	Accepted  int `json:"accepted,omitempty"`
	Delivered int `json:"delivered,omitempty"`
	Dead      int `json:"dead,omitempty"`
	Settled   int `json:"settled,omitempty"` // letters closed
	Refused   int `json:"refused,omitempty"`
	Outages   int `json:"outages,omitempty"`
}

// read takes one event into the state.
func (s State) read(e queue.Event) State {
	s.Cursor = e.ID
	switch e.Type {
	case queue.EventAccepted:
		s.Tally.Accepted++
	case queue.EventDelivered:
		if e.Facts["late"] != "true" { // better proof of what was counted already
			s.Tally.Delivered++
		}
	case queue.EventDead:
		s.Tally.Dead++
	case queue.EventLetterClosed:
		s.Tally.Settled++
	case queue.EventRefused:
		s.Tally.Refused++
	case queue.EventBreakerOpened:
		if e.Outage != "" {
			s.Tally.Outages++
		}
	case queue.EventSettings:
		s.Settings = Setting{At: e.At, Text: clip(clean(e.Text), maxText)}
	}
	return s
}
