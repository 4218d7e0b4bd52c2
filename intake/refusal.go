package intake

import (
	"fmt"
	"time"

	"edigw/queue"
)

// Slug names a kind of refusal, as docs/errors.md part 3 does.
type Slug string

// Refusals at the door.
const (
	NotFound   Slug = "not-found"
	WrongStage Slug = "wrong-stage"
	BadRequest Slug = "bad-request"
	TooLate    Slug = "too-late"
	TooLarge   Slug = "too-large"
	Empty      Slug = "empty"
	BadParts   Slug = "bad-parts"
	KeyReused  Slug = "key-reused"
	InProgress Slug = "in-progress"
	Backlog    Slug = "backlog"
	DiskFull   Slug = "disk-full"
	Stopping   Slug = "stopping"

	NoProperties     Slug = "no-properties"
	ReservedProperty Slug = "reserved-property"
	MissingProperty  Slug = "missing-property"
)

// Refusal says why a document was not accepted. Nothing is left of it but,
// for most slugs, a message in state refused.
type Refusal struct {
	Slug       Slug
	Title      string
	Detail     string        // what was wrong, in a sentence for the caller; never payload
	Fix        string        // what to do
	Field      string        // header or parameter at fault, empty if none
	RetryAfter time.Duration // the same request may succeed later; 0: it will not by itself
	Message    string        // id of the refused message, empty if none was recorded
	Holder     queue.Message // KeyReused: whose key it is
}

// Error is the detail.
func (r *Refusal) Error() string { return r.Detail }

// Later reports whether the same request may succeed by waiting alone.
func (r *Refusal) Later() bool { return r.RetryAfter > 0 }

// facts is what is the same for all refusals of a slug.
type facts struct {
	title string
	fix   string
	retry time.Duration
	once  time.Duration // one key is recorded at most once in so long; 0: never
}

// slugs is the table of refusals.
var slugs = map[Slug]facts{
	NotFound:   {"No such partner", "Check the id; ids are case-sensitive.", 0, time.Minute},
	WrongStage: {"Not at this stage", "Change stage in the partner file and reload, or the test indicator in the program that makes the document; check: none switches the comparison off.", 0, time.Minute},
	BadRequest: {"Cannot be read", "Correct the field.", 0, time.Minute},
	TooLate:    {"Deadline has passed", "Send a later time, or none.", 0, time.Minute},
	TooLarge:   {"Document too large", "Split the document, or raise limits.document in edigw.yaml.", 0, time.Minute},
	Empty:      {"Document is empty", "Look why there were no bytes; if it is meant so, set empty: allow in the partner file.", 0, time.Minute},
	BadParts:   {"Files cannot be taken apart", "Correct it where it is made, or let edigw send PARTNER FILE --attach FILE make it.", 0, time.Minute},
	KeyReused:  {"Key belongs to another document", "Use a key of its own for each document, e.g. with a version at its end.", 0, time.Minute},
	InProgress: {"First request still running", "Repeat after a moment; the answer is then the stored one.", time.Second, 0},
	Backlog:    {"Too many documents wait", "Wait and repeat; see why the lane stands still.", 30 * time.Second, time.Hour},
	DiskFull:   {"No room on the disk", "Free space in the data folder, then repeat; nothing accepted is lost.", 30 * time.Second, time.Hour},
	Stopping:   {"Gateway is stopping", "Repeat when it runs again.", 10 * time.Second, 0},

	NoProperties:     {"No properties in AS2", "Leave them out, or hand the document in for an AS4 partner.", 0, time.Minute},
	ReservedProperty: {"Property is filled in by edigw", "Leave it out.", 0, time.Minute},
	MissingProperty: {"Property is missing", "Give it with the document: edigw send PARTNER FILE with --property or --part-property NAME=VALUE, or the API's headers Message-Property and Part-Property. " +
		"An outbox has no place for it. A value that is the same for all documents can stand in the partner file.", 0, time.Minute},
}

// refuse makes a refusal.
func refuse(s Slug, field, detail string, args ...any) *Refusal {
	f := slugs[s]
	return &Refusal{Slug: s, Title: f.title, Detail: fmt.Sprintf(detail, args...), Fix: f.fix, Field: field, RetryAfter: f.retry}
}
