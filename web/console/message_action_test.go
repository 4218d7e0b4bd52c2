package console

import (
	"net/http"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
)

var lost = fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseTimeout, Detail: "no answer within 300 s"}

func TestCancellingAsksWhyAndTakesItOutOfTheLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "a")
	path := "/messages/" + m.ID
	d.get(kim, path).says("Cancel: do not send it")
	d.post(kim, path+"/cancel", "back", path).want(http.StatusOK).says("Cancel 810 INV-1 to Northwind Retail DE?", "Keep it in line", "Reason (required)").hides("may have it already")
	if got := d.message(m.ID); got.State != queue.Queued {
		t.Fatalf("a question made it %s", got.State)
	}
	a := d.post(kim, path+"/cancel", "back", path, "reason", "wrong file").want(http.StatusSeeOther)
	if got := d.message(m.ID); got.State != queue.Discarded || a.header.Get("Location") != path {
		t.Fatalf("it is %s, %v", got.State, a.header)
	}
	d.get(kim, path).says("Cancelled. It will not be sent.", `Discarded by kim: "wrong file".`, "Taken out of the line by kim")
	d.post(kim, path+"/cancel", "reason", "again").want(http.StatusConflict)
}

func TestCancellingWhatThePartnerMayHaveSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.exchange(d.accept("northwind", "a"), lost)
	path := "/messages/" + m.ID + "/cancel"
	d.post(kim, path, "reason", "wrong file").want(http.StatusOK).says("it takes nothing back").holds(`name="confirm" value="possible-duplicate"`, `name="reason" value="wrong file"`)
	if got := d.message(m.ID); got.State != queue.Waiting {
		t.Fatalf("it is %s", got.State)
	}
	d.post(kim, path, "reason", "wrong file", "confirm", "possible-duplicate").want(http.StatusSeeOther)
	if got := d.message(m.ID); got.State != queue.Discarded {
		t.Fatalf("it is %s", got.State)
	}
}

func TestStoppingAReplayLeavesTheLetter(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.bury("northwind", "a")
	d.post(kim, "/letters/"+m.Letter+"/replay").want(http.StatusSeeOther)
	d.get(kim, "/messages/"+m.ID).says("Stop the replay", "Being replayed", "Undo")
	d.post(kim, "/messages/"+m.ID+"/cancel").want(http.StatusSeeOther)
	if got := d.message(m.ID); got.State != queue.Dead || got.Letter != m.Letter {
		t.Fatalf("it is %s with letter %q", got.State, got.Letter)
	}
	d.get(kim, "/").says("The replay is stopped. It is a dead letter again.")
}

func TestSendingAgainNeedsTheKeyAndAReason(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.exchange(d.accept("northwind", "a"), fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckNotAsked})
	path := "/messages/" + m.ID + "/again"
	d.get(kim, "/messages/"+m.ID).says("Send as a new edition …", "no receipt asked for")
	d.post(kim, path).want(http.StatusOK).says("Send 810 INV-1 to Northwind Retail DE again?", "they book it twice", "Type key-1 to confirm")
	d.post(kim, path, "reason", "they lost it", "typed", "key-2").want(http.StatusOK).says("not the document's key. Nothing was sent.").holds(`name="reason" value="they lost it"`)
	d.post(kim, path, "typed", "key-1").want(http.StatusOK).says("Reason (required)")
	if all, _, _ := d.store.Messages(t.Context(), queue.MessageFilter{}, queue.Page{Limit: 10}); len(all) != 1 {
		t.Fatalf("%d messages after questions", len(all))
	}
	to := d.post(kim, path, "reason", "they lost it", "typed", "key-1").want(http.StatusSeeOther).header.Get("Location")
	next := d.message(strings.TrimPrefix(to, "/messages/"))
	if next.Edition != 1 || next.Previous != m.ID || next.State != queue.Queued || next.Actor.Name != kim {
		t.Errorf("it goes out as %+v", next)
	}
	d.get(kim, to).says("810 INV-1 goes out again to Northwind Retail DE, as edition 2.", "Earlier edition "+m.ID, "Made as a new edition by kim", "they lost it")
	d.post(kim, path, "reason", "again", "typed", "key-1").want(http.StatusConflict).says("There is a later edition")
}

// TestWhoOnlyLooksCannotAct, whatever he posts.
func TestWhoOnlyLooksCannotAct(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m, dead := d.accept("northwind", "a"), d.bury("northwind", "b")
	for _, path := range []string{"/messages/" + m.ID + "/cancel", "/messages/" + m.ID + "/again", "/letters/" + dead.Letter + "/edit", "/letters/" + dead.Letter + "/replay"} {
		for _, user := range []string{viewer, reader} {
			d.post(user, path, "reason", "x", "typed", m.Key, "content", "c", "sure", "yes").want(http.StatusForbidden)
		}
		d.post("", path, "reason", "x").want(http.StatusUnauthorized)
	}
	d.get(reader, "/letters/"+dead.Letter+"/edit").want(http.StatusForbidden)
	d.get(operator, "/letters/"+dead.Letter+"/edit").want(http.StatusForbidden).says("an admin gives")
	if got := d.message(m.ID); got.State != queue.Queued {
		t.Errorf("it is %s", got.State)
	}
	d.get(viewer, "/messages/"+m.ID).hides("Cancel: do not send it")
}
