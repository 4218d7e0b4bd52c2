// Package alerts tells people what needs them: it reads every event of the
// ledger, gathers events of one cause into incidents, and sends each incident
// to every channel of its route until the channel took it (delivery.md §10).
//
// It owns incidents and notifications and is their only writer. It acts on no
// letter, lane or partner, decides no delivery, and never puts payload into a
// text. Reading events, changing incidents and making notifications is one
// transaction of the store together with the cursor: a kill at any instant
// loses none, and repeats at most the one that was being sent, under the same
// Message-ID.
//
// An event opens or touches an incident (table rules); whether it is over is
// read from the store, not from events, so that a lost or reordered fact
// cannot leave an incident standing. Facts that an event may carry are used if
// they are there: `cause`, `reason`, `as`, `proof`, `file`, `mistakes`. Some
// types have an end that only an event can tell: `store-trouble` and
// `alert-channel` with the fact state=ok, `fetch-failed` with `fetch-works`;
// `settings` without a partner ends what `settings-bad` without a partner
// began, unless its fact `bad` is true.
package alerts

import (
	"maps"
	"time"

	"edigw/fault"
)

// Severity says how loud a notification is.
type Severity string

// Severities. Page wakes people; quiet hours delay all others.
const (
	Page   Severity = "page"
	Ticket Severity = "ticket"
	Info   Severity = "info"
)

// Kind says what an incident is about.
type Kind string

// Kinds of incidents.
const (
	KindOutage        Kind = "outage"        // a partner does not answer
	KindLetters       Kind = "letters"       // dead letters of one partner and cause, also a lane that needs a fix
	KindBlocked       Kind = "blocked"       // a lane stands behind a letter
	KindOrphaned      Kind = "orphaned"      // a settings file is gone
	KindSettings      Kind = "settings"      // a settings file is bad
	KindDeadline      Kind = "deadline"      // a troubled lane is about to miss its first deadline
	KindCertificate   Kind = "certificate"   // ends soon, nothing takes over
	KindIsolated      Kind = "isolated"      // our own network
	KindStore         Kind = "store"         // the store cannot commit
	KindChannel       Kind = "channel"       // an alert channel fails
	KindFetch         Kind = "fetch"         // messages that a partner holds for us cannot be fetched
	KindHealth        Kind = "dlq-health"    // dead letters over a bound
	KindKeyReused     Kind = "key-reused"    // a producer uses one key for two documents
	KindContradiction Kind = "contradiction" // receipts that contradict each other
	KindWarnBy        Kind = "warn-by"       // documents later than they should be
	KindOverdue       Kind = "overdue"       // past their deadline and kept
	KindDuplicate     Kind = "duplicate"     // a partner answered that it has it already
	KindDefect        Kind = "defect"        // a fault of this program
	KindEvidence      Kind = "evidence"      // receipts that could not be kept
	KindLockout       Kind = "lock-out"      // names that were locked after wrong passwords
	KindRestored      Kind = "restored"      // the store came from a backup
)

// Stage says how an incident stands.
type Stage string

// Stages of an incident.
const (
	Running   Stage = "running"
	Answering Stage = "answering" // outage: the partner answers again, the rest is not settled
	Over      Stage = "over"
)

// News is what there is to tell about an incident.
type News string

// News.
const (
	NewsNone     News = ""
	NewsOpened   News = "opened"
	NewsChanged  News = "changed"  // more of the same
	NewsReminder News = "reminder" // nothing new, but it goes on
	NewsAnswers  News = "answers"  // outage: the partner answers again
	NewsOver     News = "over"
)

// Incident is everything that has one cause and concerns the same people. It
// is a value; its map is never changed in place.
type Incident struct {
	ID      string // OUT-231 for an outage, else INC-88
	Version int64  // as queue.Message's
	Key     string // what it gathers; no two open incidents have the same
	Kind    Kind
	Partner string // empty: the gateway as a whole
	Lane    string
	Cause   string // letters: their cause, else their reason; certificate: SHA-256; channel: its name

	Severity Severity // as told last, or as it will be
	Stage    Stage
	News     News // what is to be told; NewsNone: nothing
	Due      time.Time
	Opened   time.Time
	Changed  time.Time // last event
	Over     time.Time
	Closed   time.Time // over and told, or inhibited to its end: nothing follows
	Told     int       // how often
	LastTold time.Time
	Answers  time.Time // when "answers again" was told last
	Under    string    // incident that inhibited it
	Held     bool      // its news waits for the end of quiet hours

	Events int               // events gathered
	Ended  map[string]int    // letters that closed, by how
	Facts  map[string]string // of the latest event that had any; bounded
	Detail string            // sentence of the latest event that had one; bounded
	Ack    *Ack              // an operator has it: no reminders
}

// Ack is an operator's word that somebody has the incident.
type Ack struct {
	By   fault.Actor `json:"by"`
	At   time.Time   `json:"at"`
	Note string      `json:"note,omitempty"`
}

// Active reports whether the incident can still change.
func (in Incident) Active() bool { return in.Closed.IsZero() }

// count returns the incident with one more letter closed as how.
func (in Incident) count(how string) Incident {
	in.Ended = maps.Clone(in.Ended)
	if in.Ended == nil {
		in.Ended = map[string]int{}
	}
	in.Ended[how]++
	return in
}
