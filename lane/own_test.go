package lane_test

import (
	"fmt"
	"testing"
	"time"

	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/retry"
)

// hook makes a message a post to a webhook.
func hook(m *queue.Message) {
	m.Kind, m.Lane = queue.KindWebhook, queue.LaneKey(m.Partner, queue.KindWebhook)
}

// hooked lets w carry posts too.
func hooked(w *wire) func(*lane.Options) {
	return func(o *lane.Options) { o.Senders[lane.Route{Protocol: "as2", Kind: queue.KindWebhook}] = w }
}

// The system behind the webhooks of many partners is down: that is not our
// network, so no partner waits for it.
func TestWebhooksThatAreDownIsolateNobody(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.answer = func(m queue.Message, _ int) reply {
		if m.Kind == queue.KindWebhook {
			return reply{o: refused}
		}
		return reply{o: receipt}
	}
	w.check = func(string) fault.Outcome { return refused }
	inBubble(t, w, many(8), func(t *testing.T, g *gateway) {
		g.restart(hooked(w))
		var posts []queue.Message
		for i := range 8 {
			posts = append(posts, g.accept(fmt.Sprintf("p%05d", i), "post", hook))
		}
		g.pass(time.Hour)
		g.wantEvents(queue.EventIsolated, 0)
		if v := g.s.LaneView("p00000/webhook"); v.State != queue.LaneOpen && v.State != queue.LaneHalfOpen && v.State != queue.LaneAnswering {
			t.Errorf("the lane of the webhook is %s", v.State)
		}
		for _, m := range posts {
			if got := g.get(m); got.State == queue.Dead {
				t.Errorf("post %s is %s: its breaker holds", m.ID, got.State)
			}
		}
		document := g.accept("p00000", "1")
		g.pass(time.Second)
		g.wantState(document, queue.Delivered)
	})
}

// And while our way to partners is cut, what is in our own house goes on, and
// its answers do not say that the way is free.
func TestWebhooksGoOnWhileTheNetworkIsDown(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.answer = func(m queue.Message, _ int) reply {
		if m.Kind == queue.KindWebhook {
			return reply{o: fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckNotAsked}}
		}
		return reply{o: refused}
	}
	w.check = func(string) fault.Outcome { return refused }
	inBubble(t, w, many(6), func(t *testing.T, g *gateway) {
		g.restart(hooked(w))
		for i := range 6 {
			g.accept(fmt.Sprintf("p%05d", i), "1")
		}
		g.pass(opensAfter + time.Second)
		g.wantLane("p00000", queue.LaneIsolated)
		post := g.accept("p00000", "post", hook)
		g.pass(time.Second)
		g.wantState(post, queue.Delivered)
		g.wantLane("p00000", queue.LaneIsolated)
		g.wantEvents(queue.EventReconnected, 0)
	})
}

// What the partner's file says of his server does not hold for the webhook: not
// even when to give up.
func TestWebhookHasItsOwnSchedule(t *testing.T) {
	t.Parallel()
	w := &wire{answer: func(m queue.Message, n int) reply {
		o := fault.Outcome{Phase: fault.PhaseDone, Status: 503, AckAsked: fault.AckNotAsked}
		if m.Kind == queue.KindWebhook && n == 4 {
			o.Status = 200
		}
		return reply{o: o}
	}}
	hasty := func(p *partner.Partner) {
		p.Retry = retry.Policy{Base: time.Second, Cap: time.Second, Factor: 1, Attempts: 1}
		p.KeepOverdue = true
	}
	inBubble(t, w, many(1, hasty), func(t *testing.T, g *gateway) {
		g.restart(hooked(w))
		document, post := g.accept("p00000", "1"), g.accept("p00000", "post", hook)
		g.pass(time.Millisecond)
		g.wantLetter(document, fault.ReasonMaxAttempts)
		g.wantState(post, queue.Waiting)
		g.pass(time.Minute)
		if m := g.wantState(post, queue.Delivered); m.Attempts != 4 {
			t.Errorf("delivered after %d attempts", m.Attempts)
		}
	})
}

// Who corrects the address need not wait for the cool-down.
func TestChangedSettingsTestTheWebhookAtOnce(t *testing.T) {
	t.Parallel()
	down := true
	w := &wire{}
	w.answer = func(queue.Message, int) reply {
		if down {
			return reply{o: refused}
		}
		return reply{o: fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckNotAsked}}
	}
	inBubble(t, w, one(), func(t *testing.T, g *gateway) {
		g.restart(hooked(w))
		post := g.accept("northwind", "post", hook)
		g.pass(opensAfter + time.Second)
		if v := g.s.LaneView("northwind/webhook"); v.State != queue.LaneOpen {
			t.Fatalf("the lane is %s", v.State)
		}
		w.change(func() { down = false })
		if err := g.s.Reloaded(t.Context(), partner.Change{Partners: []partner.PartnerChange{{ID: "northwind", Settings: []partner.SettingChange{{Key: "inbox.webhook.url"}}}}}); err != nil {
			t.Fatal(err)
		}
		g.pass(time.Second)
		g.wantState(post, queue.Delivered)
	})
}
