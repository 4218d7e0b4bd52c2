package storetest

import (
	"context"
	"fmt"
	"slices"

	"edigw/queue"
)

// History gives the newest events of a partner or an outage that belong to no
// message.
func (s *Memory) History(ctx context.Context, f queue.HistoryFilter, limit int) ([]queue.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []queue.Event
	for _, e := range slices.Backward(s.events) {
		of := f.Outage != "" && e.Outage == f.Outage || f.Outage == "" && f.Partner != "" && e.Partner == f.Partner
		if of && e.Message == "" && slices.Contains(f.Types, e.Type) && len(all) < limit {
			all = append(all, e)
		}
	}
	return all, ctx.Err()
}

// historyRules are about what happened to partners and in outages.
var historyRules = map[string]func(*run){
	"the history of a partner leaves out its messages and the others": func(r *run) {
		r.must(r.AddEvents(r.ctx,
			queue.Event{At: t0, Type: queue.EventBreakerOpened, Partner: "northwind", Outage: "OUT-1", Text: "1"},
			queue.Event{At: t0, Type: queue.EventSettings, Partner: "northwind", Text: "2"},
			queue.Event{At: t0, Type: queue.EventSettings, Partner: "southwind", Text: "3"},
			queue.Event{At: t0, Type: queue.EventSettings, Text: "4"},
			queue.Event{At: t0, Type: queue.EventDead, Partner: "northwind", Message: "m1", Outage: "OUT-1", Text: "5"},
			queue.Event{At: t0, Type: queue.EventBreakerClosed, Partner: "northwind", Outage: "OUT-1", Text: "6"},
			queue.Event{At: t0, Type: queue.EventBreakerOpened, Partner: "southwind", Outage: "OUT-2", Text: "7"},
		))
		moves := []queue.EventType{queue.EventBreakerOpened, queue.EventBreakerClosed, queue.EventDead}
		for name, c := range map[string]struct {
			f     queue.HistoryFilter
			limit int
			want  []string
		}{
			"moves of a lane, newest first": {queue.HistoryFilter{Partner: "northwind", Types: moves}, 10, []string{"6", "1"}},
			"settings":                      {queue.HistoryFilter{Partner: "northwind", Types: []queue.EventType{queue.EventSettings}}, 10, []string{"2"}},
			"an outage":                     {queue.HistoryFilter{Outage: "OUT-1", Types: moves}, 10, []string{"6", "1"}},
			"another outage":                {queue.HistoryFilter{Outage: "OUT-2", Types: moves}, 10, []string{"7"}},
			"at most limit":                 {queue.HistoryFilter{Partner: "northwind", Types: append(moves, queue.EventSettings)}, 2, []string{"6", "2"}},
			"neither selects nothing":       {queue.HistoryFilter{Types: moves}, 10, nil},
			"no type selects nothing":       {queue.HistoryFilter{Partner: "northwind"}, 10, nil},
		} {
			got, err := r.History(r.ctx, c.f, c.limit)
			r.must(err)
			var texts []string
			for _, e := range got {
				texts = append(texts, e.Text)
			}
			r.equal(name, c.want, texts)
		}
	},
	"of a long history the newest come": func(r *run) {
		for i := range 60 {
			t := queue.EventBreakerReopened
			if i%10 == 0 {
				t = queue.EventAnswering
			}
			r.must(r.AddEvents(r.ctx, queue.Event{At: t0, Type: t, Partner: "northwind", Text: fmt.Sprint(i)}))
		}
		got, err := r.History(r.ctx, queue.HistoryFilter{Partner: "northwind", Types: []queue.EventType{queue.EventBreakerReopened, queue.EventAnswering}}, 12)
		r.must(err)
		var texts []string
		for _, e := range got {
			texts = append(texts, e.Text)
		}
		r.equal("newest", []string{"59", "58", "57", "56", "55", "54", "53", "52", "51", "50", "49", "48"}, texts)
	},
}
