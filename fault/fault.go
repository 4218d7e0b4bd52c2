// Package fault holds the facts of a failed or finished exchange and the few
// words that several floors share: what was reached, what the partner said,
// what the breaker should learn, why a letter exists, who acted.
//
// It decides nothing. Protocol packages fill an Outcome; package retry is the
// only place that turns one into a class (delivery.md §4).
package fault

import (
	"fmt"
	"time"
)

// Phase tells how far an exchange got. The order matters: a later phase
// implies the earlier ones.
type Phase uint8

// Phases of one exchange.
const (
	PhaseNone     Phase = iota // nothing was tried: a fault of our own side
	PhaseResolve               // looking up the name
	PhaseConnect               // opening the TCP connection (to the partner or to our proxy)
	PhaseProxy                 // waiting for our proxy's answer to CONNECT
	PhaseTLS                   // TLS handshake with the partner
	PhaseRequest               // connection usable, no byte of the body written yet
	PhaseBody                  // at least one byte of the body written
	PhaseSent                  // the last byte of the body written
	PhaseResponse              // status and headers read
	PhaseDone                  // the whole response read
)

var phaseNames = [...]string{"none", "resolve", "connect", "proxy", "tls", "request", "body", "sent", "response", "done"}

// String is the name used in the API, in logs and in the store.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Reached reports whether the partner may hold part of the document.
func (p Phase) Reached() bool { return p >= PhaseBody }

// Cause names why an exchange ended without a usable answer, or why it could
// not begin. CauseNone means that an answer was read to its end.
type Cause string

// Causes. The transport ones come from the exchange, the local ones from
// building; every one has a row in retry's table.
const (
	CauseNone           Cause = ""
	CauseDNS            Cause = "dns"             // name not resolved
	CauseRefused        Cause = "refused"         // connection refused
	CauseUnreachable    Cause = "unreachable"     // no route, network or host down
	CauseConnectTimeout Cause = "connect-timeout" // no TCP connection in time
	CauseTLSTimeout     Cause = "tls-timeout"     // no finished handshake in time
	CauseTLSTrust       Cause = "tls-trust"       // certificate expired, wrong name or untrusted
	CauseTLS            Cause = "tls"             // any other handshake failure
	CauseProxy          Cause = "proxy"           // our proxy refused CONNECT
	CauseProxyAuth      Cause = "proxy-auth"      // our proxy asked for a login (407)
	CauseReset          Cause = "reset"           // connection reset or closed by the peer
	CauseTimeout        Cause = "timeout"         // no progress while sending, or no response in time
	CauseStopped        Cause = "stopped"         // this process is stopping, or lacks for now what it needs to send
	CauseKey            Cause = "own-key"         // own key or certificate missing or expired
	CausePayload        Cause = "payload"         // the stored document cannot be read
	CauseBuild          Cause = "build"           // the message cannot be built from the settings
	CauseNotListed      Cause = "not-listed"      // the document names no receiver, or one that the network's directory does not have, or lacks a property that it must have
	CauseDirectory      Cause = "directory"       // the directory's part for this one receiver does not answer as it should
)

// AckVerdict is the result of reading an acknowledgement (MDN or Receipt).
type AckVerdict string

// Verdicts on an acknowledgement. Only AckTrusted may settle a message
// positively; an unsigned one where none signed was asked for is trusted, with
// an empty Signer.
const (
	AckNone          AckVerdict = ""              // none in this exchange
	AckTrusted       AckVerdict = "trusted"       // verified as asked
	AckCutOff        AckVerdict = "cut-off"       // began, but its end is missing
	AckBadSignature  AckVerdict = "bad-signature" // signature does not verify
	AckWrongSigner   AckVerdict = "wrong-signer"  // signed by somebody else
	AckMICMismatch   AckVerdict = "mic-mismatch"  // digest is of other content
	AckUnsigned      AckVerdict = "unsigned"      // signed was asked, unsigned came
	AckMalformed     AckVerdict = "malformed"     // complete, but not as the standard says
	AckOtherMessage  AckVerdict = "other-message" // names another message
	AckContradictory AckVerdict = "contradictory" // two Dispositions or two machine parts
)

