package queue

import "errors"

// Errors that every store returns, by errors.Is.
var (
	ErrConflict  = errors.New("queue: changed by somebody else meanwhile") // version moved: read again
	ErrNotFound  = errors.New("queue: no such record")
	ErrBadCursor = errors.New("queue: not a cursor of this list")

	ErrUnavailable = errors.New("queue: the store could not commit") // nothing was written: try again
	ErrNoSpace     = errors.New("queue: no space left on the disk")
	ErrForbidden   = errors.New("queue: the store's rules do not allow this") // now or later: a defect, or a damaged row
	ErrTooLarge    = errors.New("queue: longer than allowed")                 // a file over the limit given for it
)

// Result is what one step changed. A store records it in one transaction:
// everything or nothing. Version fields guard the message, the letters and the
// lane; a stale one fails the whole transaction with ErrConflict.
type Result struct {
	Attempt   *Attempt
	Message   *Message // Version 0: a new one, (Partner, Key, Edition) must be free
	Build     *Build   // a new build, or one whose Sent was set
	Lane      *Lane
	Closed    *Letter // or a letter whose status or reason changed
	Opened    *Letter // a new letter
	Outage    *Outage
	Isolation *Isolation
	Events    []Event
	Overtakes bool // Message was delivered: open letters before it in the lane are marked overtaken
}
