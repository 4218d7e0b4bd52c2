package dlq

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"edigw/fault"
)

// MaxNote bounds what an operator can write about an action, in bytes.
const MaxNote = 1000

// UndoWindow is how long a replay from the console can be undone.
const UndoWindow = 5 * time.Second

// Ask is what somebody wants done: who, why, and what he was told before.
type Ask struct {
	Actor   fault.Actor
	Note    string // why, in the actor's words; at most 1000 bytes
	Confirm []Code
	UndoFor time.Duration // replay: it starts only then; 0 starts at once
	FreshID bool          // replay: under a new Message-ID, after a definite refusal only
}

func (a *Ask) check(needsNote bool) error {
	a.Note = strings.TrimSpace(a.Note)
	switch {
	case a.Note == "" && needsNote:
		return &InputError{Field: "reason", Reason: "say why; it is kept with the document"}
	case len(a.Note) > MaxNote || !utf8.ValidString(a.Note):
		return &InputError{Field: "reason", Reason: fmt.Sprintf("at most %d bytes of text", MaxNote)}
	case strings.HasPrefix(a.Note, jobNote):
		return &InputError{Field: "reason", Reason: "a bulk replay writes reasons that begin so; use other words"}
	case a.UndoFor < 0 || a.UndoFor > time.Minute:
		return &InputError{Field: "undo", Reason: "from 0 to 60 s"}
	}
	return checkCodes("confirm", a.Confirm)
}
