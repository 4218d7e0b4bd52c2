package dlq

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// ErrNothingSelected says that a bulk replay names no open letter.
var ErrNothingSelected = errors.New("no open letter is selected: give ids, a filter or an outage")

// ErrOnlyReceived says that every letter that a bulk replay names is of a
// message that a partner sent us.
var ErrOnlyReceived = errors.New("the letters selected are of messages that partners sent us: these are not replayed but processed again, each by itself")

// InputError says that a field of a request cannot be used. Nothing was
// changed.
type InputError struct {
	Field  string // as the API spells it
	Reason string
}

// Error is "field: reason".
func (e *InputError) Error() string { return e.Field + ": " + e.Reason }

// ConfirmError says what a person should know first. Nothing was changed;
// repeat with the codes confirmed.
type ConfirmError struct {
	Codes  []Code       // in the order of Codes
	Counts map[Code]int // bulk: letters with each code; nil for a single action
}

// Error names the codes.
func (e *ConfirmError) Error() string {
	var names []string
	for _, c := range e.Codes {
		name := string(c)
		if n := e.Counts[c]; n > 0 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	return "to be confirmed first: " + strings.Join(names, ", ")
}

// ConflictError says that the letter, message or bulk replay is in another
// state by now. Nothing was changed.
type ConflictError struct {
	Letter  string      // empty if it is not about one
	Message string      // empty if it is not about one
	By      fault.Actor // who was faster; zero: the gateway itself, or nobody
	At      time.Time   // when, zero if not known
	Text    string      // sentences for people
}

// Error is the text.
func (e *ConflictError) Error() string { return e.Text }

// taken says what became of a letter that somebody wanted to act upon.
func taken(l queue.Letter, m queue.Message, now time.Time) *ConflictError {
	e := &ConflictError{Letter: l.ID, Message: m.ID, By: l.Actor, At: l.Closed}
	switch l.Status {
	case queue.LetterReplaying:
		e.At = l.Replayed
		e.Text = words.AlreadyReplayed(name(l.Actor), l.Replayed, now)
	case queue.LetterClosed:
		e.Text = words.ClosedAs(string(l.ClosedAs)) + " " + words.Ago(l.Closed, now) + ". Nothing was sent twice."
		if by := l.ClosedAs; by == queue.ClosedConfirmed || by == queue.ClosedDiscarded || by == queue.ClosedSuperseded {
			e.Text = words.ClosedAs(string(by)) + " by " + name(l.Actor) + " " + words.Ago(l.Closed, now) + "."
		}
	default:
		e.Text = "The letter is " + string(l.Status) + ": this is not possible now."
	}
	return e
}

// moved says that a message is in a state that an action does not fit.
func moved(m queue.Message, action string) *ConflictError {
	return &ConflictError{Message: m.ID, Letter: m.Letter, At: m.Finished, Text: fmt.Sprintf("The document is %s: it cannot be %s.", m.State, action)}
}

// raced says that somebody else changed the same thing in the same moment,
// twice.
func raced(what string) *ConflictError {
	return &ConflictError{Text: "Somebody else changed this " + what + " at the same moment. Read it again and decide anew; nothing was done."}
}

func name(a fault.Actor) string {
	if a.Gateway() {
		return "edigw"
	}
	return a.Name
}

func quoted(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Sprintf("%q", s)
}
