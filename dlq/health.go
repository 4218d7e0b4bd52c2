package dlq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// Bounds say when letters raise an alert; a zero field never does.
type Bounds struct {
	Depth  int           // more open letters than this
	Oldest time.Duration // a letter open longer than this
	Growth float64       // letters a second, over the last hour
}

// growthSpan is the time over which growth is measured.
const growthSpan = time.Hour

// health remembers which bounds were crossed when they were last looked at.
type health struct {
	mu   sync.Mutex
	over string
}

// Health compares the open letters of the whole gateway with the bounds.
// Letters of an outage that runs do not count: the outage has an alert of its
// own (delivery.md §9). When other bounds are crossed than at the last look it
// raises an event dlq-health, whose fact `over` names them; that all is well
// again raises none. A schedule calls it every few minutes, jittered.
func (s *Service) Health(ctx context.Context) error {
	if s.Bounds == nil {
		return nil
	}
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	now, bounds := s.Now(), s.Bounds()
	t, err := s.totals(ctx, now)
	if err != nil {
		return err
	}
	over := t.over(bounds, now)
	if over != "" && over != s.health.over {
		if err := s.Store.AddEvents(ctx, t.event(over, bounds, now)); err != nil {
			return err
		}
	}
	s.health.over = over
	return nil
}

// totals are the open letters outside running outages.
type totals struct {
	open    int
	grown   int // made in the last growthSpan
	reasons map[fault.Reason]int
	oldest  time.Time // zero if none is open
	whose   string    // partner of the oldest
}

func (s *Service) totals(ctx context.Context, now time.Time) (totals, error) {
	t := totals{reasons: map[fault.Reason]int{}}
	running := map[string]bool{}
	all, err := s.besides(ctx, queue.LetterFilter{}, running)
	if err != nil {
		return t, err
	}
	for _, g := range all {
		if g.Open == 0 {
			continue
		}
		t.open += g.Open
		t.reasons[g.Reason] += g.Open
		if t.oldest.IsZero() || g.Oldest.Before(t.oldest) {
			t.oldest, t.whose = g.Oldest, g.Partner
		}
	}
	young, err := s.besides(ctx, queue.LetterFilter{From: now.Add(-growthSpan)}, running)
	for _, g := range young {
		t.grown += g.Open + g.Replaying
	}
	return t, err
}

// besides gives the groups that belong to no running outage.
func (s *Service) besides(ctx context.Context, f queue.LetterFilter, running map[string]bool) ([]queue.LetterGroup, error) {
	groups, err := s.Store.LetterGroups(ctx, f)
	if err != nil {
		return nil, err
	}
	var others []queue.LetterGroup
	for _, g := range groups {
		runs, known := running[g.Outage]
		if g.Outage != "" && !known {
			o, err := s.Store.Outage(ctx, g.Outage)
			if err != nil && !errors.Is(err, queue.ErrNotFound) {
				return nil, err
			}
			runs = err == nil && o.Ended.IsZero()
			running[g.Outage] = runs
		}
		if !runs {
			others = append(others, g)
		}
	}
	return others, nil
}

// over names the bounds that are crossed.
func (t totals) over(b Bounds, now time.Time) string {
	var crossed []string
	if b.Depth > 0 && t.open > b.Depth {
		crossed = append(crossed, "depth")
	}
	if b.Oldest > 0 && !t.oldest.IsZero() && now.Sub(t.oldest) > b.Oldest {
		crossed = append(crossed, "oldest")
	}
	if b.Growth > 0 && float64(t.grown) > b.Growth*growthSpan.Seconds() {
		crossed = append(crossed, "growth")
	}
	return strings.Join(crossed, ",")
}

func (t totals) event(over string, b Bounds, now time.Time) queue.Event {
	var reasons []string
	for _, r := range fault.Reasons {
		if n := t.reasons[r]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %s", words.Number(int64(n)), r))
		}
	}
	e := queue.Event{At: now, Type: queue.EventDLQHealth}
	e.Facts = map[string]string{"over": over, "depth": strconv.Itoa(t.open), "growth": strconv.Itoa(t.grown), "reasons": strings.Join(reasons, ", ")}
	if !t.oldest.IsZero() {
		maps.Copy(e.Facts, map[string]string{"oldest": t.oldest.UTC().Format(time.RFC3339), "oldest_partner": t.whose})
	}
	var parts []string
	for _, bound := range strings.Split(over, ",") {
		switch bound {
		case "depth":
			parts = append(parts, fmt.Sprintf("%s are not delivered (bound %s)", words.Count(t.open, "document", "documents"), words.Number(int64(b.Depth))))
		case "oldest":
			parts = append(parts, fmt.Sprintf("the oldest, for %s, waits since %s (bound %s)", t.whose, words.Span(now.Sub(t.oldest)), words.Span(b.Oldest)))
		case "growth":
			parts = append(parts, fmt.Sprintf("%s came in the last hour (bound %.0f)", words.Number(int64(t.grown)), b.Growth*growthSpan.Seconds()))
		}
	}
	e.Text = "Dead letters: " + strings.Join(parts, "; ")
	if len(reasons) > 0 {
		e.Text += ". By reason: " + strings.Join(reasons, ", ")
	}
	return e
}
