package storetest

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// pageOf cuts a page out of a list that is oldest first. number is what the
// list is sorted by; list names it in the cursor.
func pageOf[T any](all []T, list string, p queue.Page, number func(T) int64) ([]T, string, error) {
	before, err := readCursor(list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	limit := p.Limit
	if limit <= 0 || limit > 500 {
		limit = 500
	}
	var page []T
	for _, v := range slices.Backward(all) {
		if before > 0 && number(v) >= before {
			continue
		}
		if len(page) == limit {
			return page, writeCursor(list, number(page[limit-1])), nil
		}
		page = append(page, v)
	}
	return page, "", nil
}

func writeCursor(list string, n int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + strconv.FormatInt(n, 10)))
}

func readCursor(list, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	number, ok := strings.CutPrefix(string(raw), list+":")
	n, bad := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || bad != nil || n <= 0 {
		return 0, fmt.Errorf("cursor %.80q: %w", cursor, queue.ErrBadCursor)
	}
	return n, nil
}

// between reports whether from ≤ t < to; a zero bound does not bind.
func between(t, from, to time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || t.Before(to))
}

// Messages lists messages.
func (s *Memory) Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	all := s.find(func(m queue.Message) bool {
		return (f.Partner == "" || m.Partner == f.Partner) && (len(f.States) == 0 || slices.Contains(f.States, m.State)) &&
			(f.Direction == "" || m.Direction == f.Direction) && (!f.Uncertain || m.Uncertain) && (!f.Overdue || m.Overdue) &&
			between(m.Accepted, f.From, f.To) && refers(m, f.Reference)
	})
	return pageOf(all, "messages", p, func(m queue.Message) int64 { return m.Seq })
}

// refers reports whether a message is found under a reference.
func refers(m queue.Message, reference string) bool {
	if reference == "" || reference == "*" {
		return true
	}
	want, prefix := strings.CutSuffix(bare(reference), "*")
	names := []string{m.Key, bare(m.MessageID), m.CorrelationID, m.Payload.FileName}
	for _, r := range m.Business.References {
		names = append(names, r.Value)
	}
	return slices.ContainsFunc(names, func(n string) bool {
		return n != "" && (n == want || prefix && strings.HasPrefix(n, want))
	})
}

// Letter gives a letter.
func (s *Memory) Letter(ctx context.Context, id string) (queue.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.letters[id]
	if !ok {
		return queue.Letter{}, fmt.Errorf("letter %s: %w", id, queue.ErrNotFound)
	}
	return s.viewLetter(l), ctx.Err()
}

// findLetters gives the letters that fit, in the order in which they were made.
func (s *Memory) findLetters(fits func(queue.Letter) bool) []queue.Letter {
	var found []queue.Letter
	for _, id := range s.made {
		if l, ok := s.letters[id]; ok && fits(l) {
			found = append(found, s.viewLetter(l))
		}
	}
	return found
}

func selects(f queue.LetterFilter, l queue.Letter) bool {
	return (f.Partner == "" || l.Partner == f.Partner) && (f.Reason == "" || l.Reason == f.Reason) && (f.Status == "" || l.Status == f.Status) &&
		(f.Outage == "" || l.Outage == f.Outage) && (f.Cause == "" || l.Cause == f.Cause) && (f.Direction == "" || l.Direction == f.Direction) && between(l.Created, f.From, f.To)
}

// LettersOf gives the letters of a message, oldest first.
func (s *Memory) LettersOf(ctx context.Context, message string) ([]queue.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLetters(func(l queue.Letter) bool { return l.Message == message }), ctx.Err()
}

// Letters lists letters.
func (s *Memory) Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	place := map[string]int64{}
	for i, id := range s.made {
		place[id] = int64(i) + 1
	}
	return pageOf(s.findLetters(func(l queue.Letter) bool { return selects(f, l) }), "letters", p, func(l queue.Letter) int64 { return place[l.ID] })
}

