package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
)

var acceptRules = map[string]func(*run){
	"an accepted document is stored whole": func(r *run) {
		a := arrival("m1", "northwind", "K1", "one")
		a.Message.WarnBy, a.Message.DeliverBy, a.Message.DeadlineGiven = after(time.Hour), after(2*time.Hour), true
		a.Message.Properties = properties("tracking", "t-1 & <ä>")
		m := r.acceptAs(a)
		if m.Seq == 0 || m.Version != 1 || m.State != queue.Queued || m.MessageID != a.Identity.MessageID("K1", 0) {
			r.Errorf("stored %+v", m)
		}
		got, err := r.Message(r.ctx, "m1")
		r.must(err)
		r.equal("message", m, got)
		r.equal("properties", a.Message.Properties.Message, got.Properties.Message)
		r.equal("part properties", a.Message.Properties.Part, got.Properties.Part)
		events, err := r.Timeline(r.ctx, "m1")
		r.must(err)
		if len(events) != 1 || events[0].Type != queue.EventAccepted || events[0].Facts["source"] != "api" || !events[0].At.Equal(t0) {
			r.Errorf("timeline %+v", events)
		}
	},
	"a hundred arrivals of one key make one message": func(r *run) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[queue.Admitted]int{}
		stored := map[string]int{}
		for i := range 100 {
			wg.Go(func() {
				ad, err := r.Accept(r.ctx, arrival(fmt.Sprintf("m%d", i), "northwind", "K1", "same"))
				if err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				outcomes[ad.Outcome]++
				stored[ad.Message.ID]++
			})
		}
		wg.Wait()
		r.equal("outcomes", map[queue.Admitted]int{queue.AdmitNew: 1, queue.AdmitReplayed: 99}, outcomes)
		if len(stored) != 1 {
			r.Errorf("%d messages were answered", len(stored))
		}
		all, _, err := r.Messages(r.ctx, queue.MessageFilter{}, queue.Page{Limit: 500})
		r.must(err)
		if len(all) != 1 {
			r.Errorf("%d messages are stored", len(all))
		}
	},
	"the same given key with other content makes nothing": func(r *run) {
		a := arrival("m1", "northwind", "K1", "one")
		a.Message.KeyGiven = true
		first := r.acceptAs(a)
		b := arrival("m2", "northwind", "K1", "two")
		b.Message.KeyGiven = true
		ad, err := r.Accept(r.ctx, b)
		r.must(err)
		if ad.Outcome != queue.AdmitReused || ad.Message.ID != first.ID {
			r.Errorf("outcome %s, message %s", ad.Outcome, ad.Message.ID)
		}
		if _, err := r.Message(r.ctx, "m2"); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("the second document: %v", err)
		}
		events, err := r.Timeline(r.ctx, "m1")
		r.must(err)
		if len(events) != 2 || events[1].Type != queue.EventKeyReused {
			r.Errorf("timeline %+v", events)
		}
	},
	"the same content with other properties is another document": func(r *run) {
		first := func(key string, given bool) (queue.Message, queue.Arrival) {
			a := arrival("m1"+key, "northwind", key, "one")
			a.Message.KeyGiven, a.Message.Properties = given, properties("type", "order")
			m := r.acceptAs(a)
			a.Message.ID, a.LetterID = "m2"+key, "L-m2"+key
			return m, a
		}
		one, again := first("K1", true)
		for _, c := range []struct {
			properties queue.Properties
			want       queue.Admitted
		}{
			{one.Properties, queue.AdmitReplayed},
			{properties("type", "change"), queue.AdmitReused},
			{queue.Properties{}, queue.AdmitReused},
		} {
			again.Message.Properties = c.properties
			ad, err := r.Accept(r.ctx, again)
			r.must(err)
			if ad.Outcome != c.want || ad.Message.ID != one.ID {
				r.Errorf("%v: outcome %s, message %s", c.properties, ad.Outcome, ad.Message.ID)
			}
		}
		one, again = first("K2", false)
		again.Message.Properties = properties("type", "change")
		two := r.acceptAs(again)
		if got, err := r.Message(r.ctx, one.ID); err != nil || got.State != queue.Superseded || two.Edition != 1 || !two.Properties.Equal(again.Message.Properties) {
			r.Errorf("%v: the first is %s, the second %+v", err, got.State, two)
		}
	},
	"a corrected document takes the place of the queued one": func(r *run) {
		first := r.acceptAs(arrival("m1", "northwind", "K1", "one"))
		second := r.acceptAs(arrival("m2", "northwind", "K1", "two"))
		if second.Edition != 1 || second.Previous != first.ID || second.MessageID == first.MessageID {
			r.Errorf("second edition %+v", second)
		}
		got, err := r.Message(r.ctx, first.ID)
		r.must(err)
		if got.State != queue.Superseded || got.Version != 2 {
			r.Errorf("first edition is %s, version %d", got.State, got.Version)
		}
		editions, err := r.Editions(r.ctx, "northwind", "K1")
		r.must(err)
		r.equal("editions", []queue.Edition{{Message: got}, {Message: second}}, editions)
	},
	"a correction of what may have been sent is parked with its letter": func(r *run) {
		r.to(r.acceptAs(arrival("m1", "northwind", "K1", "one")), queue.Sending)
		ad, err := r.Accept(r.ctx, arrival("m2", "northwind", "K1", "two"))
		r.must(err)
		if ad.Outcome != queue.AdmitParked || ad.Message.State != queue.Dead || !ad.Message.Parked {
			r.Fatalf("outcome %s, message %+v", ad.Outcome, ad.Message)
		}
		l, err := r.Letter(r.ctx, "L-m2")
		r.must(err)
		if l.Reason != fault.ReasonChangedContent || l.Seq != ad.Message.Seq || l.Version != 1 || l.Status != queue.LetterOpen {
			r.Errorf("letter %+v", l)
		}
		editions, err := r.Editions(r.ctx, "northwind", "K1")
		r.must(err)
		if len(editions) != 2 || editions[0].Letter != nil || editions[1].Letter == nil || editions[1].Letter.ID != l.ID {
			r.Errorf("editions %+v", editions)
		}
	},
	"what is dead on arrival replaces nothing": func(r *run) {
		first := r.acceptAs(arrival("m1", "northwind", "K1", "one"))
		bad := arrival("m2", "northwind", "K1", "two")
		bad.Problem = &edi.Problem{Text: "SE01 says 24, counted 23"}
		ad, err := r.Accept(r.ctx, bad)
		r.must(err)
		l, err := r.Letter(r.ctx, "L-m2")
		r.must(err)
		if ad.Outcome != queue.AdmitParked || len(ad.Supersedes) != 0 || ad.Message.Edition != 1 || l.Reason != fault.ReasonFormat || l.Status != queue.LetterOpen {
			r.Errorf("outcome %s, supersedes %v, letter %+v", ad.Outcome, ad.Supersedes, l)
		}
		kept, err := r.Message(r.ctx, first.ID)
		r.must(err)
		r.equal("the good one", first, kept)
		ad, err = r.Accept(r.ctx, arrival("m3", "northwind", "K1", "three"))
		r.must(err)
		r.equal("replaced by a good one", []string{"m2", "m1"}, ad.Supersedes)
		for _, id := range ad.Supersedes {
			events, err := r.Timeline(r.ctx, id)
			r.must(err)
			if e := events[len(events)-1]; e.Type != queue.EventSuperseded || e.Facts["next"] != "m3" {
				r.Errorf("timeline of %s ends with %+v", id, e)
			}
		}
		if l, err = r.Letter(r.ctx, l.ID); err != nil || l.ClosedAs != queue.ClosedSuperseded {
			r.Errorf("letter %+v, %v", l, err)
		}
	},
	"a document with a fault is a letter at once": func(r *run) {
		a := arrival("m1", "northwind", "K1", "one")
		a.Problem = &edi.Problem{Text: "SE01 says 24, counted 23"}
		m := r.acceptAs(a)
		l, err := r.Letter(r.ctx, m.Letter)
		r.must(err)
		if m.State != queue.Dead || l.Reason != fault.ReasonFormat || l.Detail == "" || l.Seq != m.Seq {
			r.Errorf("message %s, letter %+v", m.State, l)
		}
	},
	"a full backlog makes nothing": func(r *run) {
		for range 3 {
			r.accept("northwind")
		}
		sending := r.to(r.accept("northwind"), queue.Sending)
		r.accept("other")
		for name, b := range map[string]queue.Backlog{"messages": {Messages: 4}, "bytes": {Bytes: 499}} {
			a := arrival("x", "northwind", "KX", "x")
			a.Backlog = b
			ad, err := r.Accept(r.ctx, a)
			r.must(err)
			if ad.Outcome != queue.AdmitFull {
				r.Errorf("%s: outcome %s", name, ad.Outcome)
			}
		}
		r.to(sending, queue.Delivered)
		a := arrival("x", "northwind", "KX", "x")
		a.Backlog = queue.Backlog{Messages: 4, Bytes: 400}
		r.acceptAs(a)
	},
	"the same key of another partner is another document": func(r *run) {
		r.acceptAs(arrival("m1", "northwind", "K1", "one"))
		r.acceptAs(arrival("m2", "southwind", "K1", "one"))
	},
	"a refused document leaves its key free": func(r *run) {
		refused := arrival("m1", "northwind", "K1", "one").Message
		refused.State, refused.Accepted, refused.Round = queue.Refused, t0, 1
		r.must(r.Record(r.ctx, &queue.Result{Message: &refused}))
		editions, err := r.Editions(r.ctx, "northwind", "K1")
		r.must(err)
		if len(editions) != 0 {
			r.Errorf("editions %+v", editions)
		}
		m := r.acceptAs(arrival("m2", "northwind", "K1", "one"))
		if m.Edition != 0 || m.Seq <= refused.Seq {
			r.Errorf("edition %d, seq %d after %d", m.Edition, m.Seq, refused.Seq)
		}
	},
	"a context that has ended writes nothing": func(r *run) {
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		if _, err := r.Accept(ctx, arrival("m1", "northwind", "K1", "one")); !errors.Is(err, context.Canceled) {
			r.Errorf("Accept = %v", err)
		}
		if err := r.AddEvents(ctx, queue.Event{At: t0, Type: queue.EventStarted}); !errors.Is(err, context.Canceled) {
			r.Errorf("AddEvents = %v", err)
		}
		if _, err := r.Message(r.ctx, "m1"); !errors.Is(err, queue.ErrNotFound) {
			r.Errorf("Message = %v", err)
		}
		if n, err := r.LastEvent(r.ctx); n != 0 || err != nil {
			r.Errorf("LastEvent = %d, %v", n, err)
		}
	},
	"a message is found by its Message-ID, never a partner's by ours": func(r *run) {
		m := r.acceptAs(arrival("m1", "northwind", "K1", "one"))
		inbound := queue.Message{ID: "m2", Partner: "mallory", Lane: "mallory/webhook", Kind: queue.KindWebhook, Direction: queue.In, Protocol: "as2",
			Key: "theirs", MessageID: m.MessageID, State: queue.Received, Round: 1, Accepted: t0}
		r.must(r.Record(r.ctx, &queue.Result{Message: &inbound}))
		for _, id := range []string{m.MessageID, bare(m.MessageID)} {
			got, err := r.Carried(r.ctx, id)
			r.must(err)
			if got.ID != m.ID {
				r.Errorf("Carried(%s) is %s", id, got.ID)
			}
		}
		for _, id := range []string{"", "<>", "<x@y.example>"} {
			if _, err := r.Carried(r.ctx, id); !errors.Is(err, queue.ErrNotFound) {
				r.Errorf("Carried(%q) = %v", id, err)
			}
		}
	},
}
