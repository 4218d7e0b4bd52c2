package console

import (
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
)

// sideLane is a lane of a partner that carries no documents to him: receipts
// that we owe, or posts to a webhook of ours.
type sideLane struct {
	kind    queue.Kind
	view    queue.LaneView
	waiting int
}

// ails reports whether something waits there because the lane does not send.
func (s sideLane) ails() bool { return s.waiting > 0 && s.view.State != queue.LaneSending }

// sentence says how it stands.
func (s sideLane) sentence(v *visit, p *partner.Partner) string {
	return words.LaneOf(string(s.kind), v.laneSentence(s.view, 0, p), s.waiting)
}

// ailing says what stands badly with a partner besides the lane of his documents:
// his other lanes, and fetching what he holds for us; where that is the whole page,
// with what to do.
func (v *visit) ailing(s *standing, advised bool) (all []string) {
	for _, o := range s.others {
		all = append(all, o.sentence(v, s.settings))
	}
	t := s.fetching
	if t == nil {
		return all
	}
	f := words.FetchFacts{Now: v.now, Zone: v.zoneOf(s.settings), Since: t.Since, Count: t.Failures, Ours: t.Ours, Why: plain(t.Why), Next: t.Next}
	if advised {
		f.Do = plain(t.Do)
	}
	return append(all, words.Fetch(f))
}

// sideLanes are those of a partner's lanes that ail, by what waits in each.
func (c *Console) sideLanes(id string, waiting map[string]int) (all []sideLane) {
	for _, k := range []queue.Kind{queue.KindReceipt, queue.KindWebhook} {
		key := queue.LaneKey(id, k)
		if waiting[key] == 0 {
			continue
		}
		if s := (sideLane{k, c.Lanes.LaneView(key), waiting[key]}); s.ails() {
			all = append(all, s)
		}
	}
	return all
}
