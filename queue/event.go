package queue

import (
	"time"

	"edigw/fault"
)

// EventType names a business fact.
type EventType string

// Events. Each is written in the transaction that makes the fact; timelines,
// alerts, live pages and metrics read them and nothing else (delivery.md §10).
const (
	EventAccepted      EventType = "accepted"
	EventRefused       EventType = "refused"
	EventReplayedKey   EventType = "duplicate-accepted" // same key and content again
	EventKeyReused     EventType = "key-reused"         // same given key, other content: a producer bug
	EventBuilt         EventType = "built"
	EventSending       EventType = "sending"
	EventRetry         EventType = "retry" // another attempt is due at NextAt
	EventAwaiting      EventType = "awaiting-ack"
	EventDelivered     EventType = "delivered"
	EventDead          EventType = "dead" // a letter was opened
	EventLetterClosed  EventType = "letter-closed"
	EventLetterChanged EventType = "letter-changed" // a late negative acknowledgement replaced its reason
	EventReplay        EventType = "replay"
	EventUndo          EventType = "undo"
	EventCancelled     EventType = "cancelled"
	EventSuperseded    EventType = "superseded"
	EventOverdue       EventType = "overdue"
	EventWarnBy        EventType = "warn-by"
	EventAckIgnored    EventType = "ack-ignored"       // recorded, settles nothing
	EventAckConflict   EventType = "ack-contradiction" // contradicts an earlier one, or the document was discarded
	EventCrashed       EventType = "outcome-unknown"   // our process ended during the exchange
	EventEvidenceLost  EventType = "evidence-lost"     // a receipt counts and could not be kept

	EventBreakerOpened   EventType = "breaker-opened"
	EventBreakerReopened EventType = "breaker-reopened"
	EventBreakerProbing  EventType = "breaker-half-open"
	EventAnswering       EventType = "answering"
	EventBreakerClosed   EventType = "breaker-closed"
	EventOutageBuried    EventType = "outage-buried" // a batch of letters was made
	EventOutageEnded     EventType = "outage-ended"  // closed and none of its letters open
	EventLaneStopped     EventType = "lane-stopped"
	EventLaneStarted     EventType = "lane-started"
	EventLaneNeedsFix    EventType = "lane-needs-fix"
	EventLaneReleased    EventType = "lane-released" // needs-fix ended by a changed setting
	EventLaneOrphaned    EventType = "lane-orphaned"
	EventLaneBlocked     EventType = "lane-blocked"
	EventCheck           EventType = "connection-check"
	EventFetchFailed     EventType = "fetch-failed" // messages that a partner holds for us cannot be fetched
	EventFetchWorks      EventType = "fetch-works"  // and now they can, or need not
	EventIsolated        EventType = "isolated"
	EventReconnected     EventType = "reconnected"

	EventSettings    EventType = "settings"      // reload: what changed
	EventMisconfig   EventType = "settings-bad"  // a settings file is bad
	EventCertificate EventType = "certificate"   // imported, or ends soon
	EventDLQHealth   EventType = "dlq-health"    // depth, age or growth over its bound
	EventStoreBroken EventType = "store-trouble" // disk full, commit failing
	EventChannel     EventType = "alert-channel" // an alert channel fails or works again
	EventDefect      EventType = "defect"        // something our own table does not know
	EventSignIn      EventType = "sign-in"       // also lock-outs
	EventSignOut     EventType = "sign-out"
	EventAccess      EventType = "access" // users, roles, tokens
	EventPayload     EventType = "payload-viewed"
	EventBulk        EventType = "bulk-replay" // started, paused, finished
	EventRestored    EventType = "restored"    // from a backup
	EventStarted     EventType = "gateway-started"
	EventStopping    EventType = "gateway-stopping"
)

// Event is one row of the ledger. The store numbers events in commit order, so
// that a reader with a cursor misses none. An event with an Actor is an audit
// entry.
type Event struct {
	ID      int64
	At      time.Time
	Type    EventType
	Partner string
	Lane    string
	Message string
	Letter  string
	Outage  string
	Actor   fault.Actor
	Text    string            // one sentence for people; never payload, never credentials
	Facts   map[string]string // bounded: class, reason, status, next, from, to, …
}
