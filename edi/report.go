// Package edi recognises business documents in a stream of bytes: X12,
// EDIFACT, UBL and UN/CEFACT CII. It owns what can be told while the bytes pass
// by: the kind and type, references to search by, the components of an
// idempotency key, and the first fault of the envelope.
//
// It refuses to hold a document (its memory is bounded whatever the size of the
// input), to validate content against a guideline or schema, to translate, to
// read files and to change anything. UTF-16 and EBCDIC are not recognised.
package edi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the family of formats that a document belongs to.
type Kind string

// The kinds that a Scanner tells apart.
const (
	X12     Kind = "x12"
	EDIFACT Kind = "edifact"
	UBL     Kind = "ubl"
	CII     Kind = "cii"
	XML     Kind = "xml" // any other XML
	Unknown Kind = "unknown"
)

// Reference is one business reference of a document. Names are: interchange,
// group, sender, receiver, seller, buyer, invoice, credit-note, order,
// order-response, shipment, document (a number of any other type) and
// acknowledged (the group or interchange that a 997, 999 or CONTRL answers).
type Reference struct{ Name, Value string }

// Problem is a fault of the envelope, in words for an operator.
type Problem struct {
	// Segment is the segment, or its element, that is wrong: "SE01", "UNZ".
	// In XML it is the element that was open, "" outside the root element.
	Segment string
	// Position is the number of the segment in its interchange, ISA or UNB
	// being 1. In XML it is the line, from 1.
	Position int
	// Expected and Found say what should stand there and what does.
	Expected, Found string
	// Text is the whole sentence: "SE01 says 24, counted 23 (segment 25)".
	Text string
}

// Report says what a Scanner has seen.
type Report struct {
	Kind Kind
	// Type is the first document's type as the format names it: "810",
	// "INVOIC", "Invoice"; for other XML the local name of the root element.
	Type string
	// Interchanges counts ISA or UNB segments; 0 for XML and unknown content.
	Interchanges int
	// Production and Test tell how interchanges are marked (X12 ISA15,
	// EDIFACT 0035); both may be set in a file of several.
	Production, Test bool
	// References holds at most 64 different references in order of appearance,
	// values trimmed, at most 128 bytes of UTF-8, without control characters.
	References []Reference
	// Identity holds the components of the derived idempotency key. It is nil
	// when none can be derived: content that was not recognised, several
	// interchanges, or a component without which the key would not be unique.
	Identity []string
	// Route is by what a network finds the receiver of the first document; nil
	// unless it is UBL or CII.
	Route *Route
	// Problem is the first fault, nil when there is none.
	Problem *Problem
}

const (
	maxReferences = 64
	maxValue      = 128
	maxKey        = 200
)

// DerivedKey returns the idempotency key of a document for which the caller gave
// none: built of Identity, or else of the digest of the content and the name of
// the file. It is printable ASCII of at most 200 bytes, the same for the same
// input for ever.
func (r Report) DerivedKey(contentSHA256 [sha256.Size]byte, fileName string) string {
	if r.Identity == nil {
		return key("content", hex.EncodeToString(contentSHA256[:]), fileName)
	}
	return key(string(r.Kind), r.Identity...)
}

// key joins components such that different ones give different keys.
func key(prefix string, components ...string) string {
	parts := make([]string, len(components))
	for i, component := range components {
		parts[i] = escape(component)
	}
	joined := strings.Join(parts, "/")
	if len(prefix)+1+len(joined) > maxKey {
		digest := sha256.Sum256([]byte(joined))
		return prefix + ":sha256:" + hex.EncodeToString(digest[:])
	}
	return prefix + ":" + joined
}

// escape writes every byte of s that could be taken for a separator, or is not
// printable ASCII, as %XX.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c > ' ' && c <= '~' && c != '%' && c != '/' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// addReference notes a reference unless it is empty, known or one too many.
func (r *Report) addReference(name, value string) {
	if value == "" || len(r.References) == maxReferences {
		return
	}
	ref := Reference{Name: name, Value: value}
	for _, known := range r.References {
		if known == ref {
			return
		}
	}
	r.References = append(r.References, ref)
}

// fault notes a problem unless there was one before it: later ones are mostly
// consequences.
func (r *Report) fault(p Problem) {
	if r.Problem == nil {
		r.Problem = &p
	}
}

// clean makes text of content fit to be shown and searched: valid UTF-8 (what
// is none is read as ISO 8859-1, which UNOC and older XML use), without control
// and formatting characters, trimmed, at most 128 bytes.
func clean(raw []byte) string {
	text := string(raw)
	if !utf8.Valid(raw) {
		text = latin1(raw)
	}
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text))
	for len(text) > maxValue {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return strings.TrimSpace(text)
}

// latin1 decodes ISO 8859-1.
func latin1(raw []byte) string {
	runes := make([]rune, len(raw))
	for i, c := range raw {
		runes[i] = rune(c)
	}
	return string(runes)
}
