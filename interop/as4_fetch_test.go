package interop

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// fetchedMPC is the channel of a scenario that edigw pulls from.
func fetchedMPC(name string) string { return "urn:example:mpc:edigw:" + name }

// fetchedFile makes a partner from whom we fetch.
func fetchedFile(name, text string) string {
	return strings.Replace(text, "as4:\n", "as4:\n  fetch: {every: 1s, mpc: \""+fetchedMPC(name)+"\"}\n", 1)
}

// heldThere is a scenario in which the peer holds messages for us.
func heldThere(name string) as4Trick {
	return as4Trick{theirs: func(t *as4Terms) { t.MPC, t.TakesReceipts = fetchedMPC(name), true }}
}

// hold has the peer keep a message until edigw pulls it; without documents the
// channel is there and empty.
func (w as4Trouble) hold(t *testing.T, name string, documents papers) (messageID string) {
	t.Helper()
	return w.held(t, name, question{Documents: documents.forDriver()})
}

// holdAgain has it keep the same bytes once more.
func (w as4Trouble) holdAgain(t *testing.T, name, messageID string) {
	t.Helper()
	w.held(t, name, question{MessageID: messageID})
}

func (w as4Trouble) held(t *testing.T, name string, q question) (messageID string) {
	t.Helper()
	q.Op, q.Terms = "hold", w.terms(name)
	var got as4Outcome
	if err := w.peer.ask(t.Context(), q, &got); err != nil {
		t.Fatal(err)
	}
	return got.MessageID
}

// pullRequests are those of a scenario that came to the peer, with its answers, and
// signals what edigw posted to it by itself.
func (w as4Trouble) pullRequests(name string) (asked, signals []passed) {
	for _, one := range w.tap.of("/as4/" + name) {
		if bytes.Contains(one.request, []byte(":PullRequest")) {
			asked = append(asked, one)
		} else {
			signals = append(signals, one)
		}
	}
	return asked, signals
}

// fetching makes the partner one from whom we fetch, until the scenario ends.
func (w as4Trouble) fetching(t *testing.T, name string) {
	t.Helper()
	partner := w.partner(name)
	w.write(fetchedFile(name, w.file(name)), "site", "partners", partner+".yaml")
	w.reload()
	t.Cleanup(func() {
		if err := w.command("partner", "stop", partner, "--reason", "the scenario ends"); err != nil {
			t.Error(err)
		}
	})
}

// fetched has edigw pull from an empty channel, and then a message that comes twice.
func fetched(t *testing.T, w as4Trouble) {
	w.hold(t, "fetched", nil)
	w.fetching(t, "fetched")
	w.await("the channel is empty", func() bool { asked, _ := w.pullRequests("fetched"); return len(asked) > 0 })
	asked, _ := w.pullRequests("fetched")
	if !bytes.Contains(asked[0].request, []byte(`mpc="`+fetchedMPC("fetched")+`"`)) || !bytes.Contains(asked[0].answer, []byte("EBMS:0006")) {
		t.Errorf("asked:\n%s\nanswered:\n%s", asked[0].request, asked[0].answer)
	}
	want := newPapers(t, "fetched", trickAS4("fetched").as4Profile)
	id := w.hold(t, "fetched", want)
	got, err := w.arrived(t.Context(), w.partner("fetched"), id, 1)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(got[0].document); err != nil || !bytes.Equal(content, want[0].body) || !got[0].AS4.Pulled || !got[0].Signed || !got[0].Encrypted {
		t.Errorf("%+v, %v", got[0], err)
	}
	receipt, err := w.peer.acknowledged(t.Context(), w.terms("fetched"), id)
	if err != nil || !receipt.Receipt || !receipt.Verified || !receipt.Equal {
		t.Errorf("the receipt in the eyes of the peer: %+v, %v", receipt, err)
	}
	w.holdAgain(t, "fetched", id)
	w.await("the same message came again", func() bool {
		return strings.Contains(w.log.String(), `msg="message came again" protocol=as4 partner=`+w.partner("fetched")+" ") && len(w.given(id)) == 2
	})
	if all := w.taken(t, w.partner("fetched")); len(all) != 1 {
		t.Errorf("taken: %+v", all)
	}
}

// given are the answers to pull requests that had a message.
func (w as4Trouble) given(messageID string) (all []passed) {
	asked, _ := w.pullRequests("fetched")
	for _, one := range asked {
		if bytes.Contains(one.answer, []byte(":MessageId>"+messageID+"<")) {
			all = append(all, one)
		}
	}
	return all
}
