package main

import (
	"bytes"
	"testing"

	"edigw/web"

	"github.com/google/go-cmp/cmp"
)

// TestPartnersDoNotWriteToTheTerminal: what a partner put into the header of a
// message is a value on its line, and nothing that a terminal obeys.
func TestPartnersDoNotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := &env{output: &output{out: &out}}
	e.sayHeader(messageView{AS4: &web.Header{
		MPC: "urn:a", ConversationID: "c\u009b31m\n  answered    receipt",
		Properties: []web.Typed{{Name: "n\u202e", Value: "v\n  agreement   yes", Type: "t\r"}},
	}})
	e.say("text\x1b[2J of\u2066 theirs\tand\nours")
	want := "  from         as \n  to           as \n  service     , action \n  conversation  c 31m   answered    receipt\n  channel     urn:a\n" +
		"  property    n: v   agreement   yes (t )\ntext?[2J of? theirs\tand\nours\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
