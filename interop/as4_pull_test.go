package interop

import (
	"os"
	"strings"
	"testing"
)

// pulledMPC is the channel that the peer pulls from, one for each scenario.
func pulledMPC(name string) string { return "urn:example:mpc:" + name }

// pulling is a scenario with a partner who fetches what we have for him.
func pulling(name string) as4Trick {
	return as4Trick{
		theirs: func(t *as4Terms) { t.MPC = pulledMPC(name) },
		ours: func(text string) string {
			text = strings.Replace(text, "as4:\n", "as4:\n  mep: one-way/pull\n  mpc: "+pulledMPC(name)+"\n", 1)
			return strings.Replace(text, "receipt: {mode: sync}\n", "receipt: {mode: async, wait: 3s}\n", 1)
		},
	}
}

// pull has the peer fetch a message.
func (w as4Trouble) pull(t *testing.T, terms as4Terms, q question) (a as4Arrival) {
	t.Helper()
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
	if got := w.pull(t, w.terms("pulled"), question{}); len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0006" || got.Errors[0].Severity != "warning" {
		t.Errorf("an empty channel: %+v", got)
	}
	want := w.handIn(t, "pulled")
	w.check(t, w.fetched(t, "pulled", question{}), want)
	w.proved(t, "pulled")
	if got := w.pull(t, w.terms("pulled"), question{}); len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0006" {
		t.Errorf("the channel is not empty: %+v", got)
	}
}

// fetched pulls until there is a message.
func (w as4Trouble) fetched(t *testing.T, name string, q question) (got as4Arrival) {
	t.Helper()
	w.await("a message is there to be pulled", func() bool {
		got = w.pull(t, w.terms(name), q)
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
	w.proved(t, "pulled-again")
}

// proved checks that the newest message to a partner is delivered, with a receipt.
func (w as4Trouble) proved(t *testing.T, name string) {
	t.Helper()
	m, err := w.ending(t.Context(), w.partner(name))
	if err != nil || m.State != "delivered" || m.Proof != "receipt" {
		t.Errorf("%s, proof %q: %s, %v", m.State, m.Proof, m.Detail, err)
	}
}

// pulledByAnother: the name of a channel alone opens nothing.
func pulledByAnother(t *testing.T, w as4Trouble) {
	want := w.handIn(t, "pulled-by-another")
	terms := w.terms("pulled-by-another")
	terms.SignKey = "other"
	got := w.pull(t, terms, question{})
	if got.MessageID != "" || len(got.Payloads) > 0 || len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0101" {
		t.Error("the stranger got something else than an error")
	}
	if m := w.newest(t, "pulled-by-another"); m.State == "delivered" || len(m.Attempts) > 0 {
		t.Errorf("%+v", m)
	}
	w.check(t, w.fetched(t, "pulled-by-another", question{}), want)
	w.proved(t, "pulled-by-another")
}
