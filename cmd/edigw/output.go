package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Exit codes of every command (interfaces.md §4).
const (
	exitFine   = 0
	exitFailed = 1
	exitUse    = 2
	exitPartly = 3
)

// output is where a command speaks: sentences for people, or one JSON value
// for machines.
type output struct {
	json bool
	out  io.Writer
	err  io.Writer
	in   io.Reader
}

// say prints a line for people; nothing with --json.
func (o *output) say(format string, args ...any) {
	if !o.json {
		fmt.Fprintln(o.out, harmless(fmt.Sprintf(format, args...)))
	}
}

// harmless is a text without what terminals obey, or show in another order:
// partners choose many of our words.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, text)
}

// result prints the value for machines; nothing without --json.
func (o *output) result(v any) error {
	if !o.json {
		return nil
	}
	e := json.NewEncoder(o.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// codeError is an error that ends the process with a code of its own.
type codeError struct {
	code int
	text string
}

func (e *codeError) Error() string { return e.text }

// wrong is a wrong use of a command.
func wrong(format string, args ...any) error {
	return &codeError{code: exitUse, text: fmt.Sprintf(format, args...)}
}

// partly says that a command did some of what was asked. Its text may be empty
// if everything was said already.
func partly(format string, args ...any) error {
	return &codeError{code: exitPartly, text: fmt.Sprintf(format, args...)}
}
