package interop

import (
	"os"
	"strings"
	"testing"
)

// pulledMPC is the channel that the peer pulls from.
const pulledMPC = "urn:example:mpc:phase4"

// pulledFile makes a partner who fetches what we have for him, from a channel of
// his own.
func pulledFile(text string) string {
	name := pulledMPC
	if strings.Contains(text, "pulled-again") {
		name += ":again"
	}
	text = strings.Replace(text, "as4:\n", "as4:\n  mep: one-way/pull\n  mpc: "+name+"\n", 1)
	return strings.Replace(text, "receipt: {mode: sync}\n", "receipt: {mode: async, wait: 3s}\n", 1)
}

// pull has the peer fetch a message.
func (w as4Trouble) pull(t *testing.T, name string, q question) (a as4Arrival) {
	t.Helper()
	terms := w.terms(name)
	if name == "pulled-again" {
		terms.MPC += ":again"
	}
	q.Op, q.Terms = "pull", terms
	if err := w.peer.ask(t.Context(), q, &a); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", a)
	return a
}

// check compares what was pulled with what was handed in.
func (w as4Trouble) check(t *testing.T, got as4Arrival, want papers) {
	t.Helper()
	if len(got.Payloads) != 1 || !got.Signed || !got.Encrypted {
		t.Fatalf("pulled: %+v", got)
	}
	if content, err := os.ReadFile(got.Payloads[0].File); err != nil || string(content) != string(want[0].body) {
		t.Errorf("the document differs, %v", err)
	}
}

func pulled(t *testing.T, w as4Trouble) {
	if got := w.pull(t, "pulled", question{}); len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0006" || got.Errors[0].Severity != "warning" {
		t.Errorf("an empty channel: %+v", got)
	}
	want := w.handIn(t, "pulled")
	w.check(t, w.fetched(t, "pulled", question{}), want)
	m, err := w.ending(t.Context(), w.partner("pulled"))
	if err != nil || m.State != "delivered" || m.Proof != "receipt" {
		t.Errorf("%s, proof %q: %s, %v", m.State, m.Proof, m.Detail, err)
	}
	if got := w.pull(t, "pulled", question{}); len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0006" {
		t.Errorf("the channel is not empty: %+v", got)
	}
}

// fetched pulls until there is a message.
func (w as4Trouble) fetched(t *testing.T, name string, q question) (got as4Arrival) {
	t.Helper()
	w.await("a message is there to be pulled", func() bool {
		got = w.pull(t, name, q)
		return got.MessageID != ""
	})
	return got
}

func pulledAgain(t *testing.T, w as4Trouble) {
	want := w.handIn(t, "pulled-again")
	first := w.fetched(t, "pulled-again", question{NoReceipt: true})
	w.check(t, first, want)
	second := w.fetched(t, "pulled-again", question{})
	w.check(t, second, want)
	if second.MessageID != first.MessageID {
		t.Errorf("it is %s now, and was %s", second.MessageID, first.MessageID)
	}
	m, err := w.ending(t.Context(), w.partner("pulled-again"))
	if err != nil || m.State != "delivered" || m.Proof != "receipt" {
		t.Errorf("%s, proof %q: %s, %v", m.State, m.Proof, m.Detail, err)
	}
}
