package interop

import (
	"bytes"
	"regexp"
	"testing"
)

// payloadChanged: a signature that leaves out attachments would hold here.
func payloadChanged(t *testing.T, w as4Trouble) {
	w.tap.spoil("/as4/payload-changed", foul{request: changeByte})
	deadAS4("payload-changed", "EBMS:0102", "trusted")(t, w)
	wasChanged(t, w.tap.of("/as4/payload-changed"))
}

func payloadChangedIn(t *testing.T, w as4Trouble) {
	w.inner.spoil("/as4", foul{request: changeByte})
	refusedAS4("payload-changed-in", "EBMS:0101", question{})(t, w)
	wasChanged(t, w.inner.of("/as4"))
}

// receiptOfAnother: signature and signer of the receipt are good, but not what it
// is for.
func receiptOfAnother(t *testing.T, w as4Trouble) {
	w.handIn(t, "receipt-of-another")
	if m, err := w.ending(t.Context(), w.partner("receipt-of-another")); err != nil || m.Proof != "receipt" {
		t.Fatalf("%+v, %v", m, err)
	}
	first := onlyOne(t, w.tap.of("/as4/receipt-of-another"))
	w.tap.spoil("/as4/receipt-of-another", foul{answer: insteadComes(first)})
	w.provesNothing(t, w.partner("receipt-of-another"), "other-message", func() { w.handIn(t, "receipt-of-another") })
}

func receiptNotTheirs(t *testing.T, w as4Trouble) {
	w.provesNothing(t, w.partner("receipt-not-theirs"), "wrong-signer", func() { w.handIn(t, "receipt-not-theirs") })
}

// fetchedChanged: what is pulled is looked at as what comes by itself.
func fetchedChanged(t *testing.T, w as4Trouble) {
	const name = "fetched-changed"
	w.hold(t, name, nil)
	w.fetching(t, name)
	w.tap.spoil("/as4/"+name, foul{answer: w.changeHeld("/as4/" + name)})
	id := w.hold(t, name, newPapers(t, name, trickAS4(name).as4Profile))
	w.await("there is a letter", func() bool { return len(w.letters(w.partner(name))) == 1 })
	if there := w.taken(t, w.partner(name)); len(there) != 1 || there[0].State != "dead" || there[0].MessageID != id {
		t.Errorf("taken: %+v", there)
	}
	w.await("the peer is told", func() bool { _, signals := w.pullRequests(name); return len(signals) > 0 })
	if _, signals := w.pullRequests(name); len(signals) != 1 || !bytes.Contains(signals[0].request, []byte("EBMS:0101")) ||
		!bytes.Contains(signals[0].request, []byte(":RefToMessageId>"+id+"<")) {
		t.Errorf("%d signals, %s", len(signals), signals[0].request)
	}
}

// changeHeld changes the answer to a pull request, the first that has a message.
func (w as4Trouble) changeHeld(path string) func(*passed) {
	return func(one *passed) {
		if !bytes.Contains(one.answer, []byte(":UserMessage>")) {
			w.tap.spoil(path, foul{answer: w.changeHeld(path)})
			return
		}
		one.answer = bytes.Replace(one.answer, []byte(":Action>Deliver<"), []byte(":Action>deliver<"), 1)
	}
}

var messageIDOf = regexp.MustCompile(`:MessageId>([^<]+)<`)

// idOf is the MessageId of a message or signal.
func idOf(t *testing.T, p passed) string {
	t.Helper()
	found := messageIDOf.FindSubmatch(p.request)
	if found == nil {
		t.Fatalf("no MessageId in\n%s", p.request)
	}
	return string(found[1])
}
