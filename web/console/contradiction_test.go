package console

import (
	"testing"

	"edigw/fault"
	"edigw/queue"
	"edigw/retry"
)

// TestNoThenYesSaysAskThem: the page does not call it refused, and offers no new
// Message-ID.
func TestNoThenYesSaysAskThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.sent(d.accept("northwind", "a"), receipt(refusal))
	yes := receipt(fault.Acknowledgement{Verdict: fault.AckTrusted, Positive: true, Type: "processed", Signer: "9A:1C", Digest: digest + ", sha-256"})
	v := retry.Classify(yes, retry.History{})
	at := queue.AttemptFrom(m, yes, v, d.now, 0)
	at.Async = true
	m = d.step(m, queue.Input{Trigger: queue.OnAck, Attempt: &at, Verdict: v})

	page := d.get(kim, "/messages/"+m.ID).says("Unknown: partner may have it. They refused it, then sent a receipt that says yes.", "Do this: They said no, then yes", "Your receipts for it contradict each other")
	page.hides("Replay under a new Message-ID", "then replay.")
	d.get(kim, "/letters").says("They refused it, then sent a receipt that says yes")
	d.post(kim, "/letters/"+m.Letter+"/replay").says("Possible duplicate", "acknowledged it at").hides("sent no receipt")
}
