package intake

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"edigw/as2"
	"edigw/fault"
	"edigw/queue"
)

// Bounds of what a caller may say.
const (
	maxKey         = 200 // bytes of a given key
	maxCorrelation = 200
	maxFileName    = 200
)

// Source is the way in that a document took.
type Source string

// Ways in.
const (
	SourceAPI     Source = "api"
	SourceCLI     Source = "cli"
	SourceOutbox  Source = "outbox"
	SourceConsole Source = "console"
)

// Request is what a caller says about a document.
type Request struct {
	Partner       string
	Key           string           // idempotency key, at most 200 printable ASCII characters; empty: derived from the content
	ID            string           // of the message to be made, a queue.NewID; empty: a new one
	FileName      string           // may be anything; folders are cut off
	ContentType   string           // may be anything; empty: from the content; multipart/related: several files in one document
	CorrelationID string           // at most 200 printable characters; a request id if the caller has no better one
	DeliverBy     time.Time        // zero: the partner's default
	Properties    queue.Properties // for AS4 partners alone
	Source        Source
	Actor         fault.Actor
	Size          int64 // of the body in bytes; -1: unknown
}

// Accepted is a document that is safe: the caller may forget it.
type Accepted struct {
	// Message is the one that was made, or for AdmitReplayed the stored one.
	// It may be dead already: a failed envelope check, or AdmitParked.
	Message queue.Message
	Outcome queue.Admitted // AdmitNew, AdmitParked or AdmitReplayed
	// Supersedes are earlier editions that are not sent any more.
	Supersedes []string
}

// check refuses what cannot be stored as it is.
func (r Request) check() error {
	switch {
	case !printable(r.Key, maxKey, '~'):
		return refuse(BadRequest, "Idempotency-Key", "The idempotency key must be at most %d printable ASCII characters.", maxKey)
	case strings.TrimSpace(r.Key) != r.Key:
		return refuse(BadRequest, "Idempotency-Key", "The idempotency key must not begin or end with a blank.")
	case !printable(r.CorrelationID, maxCorrelation, unicode.MaxRune):
		return refuse(BadRequest, "Correlation-Id", "The correlation id must be at most %d printable characters.", maxCorrelation)
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(r.ContentType)), "multipart/form-data"):
		return refuse(BadRequest, "Content-Type", "This is a form. Send the document itself as the body.")
	case isRelated(r.ContentType):
		if err := r.checkRelated(); err != nil {
			return err
		}
	}
	if err := checkProperties(fieldMessageProperty, r.Properties.Message); err != nil {
		return err
	}
	return checkProperties(fieldPartProperty, r.Properties.Part)
}

// checkRelated refuses a type that cannot go into the message as it is.
func (r Request) checkRelated() error {
	if !printable(strings.TrimSpace(r.ContentType), maxContentType, '~') {
		return refuse(BadRequest, "Content-Type", "The type of several files must be at most %d printable ASCII characters.", maxContentType)
	}
	if _, _, err := as2.RelatedBoundary(r.ContentType); err != nil {
		return refuse(BadRequest, "Content-Type", "This is %v.", err)
	}
	return nil
}

// printable reports whether s is at most n bytes of printable characters up to
// last.
func printable(s string, n int, last rune) bool {
	return len(s) <= n && utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return c > last || !unicode.IsPrint(c) }) < 0
}

// cleanFileName makes of a name one that is safe to show, to search and to
// create: folders of either system are cut off, control characters become "_",
// leading dots go, the length is bounded. What leaves nothing is "".
func cleanFileName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '_'
		}
		return c
	}, name)
	name = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), "."))
	for len(name) > maxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
