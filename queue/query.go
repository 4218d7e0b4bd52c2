package queue

import (
	"time"

	"edigw/fault"
)

// Page asks for part of a list, newest first. Cursor is empty for the first
// page, else what the previous page gave; a cursor that no store made is
// ErrBadCursor. Limit is 1 to 500.
type Page struct {
	Limit  int
	Cursor string
}

// MessageFilter selects messages; zero fields select everything.
type MessageFilter struct {
	Partner   string
	States    []State
	Direction Direction
	Reference string // exact business reference, key, Message-ID, correlation id or file name; a trailing * matches the beginning
	From, To  time.Time
	Uncertain bool
	Overdue   bool
}

// LetterFilter selects letters; zero fields select everything.
type LetterFilter struct {
	Partner string
	Reason  fault.Reason
	Status  LetterStatus
	Outage  string
	Cause   string
	From    time.Time
	To      time.Time

	Direction Direction // of the message that it stands for
}

// LetterGroup is one line of the letters' overview.
type LetterGroup struct {
	Partner   string
	Reason    fault.Reason
	Cause     string
	Outage    string
	Direction Direction
	Open      int
	Replaying int
	Uncertain int
	Oldest    time.Time
	Newest    time.Time
}

// Depth is what a partner has waiting or dead: metrics, board and backlog
// limits read it.
type Depth struct {
	Partner string
	Lane    string
	Lined   int   // queued, waiting, sending
	Bytes   int64 // of these
	Acks    int   // awaiting-ack
	Oldest  time.Time
	Letters map[fault.Reason]int // open ones
	OldestL time.Time            // oldest open letter
	First   time.Time            // first deadline of a lined message, zero if none
}

// Census counts what each lane has, for all lanes with anything waiting or dead.
type Census struct {
	Lanes  []LaneCount // by lane
	Oldest time.Time   // open letter of all, by when it was made; zero if none is open
}

// LaneCount is what one lane has.
type LaneCount struct {
	Lane    string
	Partner string
	Lined   int       // queued, waiting, sending
	Acks    int       // awaiting-ack
	Letters int       // open ones
	First   time.Time // first deadline of a lined message, zero if none
}

// AuditFilter selects audit entries: events with an actor.
type AuditFilter struct {
	Actor   string
	Partner string
	From    time.Time
	To      time.Time
}

// ReplayJob is a bulk replay: its set was frozen when it was confirmed.
type ReplayJob struct {
	ID       string
	Actor    fault.Actor
	Created  time.Time
	Status   ReplayStatus
	Confirm  []string // codes that the operator confirmed
	Skip     []string // codes whose letters are left out
	Filter   LetterFilter
	Counts   ReplayCounts
	Finished time.Time
	Damaged  string // what of its row cannot be read, empty if all can; never stored
}

// ReplayStatus is where a bulk replay stands.
type ReplayStatus string

// Statuses of a bulk replay.
const (
	ReplayRunning   ReplayStatus = "running"
	ReplayPaused    ReplayStatus = "paused"
	ReplayCancelled ReplayStatus = "cancelled" // the rest stay letters
	ReplayDone      ReplayStatus = "done"
)

// ReplayCounts are the numbers that a bulk replay shows.
type ReplayCounts struct {
	Total      int `json:"total"`
	NeverTried int `json:"never_tried"`
	Uncertain  int `json:"uncertain"`
	Overtaken  int `json:"overtaken"`
	Overdue    int `json:"overdue"`
	Pending    int `json:"pending"`
	Replayed   int `json:"replayed"`
	Skipped    int `json:"skipped"`
	Failed     int `json:"failed"`
	Delivered  int `json:"delivered"`
	DiedAgain  int `json:"died_again"`
	Inbound    int `json:"inbound"` // selected, but of received messages: left out of all the others, they are processed again instead
}

// Count adds an open letter and its message, as they are at a time. Every
// count of a bulk replay, of a dry run or of a frozen set, follows this rule.
func (c *ReplayCounts) Count(l Letter, m Message, now time.Time) {
	c.Total++
	c.Pending++
	unsure := l.Uncertain || m.Uncertain
	for _, x := range []struct {
		n   *int
		yes bool
	}{
		{&c.NeverTried, m.Total == 0 && !unsure},
		{&c.Uncertain, unsure},
		{&c.Overtaken, l.Overtaken},
		{&c.Overdue, l.Overdue || m.Missed(now)},
	} {
		if x.yes {
			*x.n++
		}
	}
}

// Tally counts the open letters of a selection that one lane has in one
// direction: what a bulk replay must say of them before it begins.
type Tally struct {
	Lane      string
	Partner   string
	Direction Direction
	Counts    ReplayCounts
	Doubtful  int // uncertain, or tried so long ago that the partner forgot the Message-ID
	Changed   int // same reference as a delivered document, other content
	Passed    int // the letter or its message is overtaken
	Missed    int // past a deadline that the caller had set
}

// ReplayItem is one letter of a bulk replay.
type ReplayItem struct {
	Job     string
	N       int // order: oldest first
	Letter  string
	Message string
	Partner string
	Status  string // pending, replayed, skipped, failed
	Detail  string // why skipped or failed
}
