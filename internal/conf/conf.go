// Package conf reads settings files: strict YAML whose every mistake is
// reported at once with file, line, key, reason and hint.
//
// A settings file is described once, as a Go struct with tags; decoding,
// defaults, the list of effective settings with their origin, and the
// reference page all come from that description. The tags of a field:
//
//	yaml:"name"         the key; ",short" marks the key that a plain value in
//	                    place of the section sets, ",single" a list that may
//	                    be written as its only item, "-" no key
//	word:"a b"          on a field without a key: words allowed in place of
//	                    the section
//	default:"5m"        the built-in value
//	unset:"no limit"    what an absent key without default means, for people
//	enum:"a b c"        the only values allowed
//	zero:"none"         a word for the zero value
//	min:"1" max:"9"     bounds, in the notation of the value
//	required:"yes"      the key must be there
//	doc:"…"             one line for the reference page
//	example:"…"         a value to show there
//	notation:"…"        what may be written, where the type does not tell
//
// A type with a notation of its own is an encoding.TextUnmarshaler, whose
// error says what is wrong without the value, and has Notation() string.
//
// The package knows no partner and no gateway. It does not look behind a path
// or into a secret; whether values fit each other is the caller's business.
package conf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits on a settings file. They bound what a hostile or broken file costs.
const (
	MaxFile     = 1 << 20 // bytes of one file
	maxLine     = 16 << 10
	maxDepth    = 32  // sections and lists inside each other
	maxProblems = 100 // reported per file
)

// Problem is one mistake in a settings file.
type Problem struct {
	File    string `json:"file"` // relative to edigw.yaml
	Line    int    `json:"line"` // 1-based; 0 if unknown
	Key     string `json:"key"`  // "as2.sign"
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"` // does not stop anything
}

// String is the one line that people read:
// "partners/x.yaml:7: as2.sign: reason (hint)".
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Warning {
		s += "warning: "
	}
	if p.Key != "" {
		s += p.Key + ": "
	}
	s += p.Reason
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Report collects the problems of one file. The zero Report is ready. It is
// not safe for concurrent use.
type Report struct {
	Problems []Problem
}

// Add notes a problem. What follows from a mistake that was noted before, at
// the same key or around or inside it, is left out; beyond a bound per report
// nothing more is kept.
func (r *Report) Add(p Problem) {
	follows := func(q Problem) bool {
		return !q.Warning && q.File == p.File && (within(p.Key, q.Key) || within(q.Key, p.Key))
	}
	if len(r.Problems) < maxProblems && !slices.ContainsFunc(r.Problems, follows) {
		r.Problems = append(r.Problems, p)
	}
}

// within reports whether key is outer or lies inside it.
func within(key, outer string) bool {
	rest, ok := strings.CutPrefix(key, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Failed reports whether a problem other than a warning was noted.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return !p.Warning })
}

// Sort orders problems by file, line and key, as people read them.
func Sort(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
}
