// Package partner knows the trading partners and the gateway's own settings:
// it loads edigw.yaml and partners/*.yaml, reports every mistake with file,
// line, key, reason and hint, and gives an immutable Snapshot with the
// certificates and calendars in force.
//
// It sends nothing and stores nothing. Settings live beside the code that
// they steer (retry.Policy, breaker.Policy, as2.Agreement, as4.PMode); this package
// composes them.
package partner

import (
	"time"

	"edigw/as2"
	"edigw/breaker"
	"edigw/internal/conf"
	"edigw/retry"
)

// Stage says how far the on-boarding of a partner is (interfaces.md §3).
type Stage string

// Stages of a partner.
const (
	StageSetup   Stage = "setup"   // refuses documents, connection tests only
	StageTest    Stage = "test"    // test interchanges only; never pages
	StageLive    Stage = "live"    // production
	StageRetired Stage = "retired" // finishes what it has, takes nothing new
)

// OnOpen says what becomes of waiting messages when the breaker opens.
type OnOpen string

// What an opened breaker does with the messages of its lane.
const (
	OpenDeadLetter OnOpen = "dead-letter"
	OpenHold       OnOpen = "hold"
)

// AfterDead says whether later documents may overtake a letter.
type AfterDead string

// What follows a letter in its lane.
const (
	DeadContinue AfterDead = "continue"
	DeadBlock    AfterDead = "block"
)

// Partner is one trading partner as its file, the preset, the defaults and the
// built-in values say. It is immutable and may be shared.
type Partner struct {
	ID       string
	Name     string
	Zone     *time.Location
	Stage    Stage
	Protocol string // as2 or as4
	Preset   string
	Owner    Owner
	AS2      *AS2 // nil unless Protocol is as2
	AS4      *AS4 // nil unless Protocol is as4

	Retry   retry.Policy
	Breaker breaker.Policy
	Lane    Lane
	Timeout Timeout
	Notify  Notify

	Auth      *Auth    // nil: none
	Proxy     *Proxy   // nil: direct; the gateway's is filled in already
	Webhook   *Webhook // nil: the inbox folder
	Retention Retention

	Backlog       Backlog
	AllowEmpty    bool
	CheckEnvelope bool
	WarnBy        time.Duration // 0: never
	DeliverBy     time.Duration // 0: no deadline unless the caller gives one
	KeepOverdue   bool          // after_deadline: keep
	Duplicates    time.Duration // duplicate_window; 0 = they do not recognise duplicates
	FreshID       bool

	Stale         bool      // the file on disk is bad; these are its last good settings
	Misconfigured bool      // the file was never good: accepts, sends nothing
	Problems      []Problem // what is wrong with the file on disk

	certificates certificates
	source       string  // the text of the file that these settings are from
	below        *layers // what lay below it
	marks        marks
}

// URL is where documents go; empty if the partner pulls them.
func (p *Partner) URL() string {
	switch {
	case p.AS2 != nil:
		return p.AS2.Template.URL
	case p.AS4 != nil:
		return p.AS4.Template.URL
	}
	return ""
}

// Owner is whom to call.
type Owner struct{ Team, Mail, Phone, Note string }

// Timeout bounds the parts of one exchange (delivery.md §8).
type Timeout struct {
	Connect  time.Duration // DNS, TCP, proxy and TLS together
	Send     time.Duration // longest time without progress while the body goes out
	Response time.Duration // from the last byte sent to the response headers
}

// Backlog bounds what a partner may have waiting; zero values mean no bound.
type Backlog struct {
	Messages int
	Bytes    int64
}

// Lane steers the flow of documents to one partner (delivery.md §7).
type Lane struct {
	Concurrency int     // 1 = strict first in, first out
	Rate        float64 // exchanges a second; 0 = no limit
	Connections int     // open connections at most
	AfterDead   AfterDead
	OnUnknown   retry.OnUnknown
	OnOpen      OnOpen
	HoldAfter   int
	ReplayRate  float64 // replayed letters a second
	AutoReplay  *AutoReplay
	Calendar    Calendar
}

// AutoReplay replays an outage's letters without an operator.
type AutoReplay struct {
	MaxAge time.Duration // letters older than this stay
	Max    int           // at most so many
}

// Notify steers the alerts about one partner (delivery.md §10).
type Notify struct {
	Mail  []string // besides the gateway's own addresses
	Quiet *Quiet   // nil: no quiet hours
	Tier  int      // 1 pages; 2 and above get tickets
}

// Quiet is a daily span in the partner's zone, minutes since midnight; a span
// that ends before it begins crosses midnight.
type Quiet struct{ From, To int }

// Problem is one mistake in a settings file.
type Problem = conf.Problem

// AS2 is what a partner file settles for AS2.
type AS2 struct {
	// Template is the agreement without keys, certificates and password;
	// Snapshot.Agreement fills in those that are in force.
	Template    as2.Agreement
	ContentType string        // "auto", or the MIME type of every document of one file
	Wait        time.Duration // mdn.wait: how long an asynchronous receipt may take

	EncryptToSelf bool // our own certificate is among the recipients
	AttachChain   bool // intermediates go into our signatures
}

// Auth is the login that the partner's server asks for (HTTP basic). The
// password is read at each use.
type Auth struct {
	User     string
	Password conf.Secret
}

// Retention bounds how long a partner's payloads and evidence are kept after
// a message is terminal.
type Retention struct{ Payloads, Evidence time.Duration }
