package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"edigw/dlq"
	"edigw/internal/apiclient"
	"edigw/internal/words"
)

// needed is what a refused action asks to confirm (HTTP 428).
type needed struct {
	Confirm []string       `json:"confirm"`
	Counts  map[string]int `json:"counts"`
}

// needs reads it from an error; false if the error is another one.
func needs(err error) (n needed, ok bool) {
	var p *apiclient.Problem
	if !errors.As(err, &p) || p.Status != 428 {
		return n, false
	}
	return n, json.Unmarshal(p.Raw, &n) == nil && len(n.Confirm) > 0
}

// toConfirm turns a refusal that asks for codes into words, and what to add to
// the command; any other error stays. head says what was not done; skip:
// letters can be left out.
func toConfirm(err error, head string, skip bool) error {
	n, ok := needs(err)
	if !ok {
		return err
	}
	return &codeError{code: exitFailed, text: head + "; to be confirmed first:" + codeLines(n.Confirm, n.Counts, skip)}
}

// codeLines tells each code in words, with what confirms it. The two answers
// to a partner that does not answer are one question.
func codeLines(codes []string, counts map[string]int, skip bool) string {
	var b strings.Builder
	for _, code := range codes {
		either := ""
		if code == string(dlq.BreakerProbe) && slices.Contains(codes, string(dlq.BreakerWait)) {
			either = "or: "
		}
		many := ""
		if n := counts[code]; n > 0 {
			many = words.Count(n, "letter", "letters") + ": "
		}
		fmt.Fprintf(&b, "\n  %s%s%s\n      add --confirm %s", either, many, words.Confirm(code), code)
		if skip {
			fmt.Fprintf(&b, ", or leave them out with --skip %s", code)
		}
	}
	return b.String()
}

// sortedCodes are the codes of a count, in the order in which they are told.
func sortedCodes(counts map[string]int) []string {
	var codes []string
	for _, c := range dlq.Codes {
		if counts[string(c)] > 0 {
			codes = append(codes, string(c))
		}
	}
	return codes
}
