package dlq

import (
	"context"
	"errors"
	"slices"

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

// survey looks at every letter of a selection, page by page. Of ids, those
// that are not open are left out, as when the set is frozen.
func (s *Service) survey(ctx context.Context, sel Selection) (survey, error) {
	found := survey{codes: map[Code]int{}}
	facts := map[string]Facts{} // by lane
	if len(sel.IDs) > 0 {
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
	f := sel.Filter
	f.Status = queue.LetterOpen
	for cursor := ""; ; {
		letters, next, err := s.Store.Letters(ctx, f, queue.Page{Limit: page, Cursor: cursor})
		if err != nil {
			return survey{}, err
		}
		for _, l := range letters {
			if err := s.count(ctx, &found, facts, l); err != nil {
				return survey{}, err
			}
		}
		if cursor = next; cursor == "" {
			return found, nil
		}
	}
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
	m, err := s.Store.Message(ctx, l.Message)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f, ok := facts[l.Lane]
	if !ok {
		f = s.facts(l, s.Now())
		facts[l.Lane] = f
	}
	f.Running = s.Lanes.Running(l.Lane, l.Message)
	a := Assess(l, m, f, s.Now())
	v.counts.Total++
	v.counts.Pending++
	for _, c := range a.Codes {
		v.codes[c]++
	}
	add := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	add(&v.counts.NeverTried, m.Total == 0)
	add(&v.counts.Uncertain, l.Uncertain || m.Uncertain)
	add(&v.counts.Overtaken, l.Overtaken)
	add(&v.counts.Overdue, l.Overdue || slices.Contains(a.Codes, Overdue))
	return nil
}
