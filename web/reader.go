package web

import (
	"context"
	"slices"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// Reader reads what is shown: rows of the store, and over them what the lanes
// and the settings know. API and console show the same because both read here.
type Reader struct {
	Ledger   Ledger
	Lanes    Lanes
	Fetching Fetching // nil: nothing is fetched from anybody
	Settings func() *partner.Snapshot
	Now      func() time.Time
}

// Seen is a message as it is shown.
type Seen struct {
	Message queue.Message
	Shown   queue.Shown
}

// mostPages bounds how many pages of the store one page of an answer reads.
const mostPages = 10

// Messages lists messages by the state in which they are shown: whether one is
// queued or waits for its lane is not the store's to know. A page may be short
// though more follow.
func (r Reader) Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) (found []Seen, next string, err error) {
	want := f.States
	lined := func(s queue.State) bool { return s.Lined() }
	if slices.ContainsFunc(want, lined) {
		f.States = append(slices.DeleteFunc(slices.Clone(want), lined), queue.Queued, queue.Waiting)
	}
	limit := p.Limit
	for range mostPages {
		var all []queue.Message
		if all, next, err = r.Ledger.Messages(ctx, f, p); err != nil {
			return nil, "", err
		}
		heads := map[string]string{}
		for _, m := range all {
			s, err := r.shown(ctx, m, heads)
			if err != nil {
				return nil, "", err
			}
			if len(want) == 0 || slices.Contains(want, s.State) {
				found = append(found, Seen{m, s})
			}
		}
		p.Cursor, p.Limit = next, limit-len(found)
		if next == "" || p.Limit == 0 {
			break
		}
	}
	return found, next, nil
}

// Shown says how one message is shown.
func (r Reader) Shown(ctx context.Context, m queue.Message) (queue.Shown, error) {
	return r.shown(ctx, m, map[string]string{})
}

// shown lays over a message what its lane knows. heads remembers which message
// is the first in line of each lane.
func (r Reader) shown(ctx context.Context, m queue.Message, heads map[string]string) (queue.Shown, error) {
	if !m.State.Lined() {
		return queue.Shown{State: m.State, Why: m.Why, Next: m.NextAt}, nil
	}
	head, known := heads[m.Lane]
	if !known {
		first, _, err := r.Ledger.Ready(ctx, m.Lane, true, r.Now(), 1)
		if err != nil {
			return queue.Shown{}, err
		}
		if len(first) > 0 {
			head = first[0].ID
		}
		heads[m.Lane] = head
	}
	position := 1 // somewhere behind the first
	if head == m.ID {
		position = 0
	}
	return r.Lanes.Overlay(m, position), nil
}

// Depths sums what the lanes of each partner have, by partner. What waits is
// documents; letters may be of any lane.
func (r Reader) Depths(ctx context.Context) (map[string]queue.Depth, error) {
	all, err := r.Ledger.Depths(ctx)
	return byPartner(all), err
}

// Depth is Depths for one partner; some is false if there is nothing.
func (r Reader) Depth(ctx context.Context, partner string) (d queue.Depth, some bool, err error) {
	all, err := r.Ledger.PartnerDepths(ctx, partner)
	d, some = byPartner(all)[partner]
	return d, some, err
}

func byPartner(all []queue.Depth) map[string]queue.Depth {
	sum := map[string]queue.Depth{}
	for _, d := range all {
		s, had := sum[d.Partner]
		if !had {
			s = queue.Depth{Partner: d.Partner, Letters: map[fault.Reason]int{}}
		}
		if d.Lane == d.Partner {
			s.Lined, s.Acks, s.Oldest, s.First = d.Lined, d.Acks, d.Oldest, d.First
		}
		if !d.OldestL.IsZero() && (s.OldestL.IsZero() || d.OldestL.Before(s.OldestL)) {
			s.OldestL = d.OldestL
		}
		for reason, n := range d.Letters {
			s.Letters[reason] += n
		}
		sum[d.Partner] = s
	}
	return sum
}

// Partners lists the ids of all partners, also of those whose settings file is
// gone while they have documents, in order.
func (r Reader) Partners(depths map[string]queue.Depth) []string {
	settings := r.Settings()
	ids := slices.Clone(settings.IDs())
	for id := range depths {
		if _, known := settings.Partner(id); !known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
