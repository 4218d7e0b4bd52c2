package dlq

import "slices"

// Code names something that a person should know before a document goes out
// again (interfaces.md §5). An action that meets one is refused with a
// ConfirmError until the code is confirmed.
type Code string

// Codes, in the order in which they are told.
const (
	PossibleDuplicate Code = "possible-duplicate" // the partner may have it, or no longer remembers its Message-ID
	ChangedContent    Code = "changed-content"    // an earlier edition with other content was, or may yet be, sent
	Overtaken         Code = "overtaken"          // first in, first out, and a later document was delivered
	Overdue           Code = "overdue"            // a deadline that the caller had set has passed
	OutsideWindow     Code = "outside-window"     // it waits until the lane may send again
	BreakerWait       Code = "breaker-wait"       // the partner does not answer: wait for the test
	BreakerProbe      Code = "breaker-probe"      // the partner does not answer: be the test
)

// Codes lists every code.
var Codes = []Code{PossibleDuplicate, ChangedContent, Overtaken, Overdue, OutsideWindow, BreakerWait, BreakerProbe}

// ParseCodes reads the codes of a request's field. An unknown one is an
// *InputError that names the field.
func ParseCodes(field string, names []string) ([]Code, error) {
	codes := codesOf(names)
	if err := checkCodes(field, codes); err != nil {
		return nil, err
	}
	return codes, nil
}

func checkCodes(field string, codes []Code) error {
	for _, c := range codes {
		if !slices.Contains(Codes, c) {
			return &InputError{Field: field, Reason: "there is no code " + quoted(string(c))}
		}
	}
	return nil
}

// breakerCode reports whether c is one of the two answers to a partner that
// does not answer, of which either is enough.
func breakerCode(c Code) bool { return c == BreakerWait || c == BreakerProbe }

// covered reports whether c is among the codes that were named.
func covered(c Code, named []Code) bool {
	if breakerCode(c) {
		return slices.ContainsFunc(named, breakerCode)
	}
	return slices.Contains(named, c)
}

// asTest reports whether the document is to be the test itself. Whoever
// confirms both answers gets the one that does less.
func asTest(confirm []Code) bool {
	return slices.Contains(confirm, BreakerProbe) && !slices.Contains(confirm, BreakerWait)
}

func texts(codes []Code) []string {
	var names []string
	for _, c := range codes {
		names = append(names, string(c))
	}
	return names
}

func codesOf(names []string) []Code {
	var codes []Code
	for _, n := range names {
		codes = append(codes, Code(n))
	}
	return codes
}
