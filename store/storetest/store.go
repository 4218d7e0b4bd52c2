// Package storetest is the contract that every store of edigw must meet: the
// union of what its consumers call, and a suite that proves it (Run). It also
// holds a small store in memory for tests of the layers above.
package storetest

import (
	"context"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// Store is the union of the methods that the consumers declare for themselves.
// Each is one whole transaction. Errors are, by errors.Is, queue.ErrNotFound,
// queue.ErrConflict, queue.ErrForbidden, queue.ErrBadCursor,
// queue.ErrUnavailable (nothing was written), queue.ErrNoSpace, the context's,
// or a fault of the database. A write returns only when it would survive a
// power cut; once it has begun it does not heed its context, so that its
// outcome is always known. A value in a row that cannot be read stays zero and
// is told of (Damaged, or the detail of a letter): it hides no other row.
// Times are kept to the microsecond, in UTC. All methods may be called
// concurrently; what is passed in must not be changed meanwhile.
type Store interface {
	// Accept admits an arrival by queue.Admit inside one transaction, so that
	// a hundred concurrent arrivals of one key make one message. The returned
	// Admission holds the message as stored (Seq, Version).
	Accept(ctx context.Context, a queue.Arrival) (queue.Admission, error)
	// Record writes results together. Version fields of messages, letters and
	// lanes are compared and then raised by one, also in the values passed in:
	// after success *Result.Message.Version is the stored one, and a new
	// message and its letter have their Seq. After an error nothing is changed.
	// A value that several results share by pointer is written once.
	// What a message is (partner, lane, kind, key, edition, Message-ID,
	// payload, references, who and when) is written with the first version
	// only; a transition that queue forbids is ErrForbidden, a build, attempt or
	// letter of an unknown message is ErrNotFound. Letters and Open of an
	// outage are counted by the store. A new edition of an outbound document
	// that Forget let go, with the same content, is ErrNotFound.
	Record(ctx context.Context, results ...*queue.Result) error

	Message(ctx context.Context, id string) (queue.Message, error)
	// Carried finds the newest outbound message of a Message-ID on the wire,
	// brackets tolerated; a partner's own id never stands in for ours.
	Carried(ctx context.Context, messageID string) (queue.Message, error)
	Editions(ctx context.Context, partner, key string) ([]queue.Edition, error)
	Builds(ctx context.Context, message string) ([]queue.Build, error)     // oldest first
	Attempts(ctx context.Context, message string) ([]queue.Attempt, error) // oldest first
	Timeline(ctx context.Context, message string) ([]queue.Event, error)   // the newest 1,000, oldest first
	// Letter gives a letter. An open one is Overtaken as soon as a document
	// that was accepted later in its lane is delivered (Result.Overtakes).
	Letter(ctx context.Context, id string) (queue.Letter, error)
	LettersOf(ctx context.Context, message string) ([]queue.Letter, error) // oldest first

	// Ready gives messages of a lane that are queued or waiting. In order: the
	// oldest by Seq whatever their NextAt. Not in order: those with NextAt not
	// after now, by NextAt. next is the earliest NextAt among the rest, zero
	// if there is none.
	Ready(ctx context.Context, lane string, inOrder bool, now time.Time, limit int) (ready []queue.Message, next time.Time, err error)
	// Buriable gives the oldest queued or waiting messages of a lane that an
	// open breaker may bury: none that were Asked, and none of except. It reads
	// no more rows than limit and except have.
	Buriable(ctx context.Context, lane string, except []string, limit int) ([]queue.Message, error)
	Agenda(ctx context.Context) ([]queue.Work, error)                                                      // lanes that have queued, waiting or sending messages
	LaneWork(ctx context.Context, lane string) (queue.Work, error)                                         // of one lane; zero Depth if none
	Timers(ctx context.Context, now time.Time, limit int) (due []queue.Message, next time.Time, err error) // by queue.Message.Timer
	Unfinished(ctx context.Context, incarnation string, limit int) ([]queue.Message, error)                // sending, by another incarnation
	Lanes(ctx context.Context) ([]queue.Lane, error)                                                       // all that have a row
	Lane(ctx context.Context, key string) (queue.Lane, error)                                              // ErrNotFound if it has no row
	Isolation(ctx context.Context) (queue.Isolation, error)
	NextNumber(ctx context.Context, series string) (int64, error) // 1, 2, …; "outage", "incident"
	Outage(ctx context.Context, id string) (queue.Outage, error)  // with Letters and Open counted
	Outages(ctx context.Context, partner string, running bool, p queue.Page) ([]queue.Outage, string, error)
	OutageLetters(ctx context.Context, outage string, s queue.LetterStatus, limit int) ([]queue.Letter, error) // oldest first
	// OldestLetter gives the open letter of a lane that was made first, but for
	// some reasons; ErrNotFound if there is none. It reads no more than those
	// that it leaves out.
	OldestLetter(ctx context.Context, lane string, except ...fault.Reason) (queue.Letter, error)

	// Lists are newest first: messages by Seq, letters and jobs by when they
	// were made, events by ID, outages by number. From is included, To is not;
	// they mean Message.Accepted, Letter.Created and Event.At. Messages by the
	// beginning of a reference may come in a short page though more follow.
	Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error)
	Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error)
	LetterGroups(ctx context.Context, f queue.LetterFilter) ([]queue.LetterGroup, error) // open and replaying ones, by partner, reason, cause, outage
	// LargestGroups gives the groups with the most open letters, the largest
	// first, and how many letters are open in all that the filter selects, whose
	// status and times do not count. It reads no letter.
	LargestGroups(ctx context.Context, f queue.LetterFilter, limit int) (groups []queue.LetterGroup, open int, err error)
	Depths(ctx context.Context) ([]queue.Depth, error)                        // lanes with anything waiting or dead, by lane
	PartnerDepths(ctx context.Context, partner string) ([]queue.Depth, error) // the same for the lanes of one partner
	Census(ctx context.Context) (queue.Census, error)                         // the same lanes, counted only
	Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error)

	// History gives the newest events of a partner or an outage that belong to
	// no message, newest first, at most limit; of each type it reads no more
	// than that.
	History(ctx context.Context, f queue.HistoryFilter, limit int) ([]queue.Event, error)

	// Events reads the ledger after a cursor, in commit order, at most limit.
	Events(ctx context.Context, after int64, limit int) ([]queue.Event, error)
	LastEvent(ctx context.Context) (int64, error)
	// AddEvents appends events that belong to no result.
	AddEvents(ctx context.Context, events ...queue.Event) error

	// FreezeReplay stores a bulk replay with the open letters that its filter
	// selects now, or with ids if given, oldest message first, and counts them
	// as queue.ReplayCounts.Count does at j.Created.
	// Of ids those that are not open are left out; one that no letter has is
	// ErrNotFound. Letters of received messages are counted as Inbound and left
	// out. A taken job id is ErrConflict. The events, who asked for it,
	// are of the same transaction.
	FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string, events ...queue.Event) (queue.ReplayJob, error)
	// Tally counts the open letters that a filter selects, by lane and
	// direction, in as many reads as one. forgotten is the time, by partner,
	// before which it has forgotten a Message-ID.
	Tally(ctx context.Context, f queue.LetterFilter, forgotten map[string]time.Time, now time.Time) ([]queue.Tally, error)
	ReplayJob(ctx context.Context, id string) (queue.ReplayJob, error)
	ReplayJobs(ctx context.Context, s queue.ReplayStatus) ([]queue.ReplayJob, error)                   // newest first, at most 1,000; empty status: all
	ReplayItems(ctx context.Context, job, status string, after, limit int) ([]queue.ReplayItem, error) // by N; empty status: all
	// ReplayPartners gives the partners with pending letters, by id, after one;
	// ReplayLine the pending letters of one of them; ReplayUnderWay the replayed
	// ones without a Detail. What each reads is bounded by limit, whatever is
	// done already.
	ReplayPartners(ctx context.Context, job, after string, limit int) ([]string, error)
	ReplayLine(ctx context.Context, job, partner string, after, limit int) ([]queue.ReplayItem, error) // by N
	ReplayUnderWay(ctx context.Context, job string, after, limit int) ([]queue.ReplayItem, error)      // by N
	// SaveReplay stores status, counts and end of a bulk replay, status and
	// detail of items, and the events that say who did it: all or nothing. A job
	// or an item that is not there is ErrNotFound.
	SaveReplay(ctx context.Context, j queue.ReplayJob, events []queue.Event, items ...queue.ReplayItem) error

	Backup(ctx context.Context, file string) error // a consistent copy of the database; file must not exist
	// MarkRestored makes every unfinished outbound message uncertain and stops
	// every lane without end (delivery.md §11): each that has a row or an
	// outbound message, and those of every kind of the partners named, so that
	// nothing goes out by itself: no document, no receipt, no webhook.
	MarkRestored(ctx context.Context, at time.Time, partners []string) (messages, lanes int, err error)
	// Expired lists spool names that nothing needs any more under the given
	// ages (zero: for ever), and last the facts of messages of which no file is
	// kept; Forget then drops the rows that name them. A file may go when its
	// row is forgotten and Unnamed still lists it: what a crash leaves in
	// between is found by Unnamed alone.
	Expired(ctx context.Context, now time.Time, k Keep, limit int) ([]Garbage, error)
	Forget(ctx context.Context, g ...Garbage) error
	// Trim drops what belongs to no message and ended by a time: bulk replays
	// with their items, outages of which no letter is kept, and events of no
	// running outage. An audit entry of a message goes as well, once the message
	// was forgotten. It drops at most limit rows and says how many.
	Trim(ctx context.Context, by time.Time, limit int) (int, error)
	// Unnamed gives those of the files that no row names, what as in Garbage:
	// an arrival that came to nothing leaves its file behind.
	Unnamed(ctx context.Context, what string, files []string) ([]string, error)
	Usage(ctx context.Context) (Usage, error)
	Close() error
}

// Keep is how long things are kept after a message became terminal. Open
// letters keep everything.
type Keep = queue.Keep

// Garbage is one thing that retention lets go.
type Garbage = queue.Garbage

// Usage is the size of the store.
type Usage = queue.Usage
