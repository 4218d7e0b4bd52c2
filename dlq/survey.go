package dlq

import (
	"context"
	"errors"
	"time"

	"edigw/queue"
)

// survey is what a selection holds now.
type survey struct {
	counts queue.ReplayCounts
	codes  map[Code]int
}

// missing are the codes that occur and are neither confirmed nor skipped.
func (v survey) missing(ask BulkAsk) []Code {
	var need []Code
	for _, c := range Codes {
		if v.codes[c] > 0 && !ask.covers(c) {
			need = append(need, c)
		}
	}
	return need
}

// survey counts a selection: in the store what a filter selects, however much
// it is, one by one what ids name. Of ids, those that are not open are left out,
// as when the set is frozen.
func (s *Service) survey(ctx context.Context, sel Selection) (survey, error) {
	found := survey{codes: map[Code]int{}}
	if len(sel.IDs) == 0 {
		return found, s.tally(ctx, &found, sel.Filter)
	}
	facts := map[string]Facts{} // by lane
	for id := range seen(sel.IDs) {
		l, err := s.Store.Letter(ctx, id)
		if err != nil {
			return survey{}, err
		}
		if err := s.count(ctx, &found, facts, l); err != nil {
			return survey{}, err
		}
	}
	return found, nil
}

// tally counts what a filter selects by the rules of Assess, lane by lane. An
// exchange that runs is not looked for: its letter is refused when its turn
// comes.
func (s *Service) tally(ctx context.Context, v *survey, f queue.LetterFilter) error {
	now := s.Now()
	whose := f
	whose.Status = ""
	groups, err := s.Store.LetterGroups(ctx, whose)
	if err != nil {
		return err
	}
	forgotten := map[string]time.Time{}
	for _, g := range groups {
		if p, known := s.Partners.Partner(g.Partner); known && p.Duplicates > 0 {
			forgotten[g.Partner] = now.Add(-p.Duplicates)
		}
	}
	lanes, err := s.Store.Tally(ctx, f, forgotten, now)
	for _, n := range lanes {
		if n.Direction == queue.In {
			v.counts.Inbound += n.Counts.Total
			continue
		}
		v.counts.Total += n.Counts.Total
		v.counts.Pending += n.Counts.Pending
		v.counts.NeverTried += n.Counts.NeverTried
		v.counts.Uncertain += n.Counts.Uncertain
		v.counts.Overtaken += n.Counts.Overtaken
		v.counts.Overdue += n.Counts.Overdue
		facts := s.facts(queue.Letter{Lane: n.Lane, Partner: n.Partner}, now)
		if !facts.Known {
			continue // refused: nothing to confirm
		}
		for _, x := range []struct {
			code Code
			n    int
			asks bool
		}{
			{PossibleDuplicate, n.Doubtful, true}, {ChangedContent, n.Changed, true}, {Overtaken, n.Passed, facts.FIFO}, {Overdue, n.Missed, true},
			{OutsideWindow, n.Counts.Total, !facts.Window}, {BreakerWait, n.Counts.Total, facts.shut()}, {BreakerProbe, n.Counts.Total, facts.shut()},
		} {
			if x.asks && x.n > 0 {
				v.codes[x.code] += x.n
			}
		}
	}
	return err
}

func seen(ids []string) map[string]bool {
	all := map[string]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return all
}

// count adds one letter to a survey.
func (s *Service) count(ctx context.Context, v *survey, facts map[string]Facts, l queue.Letter) error {
	if l.Status != queue.LetterOpen {
		return nil
	}
	if l.Direction == queue.In {
		v.counts.Inbound++
		return nil
	}
	m, err := s.Store.Message(ctx, l.Message)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.Now()
	f, ok := facts[l.Lane]
	if !ok {
		f = s.facts(l, now)
		facts[l.Lane] = f
	}
	f.Running = s.Lanes.Running(l.Lane, l.Message)
	for _, c := range Assess(l, m, f, now).Codes {
		v.codes[c]++
	}
	v.counts.Count(l, m, now)
	return nil
}