// Acknowledgement is what an MDN or Receipt said, and whether it can be
// believed.
type Acknowledgement struct {
	Verdict  AckVerdict
	Positive bool   // processed without error or failure; a warning is positive
	Mode     string // disposition mode, as received
	Type     string // disposition type: processed, failed, … (lower case)
	Modifier string // error, failure, warning or empty (lower case)
	Text     string // what follows the modifier: "authentication-failed", …
	EBMS     string // ebMS error code "EBMS:0004"; empty for AS2
	Detail   string // the partner's own words, bounded and cleaned
	Signer   string // SHA-256 fingerprint of the certificate that verified, or that was found
	Token    bool   // an asynchronous receipt carried the right token
	Ref      string // Message-ID that it names
	Digest   string // of the content, as it names it, bounded and cleaned; empty if it names none
}

// Outcome is everything that is known of one exchange. It holds facts only.
type Outcome struct {
	Phase      Phase
	Cause      Cause
	Detail     string // one sentence for people; never payload, never credentials
	Status     int    // HTTP status that was read, 0 if none
	RetryAfter time.Duration
	HasRetry   bool              // a Retry-After header was read (RFC 9110 §10.2.3)
	Headers    map[string]string // a bounded choice of response headers
	Head       []byte            // first 4 KiB of the response body at most
	Protocol   bool              // the answer carried AS2 or SOAP content
	AckAsked   AckTiming
	Ack        *Acknowledgement // nil if none was in this exchange
	Suspect    string           // what the cause points at: a host, a serial, a file
	Timings    Timings
}

// AckTiming says which acknowledgement the message asked for.
type AckTiming string

// Acknowledgement timings.
const (
	AckNotAsked AckTiming = "none"
	AckSync     AckTiming = "sync"
	AckAsync    AckTiming = "async"
)

// Timings are the lengths of the parts of one exchange; zero if not reached.
type Timings struct {
	Resolve, Connect, TLS, Send, Wait, Receive time.Duration
}

// Signal is what an outcome tells the breaker.
type Signal string

// Signals, delivery.md §6.
const (
	SignalNone    Signal = "none"    // no exchange in the breaker's sense
	SignalNeutral Signal = "neutral" // changes nothing, releases a probe undecided
	SignalSuccess Signal = "success"
	SignalFailure Signal = "failure"
	SignalTrip    Signal = "trip" // opens at once, with the longest cool-down
)

// Reason says why a letter exists (interfaces.md §5).
type Reason string

// Reasons of a letter.
const (
	ReasonCircuitOpen    Reason = "circuit-open"
	ReasonMaxAttempts    Reason = "max-attempts"
	ReasonDeadline       Reason = "deadline"
	ReasonSignature      Reason = "signature"
	ReasonFormat         Reason = "format"
	ReasonRejected       Reason = "rejected"
	ReasonCredential     Reason = "credential"
	ReasonReceiptInvalid Reason = "receipt-invalid"
	ReasonReceiptMissing Reason = "receipt-missing"
	ReasonLocal          Reason = "local"
	ReasonUnknownOutcome Reason = "unknown-outcome"
	ReasonChangedContent Reason = "changed-content"
)

// Reasons lists every reason in the order in which people read them.
var Reasons = []Reason{
	ReasonCircuitOpen, ReasonMaxAttempts, ReasonDeadline, ReasonSignature, ReasonFormat, ReasonRejected,
	ReasonCredential, ReasonReceiptInvalid, ReasonReceiptMissing, ReasonLocal, ReasonUnknownOutcome, ReasonChangedContent,
}

// Actor is who did something and from where. The zero Actor is the gateway
// itself.
type Actor struct {
	Name string `json:"name"`           // user or token name, or "cli" over the local socket
	Role string `json:"role,omitempty"` // viewer, operator, admin; empty for tokens
	From string `json:"from,omitempty"` // remote address, or "local"
}

// Gateway reports whether the gateway itself acted.
func (a Actor) Gateway() bool { return a.Name == "" }

// String is "name from address", or "edigw" for the gateway itself.
func (a Actor) String() string {
	switch {
	case a.Gateway():
		return "edigw"
	case a.From == "":
		return a.Name
	}
	return a.Name + " from " + a.From
}
