package interop

import (
	"bytes"
	"context"
	"testing"
)

// changeByte changes the number of the order that a message carries.
func changeByte(message []byte) []byte {
	return bytes.Replace(message, []byte("BEG*00*SA*"), []byte("BEG*01*SA*"), 1)
}

// wasChanged checks that the last message had an order that was changed.
func wasChanged(t *testing.T, all []passed) {
	t.Helper()
	if len(all) == 0 || !bytes.Contains(all[len(all)-1].request, []byte("BEG*01*SA*")) {
		t.Error("nothing was changed")
	}
}

// insteadComes gives the answer of another exchange.
func insteadComes(other passed) func(*passed) {
	return func(one *passed) { one.status, one.replied, one.answer = other.status, other.replied, other.answer }
}

// provesNothing hands a document in whose receipt is not to count.
func (s *site) provesNothing(t *testing.T, partner, verdict string, handIn func()) {
	t.Helper()
	before := len(s.delivered(partner))
	handIn()
	var m message
	s.await("the receipt was judged", func() bool {
		var err error
		m, _, err = s.sent(context.Background(), partner)
		return err == nil && len(m.Attempts) > 0 && m.Attempts[0].Class != ""
	})
	first := m.Attempts[0]
	t.Logf("%s: %s, proof %q, %s, receipt %+v", m.State, m.Proof, first.Class, first.Detail, first.Ack)
	if m.Proof == "receipt" || first.Class == "success" || first.Ack == nil || !first.Ack.Positive || first.Ack.Verdict != verdict {
		t.Errorf("%+v", m)
	}
	if now := len(s.delivered(partner)); now != before {
		t.Errorf("%d are delivered, before it were %d", now, before)
	}
}

// orderChanged: the peer's digest and signature are of what we sent.
func orderChanged(t *testing.T, s *site, o *openAS2) {
	o.before.spoil("/", foul{request: changeByte})
	deadWith(t, s, o, "changed", "processed/error: integrity-check-failed")
	wasChanged(t, o.before.of("/"))
}

func orderChangedIn(t *testing.T, s *site, o *openAS2) {
	o.way.spoil("/as2", foul{request: changeByte})
	refusedWith(t, s, o, "changed-in", "processed/error: integrity-check-failed")
	wasChanged(t, o.way.of("/as2"))
}

// otherReceipt: signature and signer are good, but not what the receipt is for.
func otherReceipt(t *testing.T, s *site, o *openAS2) {
	const name = "receipt-of-another"
	partner := trickOf(name).partner(o)
	handInTrick(t, s, o, name)
	s.await("one is delivered", func() bool { return len(s.delivered(partner)) == 1 })
	all := o.before.of("/")
	o.before.spoil("/", foul{answer: insteadComes(all[len(all)-1])})
	s.provesNothing(t, partner, "other-message", func() { handInTrick(t, s, o, name) })
}

func receiptNotOfPeer(t *testing.T, s *site, o *openAS2) {
	const name = "receipt-not-theirs"
	s.provesNothing(t, trickOf(name).partner(o), "wrong-signer", func() { handInTrick(t, s, o, name) })
}
