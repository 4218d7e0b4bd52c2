package alerts

import (
	"strings"

	"edigw/queue"
)

// Events that this package adds to the ledger.
const (
	EventDeadlineNear queue.EventType = "deadline-near"      // a troubled lane loses its first deadline within the hour
	EventCertEnds     queue.EventType = "certificate-ends"   // and nothing takes over
	EventAcknowledged queue.EventType = "alert-acknowledged" // an operator has the incident
	EventTested       queue.EventType = "alert-tested"       // somebody sent a test over a channel
)

// gateway stands for the partner in keys of incidents that have none.
const gateway = "*"

// rule says what an event does to incidents.
type rule struct {
	kind  Kind
	opens bool // opens one if there is none; else it only makes an open one look again
	fits  func(queue.Event) bool
	part  func(queue.Event) string // what tells incidents of one kind and partner apart; nil: nothing
}

// rules is the table of delivery.md §10. An event that is not here changes no
// incident.
var rules = map[queue.EventType][]rule{
	queue.EventBreakerOpened:   {{kind: KindOutage, opens: true, fits: ofOutage, part: outage}},
	queue.EventBreakerReopened: {{kind: KindOutage, opens: true, fits: ofOutage, part: outage}},
	queue.EventOutageBuried:    {{kind: KindOutage, opens: true, fits: ofOutage, part: outage}},
	queue.EventAnswering:       {{kind: KindOutage, fits: ofOutage, part: outage}},
	queue.EventBreakerClosed:   {{kind: KindOutage, fits: ofOutage, part: outage}},
	queue.EventOutageEnded:     {{kind: KindOutage, fits: ofOutage, part: outage}},
	queue.EventDead: {
		{kind: KindOutage, opens: true, fits: ofOutage, part: outage},
		{kind: KindLetters, opens: true, fits: not(ofOutage), part: cause},
	},
	queue.EventLetterChanged: {
		{kind: KindOutage, fits: ofOutage, part: outage},
		{kind: KindLetters, opens: true, fits: not(ofOutage), part: cause},
	},
	queue.EventLetterClosed: {
		{kind: KindOutage, fits: ofOutage, part: outage},
		{kind: KindLetters, fits: not(ofOutage)},
		{kind: KindBlocked},
		{kind: KindHealth},
	},
	queue.EventReplay:       {{kind: KindOutage, fits: ofOutage, part: outage}},
	queue.EventLaneNeedsFix: {{kind: KindLetters, opens: true, part: cause}},
	queue.EventLaneReleased: {{kind: KindLetters}, {kind: KindOrphaned}},
	queue.EventLaneStarted:  {{kind: KindLetters}, {kind: KindBlocked}},
	queue.EventLaneOrphaned: {{kind: KindOrphaned, opens: true}},
	queue.EventLaneBlocked:  {{kind: KindBlocked, opens: true}},
	queue.EventIsolated:     {{kind: KindIsolated, opens: true}},
	queue.EventReconnected:  {{kind: KindIsolated}},
	queue.EventMisconfig:    {{kind: KindSettings, opens: true}},
	queue.EventSettings:     {{kind: KindSettings}, {kind: KindCertificate}},
	queue.EventCertificate:  {{kind: KindCertificate}},
	EventCertEnds:           {{kind: KindCertificate, opens: true, part: fact("id")}},
	EventDeadlineNear:       {{kind: KindDeadline, opens: true}},
	queue.EventDLQHealth:    {{kind: KindHealth, opens: true}},
	queue.EventStoreBroken:  {{kind: KindStore, opens: true, fits: not(works), part: fact("what")}, {kind: KindStore, fits: works, part: fact("what")}},
	queue.EventChannel:      {{kind: KindChannel, opens: true, fits: not(works), part: fact("channel")}, {kind: KindChannel, fits: works, part: fact("channel")}},
	queue.EventFetchFailed:  {{kind: KindFetch, opens: true}},
	queue.EventFetchWorks:   {{kind: KindFetch}},
	queue.EventKeyReused:    {{kind: KindKeyReused, opens: true}},
	queue.EventAckConflict:  {{kind: KindContradiction, opens: true}},
	queue.EventWarnBy:       {{kind: KindWarnBy, opens: true}},
	queue.EventOverdue:      {{kind: KindOverdue, opens: true}},
	queue.EventDelivered:    {{kind: KindDuplicate, opens: true, fits: byDuplicate}},
	queue.EventDefect:       {{kind: KindDefect, opens: true}},
	queue.EventSignIn:       {{kind: KindLockout, opens: true, fits: lockout}},
	queue.EventRestored:     {{kind: KindRestored, opens: true}},
	queue.EventEvidenceLost: {{kind: KindEvidence, opens: true}},
}

