package console

import (
	"testing"

	"edigw/fault"
	"edigw/queue"
)

// A post that the webhook does not take is our own house's trouble: nobody is
// sent to the partner. One that it took says so.
func TestPostToAWebhook(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	post := func(m *queue.Message) {
		m.Kind, m.Lane, m.CorrelationID = queue.KindWebhook, queue.LaneKey("northwind", queue.KindWebhook), "m000099"
	}
	dead := d.exchange(d.accept("northwind", "1", post), fault.Outcome{Phase: fault.PhaseDone, Status: 410, AckAsked: fault.AckNotAsked, Detail: "410 Gone"})
	taken := d.exchange(d.accept("northwind", "2", post), fault.Outcome{Phase: fault.PhaseDone, Status: 204, AckAsked: fault.AckNotAsked})
	if dead.State != queue.Dead || taken.State != queue.Delivered {
		t.Fatalf("they are %s and %s", dead.State, taken.State)
	}
	d.get(kim, "/letters").says("webhook post of ", "Replay")
	d.get(kim, "/messages/"+dead.ID).says("webhook post of ", "See what the system behind inbox.webhook answered", "Replay", "Close as delivered …", "Discard …").
		hides("Edit and replay", "Send as a new edition")
	d.get(kim, "/messages/"+taken.ID).says("Taken by the webhook").hides("Accepted by the partner")
}

// A document that waits for its webhook says so.
func TestDocumentThatWaitsForItsWebhook(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "1", func(m *queue.Message) {
		m.Direction, m.Lane, m.State = queue.In, "northwind/inbox", queue.Received
	})
	m.State, m.Detail = queue.Received, "its webhook post is a dead letter: they answered 410"
	if err := d.store.Record(t.Context(), &queue.Result{Message: &m}); err != nil {
		t.Fatal(err)
	}
	d.get(kim, "/messages/"+m.ID).says("Not handed on yet: its webhook post is a dead letter: they answered 410.")
}
