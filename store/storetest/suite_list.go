package storetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// pages reads a list to its end; between runs after each page but the last.
func pages[T any](r *run, limit int, list func(queue.Page) ([]T, string, error), between func()) []T {
	r.Helper()
	var all []T
	p := queue.Page{Limit: limit}
	for range 1000 {
		page, next, err := list(p)
		r.must(err)
		if len(page) > limit {
			r.Fatalf("a page of %d, limit %d", len(page), limit)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		if len(page) < limit {
			r.Fatalf("a page of %d with more behind it, limit %d", len(page), limit)
		}
		p.Cursor = next
		between()
	}
	r.Fatal("the list does not end")
	return nil
}

var listRules = map[string]func(*run){
	"messages are filtered": func(r *run) {
		a := r.accept("northwind")
		b := r.to(r.accept("northwind"), queue.Sending)
		c := r.change(r.wait(r.accept("northwind"), t0), func(m *queue.Message) { m.Uncertain = true })
		d := r.change(r.accept("southwind"), func(m *queue.Message) { m.Overdue = true })
		late := arrival("late", "southwind", "KL", "late")
		late.Now = after(time.Hour)
		e := r.acceptAs(late)
		in := queue.Message{ID: "in", Partner: "northwind", Lane: "northwind/webhook", Kind: queue.KindWebhook, Direction: queue.In, Protocol: "as2", Key: "kin", State: queue.Received, Accepted: t0}
		r.must(r.Record(r.ctx, &queue.Result{Message: &in}))
		for name, c := range map[string]struct {
			f    queue.MessageFilter
			want []string
		}{
			"all":             {queue.MessageFilter{}, []string{"in", e.ID, d.ID, c.ID, b.ID, a.ID}},
			"partner":         {queue.MessageFilter{Partner: "southwind"}, []string{e.ID, d.ID}},
			"state":           {queue.MessageFilter{States: []queue.State{queue.Sending}}, []string{b.ID}},
			"states":          {queue.MessageFilter{States: []queue.State{queue.Sending, queue.Waiting}}, []string{c.ID, b.ID}},
			"partner, state":  {queue.MessageFilter{Partner: "southwind", States: []queue.State{queue.Queued}}, []string{e.ID, d.ID}},
			"direction":       {queue.MessageFilter{Direction: queue.In}, []string{"in"}},
			"uncertain":       {queue.MessageFilter{Uncertain: true}, []string{c.ID}},
			"overdue":         {queue.MessageFilter{Overdue: true}, []string{d.ID}},
			"from":            {queue.MessageFilter{From: after(time.Hour)}, []string{e.ID}},
			"to":              {queue.MessageFilter{To: t0}, nil},
			"from and to":     {queue.MessageFilter{From: t0, To: after(time.Microsecond), Partner: "southwind"}, []string{d.ID}},
			"unknown partner": {queue.MessageFilter{Partner: "nobody"}, nil},
		} {
			got, next, err := r.Messages(r.ctx, c.f, queue.Page{Limit: 10})
			r.must(err)
			r.equal(name, c.want, ids(got))
			if next != "" {
				r.Errorf("%s: there is no next page, cursor %q", name, next)
			}
		}
	},
	"messages are found by their references": func(r *run) {
		one := arrival("one", "northwind", "INV-1", "one")
		one.Message.Payload.FileName = "invoice%1_.edi"
		a := r.acceptAs(one)
		b := r.acceptAs(arrival("two", "northwind", "INV-10", "two"))
		c := r.acceptAs(arrival("three", "southwind", "Ünïcode", "three"))
		for reference, want := range map[string][]string{
			"INV-1":           {a.ID},
			"INV-1*":          {b.ID, a.ID},
			"PO-INV-10":       {b.ID},
			"R-two":           {b.ID},
			"C-one":           {a.ID},
			"invoice%1_.edi":  {a.ID},
			"invoice%*":       {a.ID},
			"%":               nil,
			"I":               nil,
			"inv-1":           nil,
			"Ü*":              {c.ID},
			a.MessageID:       {a.ID},
			bare(b.MessageID): {b.ID},
			"*":               {c.ID, b.ID, a.ID},
			"' OR 1=1 --":     nil,
		} {
			got, _, err := r.Messages(r.ctx, queue.MessageFilter{Reference: reference}, queue.Page{Limit: 10})
			r.must(err)
			r.equal("reference "+reference, want, ids(got))
		}
		got, _, err := r.Messages(r.ctx, queue.MessageFilter{Reference: "INV*", Partner: "southwind"}, queue.Page{Limit: 10})
		r.must(err)
		r.equal("reference and partner", []string(nil), ids(got))
	},
	"pages neither repeat nor miss while rows are added": func(r *run) {
		var want []string
		for range 23 {
			want = append(want, r.accept("northwind").ID)
		}
		slices.Reverse(want)
		got := pages(r, 5, func(p queue.Page) ([]queue.Message, string, error) {
			return r.Messages(r.ctx, queue.MessageFilter{Partner: "northwind"}, p)
		}, func() { r.accept("northwind") })
		r.equal("messages", want, ids(got))

		want = nil
		for range 11 {
			_, l := r.dead("southwind", fault.ReasonRejected, "")
			want = append(want, l.ID)
		}
		slices.Reverse(want)
		letters := pages(r, 3, func(p queue.Page) ([]queue.Letter, string, error) {
			return r.Letters(r.ctx, queue.LetterFilter{Partner: "southwind"}, p)
		}, func() { r.dead("southwind", fault.ReasonRejected, "") })
		r.equal("letters", want, letterIDs(letters))

		want = nil
		add := func(n int64) {
			o := &queue.Outage{ID: fmt.Sprintf("OUT-%d", n), Number: n, Partner: "northwind", Since: t0}
			r.must(r.Record(r.ctx, &queue.Result{Outage: o}))
		}
		for n := int64(1); n <= 7; n++ {
			add(n)
			want = append(want, fmt.Sprintf("OUT-%d", n))
		}
		slices.Reverse(want)
		n := int64(7)
		var got2 []string
		for _, o := range pages(r, 2, func(p queue.Page) ([]queue.Outage, string, error) { return r.Outages(r.ctx, "northwind", true, p) }, func() { n++; add(n) }) {
			got2 = append(got2, o.ID)
		}
		r.equal("outages", want, got2)
	},
	"an exact last page has no next": func(r *run) {
		for range 4 {
			r.accept("northwind")
		}
		got, next, err := r.Messages(r.ctx, queue.MessageFilter{}, queue.Page{Limit: 4})
		r.must(err)
		if len(got) != 4 || next != "" {
			r.Errorf("%d messages, next %q", len(got), next)
		}
	},
	"a strange cursor is refused": func(r *run) {
		for range 3 {
			r.accept("northwind")
			r.dead("northwind", fault.ReasonLocal, "")
		}
		_, ours, err := r.Messages(r.ctx, queue.MessageFilter{}, queue.Page{Limit: 1})
		r.must(err)
		if ours == "" {
			r.Fatal("no cursor")
		}
		b64 := base64.RawURLEncoding.EncodeToString
		lists := map[string]func(queue.Page) error{
			"messages": func(p queue.Page) error { _, _, err := r.Messages(r.ctx, queue.MessageFilter{}, p); return err },
			"letters":  func(p queue.Page) error { _, _, err := r.Letters(r.ctx, queue.LetterFilter{}, p); return err },
			"outages":  func(p queue.Page) error { _, _, err := r.Outages(r.ctx, "", false, p); return err },
			"audit":    func(p queue.Page) error { _, _, err := r.Audit(r.ctx, queue.AuditFilter{}, p); return err },
		}
		for name, list := range lists {
			for _, cursor := range []string{"x", "!!!", ours + "x", b64([]byte(name)), b64([]byte(name + ":")), b64([]byte(name + ":-1")), b64([]byte(name + ":0")), b64([]byte(name + ":1 OR 1")), b64([]byte("users:1"))} {
				if err := list(queue.Page{Limit: 1, Cursor: cursor}); !errors.Is(err, queue.ErrBadCursor) {
					r.Errorf("%s with cursor %q: %v", name, cursor, err)
				}
			}
			if err := list(queue.Page{Limit: 1, Cursor: ours}); name != "messages" && !errors.Is(err, queue.ErrBadCursor) {
				r.Errorf("%s with a cursor of messages: %v", name, err)
			}
		}
	},
	"letters are filtered": func(r *run) {
		_, a := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		_, b := r.dead("northwind", fault.ReasonRejected, "")
		mc, c := r.dead("southwind", fault.ReasonSignature, "OUT-1")
		c.Cause = "signer unknown"
		r.must(r.Record(r.ctx, &queue.Result{Message: &mc, Closed: &c}))
		md, d := r.dead("southwind", fault.ReasonRejected, "")
		r.closed(md, d)
		me, e := r.dead("southwind", fault.ReasonRejected, "")
		me.State, me.NextAt, e.Status, e.Replayed = queue.Queued, t0, queue.LetterReplaying, t0
		r.must(r.Record(r.ctx, &queue.Result{Message: &me, Closed: &e}))
		for name, x := range map[string]struct {
			f    queue.LetterFilter
			want []string
		}{
			"all":            {queue.LetterFilter{}, []string{e.ID, d.ID, c.ID, b.ID, a.ID}},
			"partner":        {queue.LetterFilter{Partner: "northwind"}, []string{b.ID, a.ID}},
			"reason":         {queue.LetterFilter{Reason: fault.ReasonRejected}, []string{e.ID, d.ID, b.ID}},
			"open":           {queue.LetterFilter{Status: queue.LetterOpen}, []string{c.ID, b.ID, a.ID}},
			"replaying":      {queue.LetterFilter{Status: queue.LetterReplaying}, []string{e.ID}},
			"closed":         {queue.LetterFilter{Status: queue.LetterClosed}, []string{d.ID}},
			"open, reason":   {queue.LetterFilter{Status: queue.LetterOpen, Reason: fault.ReasonRejected}, []string{b.ID}},
			"all conditions": {queue.LetterFilter{Status: queue.LetterOpen, Reason: fault.ReasonRejected, Partner: "northwind", From: t0, To: after(time.Hour)}, []string{b.ID}},
			"outage":         {queue.LetterFilter{Outage: "OUT-1"}, []string{c.ID, a.ID}},
			"cause":          {queue.LetterFilter{Cause: "signer unknown"}, []string{c.ID}},
			"from":           {queue.LetterFilter{From: c.Created}, []string{e.ID, d.ID, c.ID}},
			"to":             {queue.LetterFilter{To: c.Created}, []string{b.ID, a.ID}},
		} {
			got, _, err := r.Letters(r.ctx, x.f, queue.Page{Limit: 10})
			r.must(err)
			r.equal(name, x.want, letterIDs(got))
		}
	},
	"groups count open and replaying letters": func(r *run) {
		_, first := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		_, last := r.dead("northwind", fault.ReasonCircuitOpen, "OUT-1")
		mu, lu := r.dead("northwind", fault.ReasonRejected, "")
		lu.Uncertain = true
		r.must(r.Record(r.ctx, &queue.Result{Message: &mu, Closed: &lu}))
		mr, lr := r.dead("northwind", fault.ReasonRejected, "")
		mr.State, mr.NextAt, lr.Status = queue.Queued, t0, queue.LetterReplaying
		r.must(r.Record(r.ctx, &queue.Result{Message: &mr, Closed: &lr}))
		r.closed(r.dead("northwind", fault.ReasonRejected, ""))
		_, other := r.dead("another", fault.ReasonRejected, "")
		want := []queue.LetterGroup{
			{Partner: "another", Reason: fault.ReasonRejected, Direction: queue.Out, Open: 1, Oldest: other.Created, Newest: other.Created},
			{Partner: "northwind", Reason: fault.ReasonCircuitOpen, Outage: "OUT-1", Direction: queue.Out, Open: 2, Oldest: first.Created, Newest: last.Created},
			{Partner: "northwind", Reason: fault.ReasonRejected, Direction: queue.Out, Open: 1, Replaying: 1, Uncertain: 1, Oldest: lu.Created, Newest: lr.Created},
		}
		got, err := r.LetterGroups(r.ctx, queue.LetterFilter{})
		r.must(err)
		r.equal("groups", want, got)
		got, err = r.LetterGroups(r.ctx, queue.LetterFilter{Partner: "northwind", Reason: fault.ReasonCircuitOpen})
		r.must(err)
		r.equal("filtered groups", want[1:2], got)
		got, err = r.LetterGroups(r.ctx, queue.LetterFilter{Status: queue.LetterOpen, Partner: "northwind", From: lu.Created})
		r.must(err)
		r.equal("open groups since then", []queue.LetterGroup{{Partner: "northwind", Reason: fault.ReasonRejected, Direction: queue.Out, Open: 1, Uncertain: 1, Oldest: lu.Created, Newest: lu.Created}}, got)
		got, err = r.LetterGroups(r.ctx, queue.LetterFilter{Status: queue.LetterClosed})
		r.must(err)
		r.equal("closed groups", []queue.LetterGroup(nil), got)
		largest, open, err := r.LargestGroups(r.ctx, queue.LetterFilter{Status: queue.LetterClosed, From: after(time.Hour)}, 2)
		r.must(err)
		r.equal("largest groups", []queue.LetterGroup{want[1], want[0]}, largest)
		r.equal("open in all groups", 4, open)
		largest, open, err = r.LargestGroups(r.ctx, queue.LetterFilter{Partner: "northwind", Reason: fault.ReasonRejected}, 2)
		r.must(err)
		r.equal("largest of a partner and reason", want[2:], largest)
		r.equal("open in them", 1, open)
	},
	"groups hold one direction each": func(r *run) {
		m, l := r.received("northwind", fault.ReasonSignature)
		_, sent := r.dead("northwind", fault.ReasonSignature, "")
		want := []queue.LetterGroup{
			{Partner: "northwind", Reason: fault.ReasonSignature, Direction: queue.In, Open: 1, Oldest: l.Created, Newest: l.Created},
			{Partner: "northwind", Reason: fault.ReasonSignature, Direction: queue.Out, Open: 1, Oldest: sent.Created, Newest: sent.Created},
		}
		for name, x := range map[string]struct {
			f    queue.LetterFilter
			want []queue.LetterGroup
		}{
			"all": {queue.LetterFilter{}, want}, "in": {queue.LetterFilter{Direction: queue.In}, want[:1]}, "out": {queue.LetterFilter{Direction: queue.Out}, want[1:]},
			"out, by a span": {queue.LetterFilter{Direction: queue.Out, From: t0}, want[1:]}, "all, by a status": {queue.LetterFilter{Status: queue.LetterOpen}, want},
		} {
			got, err := r.LetterGroups(r.ctx, x.f)
			r.must(err)
			r.equal(name, x.want, got)
		}
		largest, open, err := r.LargestGroups(r.ctx, queue.LetterFilter{Direction: queue.Out}, 5)
		r.must(err)
		r.equal("largest outbound", want[1:], largest)
		r.equal("open outbound", 1, open)
		depths, err := r.PartnerDepths(r.ctx, "northwind")
		r.must(err)
		letters := 0
		for _, d := range depths {
			letters += d.Letters[fault.ReasonSignature]
		}
		r.equal("letters of all lanes of the partner", 2, letters)
		found, _, err := r.Letters(r.ctx, queue.LetterFilter{Status: queue.LetterOpen, Direction: queue.In}, queue.Page{Limit: 5})
		r.must(err)
		r.equal("inbound letters", []string{l.ID}, letterIDs(found))
		r.closed(m, l)
		got, err := r.LetterGroups(r.ctx, queue.LetterFilter{})
		r.must(err)
		r.equal("after it was settled", want[1:], got)
	},
	"outages are filtered": func(r *run) {
		for n, o := range []queue.Outage{
			{ID: "OUT-1", Partner: "northwind", Since: t0, Ended: after(time.Hour)}, {ID: "OUT-2", Partner: "southwind", Since: t0}, {ID: "OUT-3", Partner: "northwind", Since: t0},
		} {
			o.Number = int64(n) + 1
			r.must(r.Record(r.ctx, &queue.Result{Outage: &o}))
		}
		for _, x := range []struct {
			partner string
			running bool
			want    []string
		}{
			{"", false, []string{"OUT-3", "OUT-2", "OUT-1"}}, {"", true, []string{"OUT-3", "OUT-2"}},
			{"northwind", false, []string{"OUT-3", "OUT-1"}}, {"northwind", true, []string{"OUT-3"}},
		} {
			all, _, err := r.Outages(r.ctx, x.partner, x.running, queue.Page{Limit: 10})
			r.must(err)
			var got []string
			for _, o := range all {
				got = append(got, o.ID)
			}
			r.equal(fmt.Sprintf("partner %q, running %v", x.partner, x.running), x.want, got)
		}
	},
}

var eventRules = map[string]func(*run){
	"a reader with a cursor misses no event": func(r *run) {
		const writers, each = 8, 40
		var wg sync.WaitGroup
		done := make(chan struct{})
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					pair := []queue.Event{{At: t0, Type: queue.EventSettings, Text: fmt.Sprintf("%d.%d.a", w, i)}, {At: t0, Type: queue.EventSettings, Text: fmt.Sprintf("%d.%d.b", w, i)}}
					if err := r.AddEvents(r.ctx, pair...); err != nil {
						r.Error(err)
					}
				}
			})
		}
		go func() { wg.Wait(); close(done) }()
		var got []queue.Event
		finished := false
		for cursor := int64(0); ; {
			page, err := r.Events(r.ctx, cursor, 7)
			r.must(err)
			for _, e := range page {
				if e.ID != cursor+1 {
					r.Fatalf("event %d follows %d", e.ID, cursor)
				}
				cursor = e.ID
			}
			got = append(got, page...)
			if len(page) > 0 {
				continue
			}
			if finished {
				break
			}
			select {
			case <-done:
				finished = true // one more look: all are committed now
			default:
			}
		}
		if len(got) != 2*writers*each {
			r.Fatalf("%d events, want %d", len(got), 2*writers*each)
		}
		for i := 0; i < len(got); i += 2 {
			a, b := got[i].Text, got[i+1].Text
			if a[:len(a)-1] != b[:len(b)-1] || a[len(a)-1] != 'a' || b[len(b)-1] != 'b' {
				r.Fatalf("a pair was torn: %s, %s", a, b)
			}
		}
		last, err := r.LastEvent(r.ctx)
		r.must(err)
		if last != got[len(got)-1].ID {
			r.Errorf("LastEvent = %d, want %d", last, got[len(got)-1].ID)
		}
	},
	"a failed write leaves no gap in the ledger": func(r *run) {
		m := r.accept("northwind")
		stale := m
		stale.Version = 9
		for range 3 {
			if err := r.Record(r.ctx, &queue.Result{Events: []queue.Event{{At: t0, Type: queue.EventDefect}}}, &queue.Result{Message: &stale}); !errors.Is(err, queue.ErrConflict) {
				r.Fatal(err)
			}
		}
		last, err := r.LastEvent(r.ctx)
		r.must(err)
		r.must(r.AddEvents(r.ctx, queue.Event{At: t0, Type: queue.EventStarted, Text: "next"}))
		got, err := r.Events(r.ctx, last, 10)
		r.must(err)
		r.equal("events", []queue.Event{{ID: last + 1, At: t0, Type: queue.EventStarted, Text: "next"}}, got)
	},
	"a timeline holds a message's events only": func(r *run) {
		a, b := r.accept("northwind"), r.accept("northwind")
		r.must(r.AddEvents(r.ctx, queue.Event{At: t0, Type: queue.EventBuilt, Message: a.ID}, queue.Event{At: t0, Type: queue.EventBuilt, Message: b.ID}, queue.Event{At: t0, Type: queue.EventStarted}))
		got, err := r.Timeline(r.ctx, a.ID)
		r.must(err)
		if len(got) != 2 || got[0].Type != queue.EventAccepted || got[1].Type != queue.EventBuilt {
			r.Errorf("timeline %+v", got)
		}
		if got, err := r.Timeline(r.ctx, ""); err != nil || len(got) != 0 {
			r.Errorf("timeline of no message: %d events, %v", len(got), err)
		}
		many := make([]queue.Event, 1005)
		for i := range many {
			many[i] = queue.Event{At: t0, Type: queue.EventRetry, Message: b.ID, Text: strconv.Itoa(i)}
		}
		r.must(r.AddEvents(r.ctx, many...))
		got, err = r.Timeline(r.ctx, b.ID)
		r.must(err)
		if len(got) != 1000 || got[0].Text != "5" || got[999].Text != "1004" {
			r.Errorf("%d events, from %q to %q", len(got), got[0].Text, got[999].Text)
		}
	},
	"the audit lists events with an actor": func(r *run) {
		ana, bo := fault.Actor{Name: "ana", Role: "operator", From: "192.0.2.1"}, fault.Actor{Name: "bo", From: "local"}
		r.must(r.AddEvents(r.ctx,
			queue.Event{At: t0, Type: queue.EventLaneStopped, Partner: "northwind", Actor: ana, Text: "1"},
			queue.Event{At: after(time.Minute), Type: queue.EventStarted, Text: "2"},
			queue.Event{At: after(time.Minute), Type: queue.EventLaneStopped, Partner: "southwind", Actor: bo, Text: "3"},
			queue.Event{At: after(2 * time.Minute), Type: queue.EventSignIn, Actor: ana, Text: "4"}))
		for name, x := range map[string]struct {
			f    queue.AuditFilter
			want []string
		}{
			"all":     {queue.AuditFilter{}, []string{"4", "3", "1"}},
			"actor":   {queue.AuditFilter{Actor: "ana"}, []string{"4", "1"}},
			"partner": {queue.AuditFilter{Partner: "southwind"}, []string{"3"}},
			"from":    {queue.AuditFilter{From: after(time.Minute)}, []string{"4", "3"}},
			"to":      {queue.AuditFilter{To: after(2 * time.Minute)}, []string{"3", "1"}},
		} {
			var got []string
			for _, e := range pages(r, 2, func(p queue.Page) ([]queue.Event, string, error) { return r.Audit(r.ctx, x.f, p) }, func() {}) {
				got = append(got, e.Text)
			}
			r.equal(name, x.want, got)
		}
	},
}