// manner is how incidents of a kind behave.
type manner struct {
	severity Severity
	lasting  bool // ends when its condition does; others once they were quiet for a repeat
	reminds  bool // told again while it lasts, even if nothing changed
	silent   bool // its end is not told
}

// manners holds the severity of every kind (delivery.md §10).
var manners = map[Kind]manner{
	KindOutage:        {severity: Page, lasting: true, reminds: true},
	KindIsolated:      {severity: Page, lasting: true, reminds: true},
	KindStore:         {severity: Page, lasting: true, reminds: true},
	KindChannel:       {severity: Page, lasting: true, reminds: true},
	KindDeadline:      {severity: Page, lasting: true, silent: true},
	KindLetters:       {severity: Ticket, lasting: true},
	KindBlocked:       {severity: Ticket, lasting: true},
	KindOrphaned:      {severity: Ticket, lasting: true},
	KindSettings:      {severity: Ticket, lasting: true},
	KindCertificate:   {severity: Ticket, lasting: true},
	KindFetch:         {severity: Ticket, lasting: true},
	KindHealth:        {severity: Ticket, lasting: true},
	KindKeyReused:     {severity: Ticket},
	KindContradiction: {severity: Ticket},
	KindWarnBy:        {severity: Ticket},
	KindOverdue:       {severity: Ticket},
	KindDefect:        {severity: Ticket},
	KindLockout:       {severity: Ticket},
	KindRestored:      {severity: Ticket},
	KindEvidence:      {severity: Ticket},
	KindDuplicate:     {severity: Info},
}

func ofOutage(e queue.Event) bool { return e.Outage != "" }

func works(e queue.Event) bool { return e.Facts["state"] == "ok" }

// lockout fits the event that a name was locked: one for each time, of whatever
// name, so that a flood of names makes one incident.
func lockout(e queue.Event) bool { return e.Facts["locked"] == "true" }

func byDuplicate(e queue.Event) bool {
	return e.Facts["proof"] == string(queue.ProofDuplicate)
}

func not(f func(queue.Event) bool) func(queue.Event) bool {
	return func(e queue.Event) bool { return !f(e) }
}

func outage(e queue.Event) string { return e.Outage }

func fact(name string) func(queue.Event) string {
	return func(e queue.Event) string { return e.Facts[name] }
}

// cause is what letters of one incident have in common: the configuration-like
// cause, else the reason.
func cause(e queue.Event) string {
	if c := e.Facts["cause"]; c != "" {
		return c
	}
	return e.Facts["reason"]
}

// key names the incident of an event under a rule.
func (r rule) key(e queue.Event) string {
	k := r.prefix(e)
	if r.part != nil {
		k += r.part(e)
	}
	return k
}

func (r rule) prefix(e queue.Event) string {
	id := e.Partner
	if id == "" || r.kind == KindOutage || r.kind.ofGateway() {
		id = gateway
	}
	return string(r.kind) + "/" + id + "/"
}

// touches reports whether an event without a part makes an open incident look
// again: that of its partner, or all if it names none.
func (r rule) touches(e queue.Event, key string) bool {
	return e.Partner == "" || strings.HasPrefix(key, r.prefix(e))
}