// LetterGroups counts the open and replaying letters.
func (s *Memory) LetterGroups(ctx context.Context, f queue.LetterFilter) ([]queue.LetterGroup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := map[string]*queue.LetterGroup{}
	for _, l := range s.findLetters(func(l queue.Letter) bool { return l.Status != queue.LetterClosed && selects(f, l) }) {
		key := strings.Join([]string{l.Partner, string(l.Reason), l.Cause, l.Outage, string(l.Direction)}, "\x00")
		g := groups[key]
		if g == nil {
			g = &queue.LetterGroup{Partner: l.Partner, Reason: l.Reason, Cause: l.Cause, Outage: l.Outage, Direction: l.Direction, Oldest: l.Created, Newest: l.Created}
			groups[key] = g
		}
		if l.Status == queue.LetterOpen {
			g.Open++
		} else {
			g.Replaying++
		}
		if l.Uncertain {
			g.Uncertain++
		}
		if l.Created.Before(g.Oldest) {
			g.Oldest = l.Created
		}
		if l.Created.After(g.Newest) {
			g.Newest = l.Created
		}
	}
	var all []queue.LetterGroup
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, *groups[key])
	}
	return all, ctx.Err()
}

// LargestGroups gives the groups with the most open letters.
func (s *Memory) LargestGroups(ctx context.Context, f queue.LetterFilter, limit int) (all []queue.LetterGroup, open int, err error) {
	all, err = s.LetterGroups(ctx, queue.LetterFilter{Partner: f.Partner, Reason: f.Reason, Cause: f.Cause, Outage: f.Outage, Direction: f.Direction})
	for _, g := range all {
		open += g.Open
	}
	slices.SortStableFunc(all, func(x, y queue.LetterGroup) int { return y.Open - x.Open })
	return all[:min(len(all), max(limit, 0))], open, err
}

// Outage gives an outage with its letters counted.
func (s *Memory) Outage(ctx context.Context, id string) (queue.Outage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.outages[id]
	if !ok {
		return queue.Outage{}, fmt.Errorf("outage %s: %w", id, queue.ErrNotFound)
	}
	return s.counted(o), ctx.Err()
}

func (s *Memory) counted(o queue.Outage) queue.Outage {
	o.Letters, o.Open = 0, 0
	for _, l := range s.letters {
		if l.Outage == o.ID {
			o.Letters++
			if l.Status == queue.LetterOpen {
				o.Open++
			}
		}
	}
	return o
}

// Outages lists outages.
func (s *Memory) Outages(ctx context.Context, partner string, running bool, p queue.Page) ([]queue.Outage, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	var all []queue.Outage
	for _, o := range s.outages {
		if (partner == "" || o.Partner == partner) && (!running || o.Ended.IsZero()) {
			all = append(all, s.counted(o))
		}
	}
	slices.SortFunc(all, func(a, b queue.Outage) int { return int(a.Number - b.Number) })
	return pageOf(all, "outages", p, func(o queue.Outage) int64 { return o.Number })
}

// OldestLetter gives the open letter of a lane that was made first.
func (s *Memory) OldestLetter(ctx context.Context, lane string, except ...fault.Reason) (queue.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	letters := s.findLetters(func(l queue.Letter) bool {
		return l.Lane == lane && l.Status == queue.LetterOpen && !slices.Contains(except, l.Reason)
	})
	if len(letters) == 0 {
		return queue.Letter{}, fmt.Errorf("open letter of lane %q: %w", lane, queue.ErrNotFound)
	}
	return slices.MinFunc(letters, func(a, b queue.Letter) int { return a.Created.Compare(b.Created) }), ctx.Err()
}

// OutageLetters gives the letters of an outage, oldest message first.
func (s *Memory) OutageLetters(ctx context.Context, outage string, status queue.LetterStatus, limit int) ([]queue.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.findLetters(func(l queue.Letter) bool {
		return outage != "" && l.Outage == outage && l.Status == status
	})
	slices.SortStableFunc(all, func(a, b queue.Letter) int { return int(a.Seq - b.Seq) })
	return all[:min(limit, len(all))], ctx.Err()
}
