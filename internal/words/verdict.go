package words

import (
	"strings"
	"time"
)

// VerdictFacts is what the first line of a message's page may need. What does
// not apply stays zero.
type VerdictFacts struct {
	Partner  string
	State    string // as the API spells it
	Inbound  bool
	Proof    string // delivered: receipt, …
	Sentence string // of the message's state
	Reason   string // dead: the letter's reason in words
	Signed   bool   // the receipt's signature verified
	Digest   bool   // the receipt names the digest of what was sent
	Late     time.Duration
	Unsure   bool // the partner may have it
	Done     time.Time
	Now      time.Time
	Zone     *time.Location
}

// Verdict is the first line of a message's page: what became of it and how we
// know.
func Verdict(f VerdictFacts) string { return strings.TrimRight(verdict(f), ".") + "." }

func verdict(f VerdictFacts) string {
	at := Clock(f.Done, f.Now, f.Zone)
	switch {
	case f.State == "dead" && f.Unsure:
		why, _, _ := strings.Cut(f.Reason, "; partner") // said already
		return Uncertain + ". " + why
	case f.State == "dead" && f.Inbound && strings.HasPrefix(f.Reason, weRefused):
		return f.Reason
	case f.State == "dead" && f.Inbound:
		return "Not handed on: " + lower(f.Reason)
	case f.State == "dead" && strings.HasPrefix(f.Reason, "Not delivered"):
		return f.Reason
	case f.State == "dead":
		return "Not delivered: " + lower(f.Reason)
	case f.State == "delivered" && f.Inbound:
		return "Received from " + f.Partner + ", handed on " + at
	case f.State == "received":
		return "Received from " + f.Partner + ", receipt given. Not handed on yet" + strings.TrimPrefix(f.Sentence, received)
	case f.State == "delivered" && f.Proof == "receipt":
		return "Delivered " + at + when(f.Late > 0, ", "+Span(f.Late)+" after it was given up") + ", " + proof(f)
	case f.State == "delivered":
		return f.Sentence + ", " + at
	}
	return f.Sentence + when(f.Unsure, ". "+Uncertain)
}

func proof(f VerdictFacts) string {
	text := "receipt not signed"
	if f.Signed {
		text = "receipt signed by " + f.Partner
	}
	return text + when(f.Digest, ", digest matches")
}

// lower makes the beginning of a sentence go on inside another; names in
// capitals stay.
func lower(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Receipt says what we think of an acknowledgement, by the verdict on it.
func Receipt(verdict string, positive bool) string {
	switch verdict {
	case "trusted":
		if positive {
			return "Receipt good"
		}
		return "They refused it, and we believe the refusal"
	case "cut-off":
		return "Receipt cut off: its end is missing"
	case "bad-signature":
		return "Receipt not trusted: its signature is wrong"
	case "wrong-signer":
		return "Receipt not trusted: signed by somebody else, or with a certificate that we do not hold"
	case "mic-mismatch":
		return "Receipt not trusted: its digest is of other content"
	case "unsigned":
		return "Receipt not trusted: not signed, though we asked for a signed one"
	case "malformed":
		return "Receipt not trusted: not as the standard says"
	case "other-message":
		return "Receipt is about another message"
	case "contradictory":
		return "Receipt not trusted: it contradicts itself"
	}
	return "No receipt"
}

// Phase says how far an exchange got.
func Phase(phase string) string {
	switch phase {
	case "none":
		return "Not tried: a fault of our own side"
	case "resolve":
		return "Looking up their name"
	case "connect":
		return "Opening the connection"
	case "proxy":
		return "Waiting for our proxy"
	case "tls":
		return "TLS handshake"
	case "request":
		return "Connected, nothing of the document sent"
	case "body":
		return "Part of the document sent"
	case "sent":
		return "Everything sent, no answer read"
	case "response":
		return "Status read, answer not complete"
	case "done":
		return "Answer read to its end"
	}
	return phase
}

// DigestName is a digest algorithm by its identifier in XML signatures: SHA-256.
func DigestName(uri string) string {
	switch {
	case strings.HasSuffix(uri, "sha256"):
		return "SHA-256"
	case strings.HasSuffix(uri, "sha384"):
		return "SHA-384"
	case strings.HasSuffix(uri, "sha512"):
		return "SHA-512"
	}
	return uri
}
