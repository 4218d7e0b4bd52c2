package demo

import (
	"context"
	"net/url"
	"sync"
	"time"

	"edigw/internal/apiclient"
)

// Bounds of following.
const (
	pollEvery  = 250 * time.Millisecond
	pollWindow = "200" // newest messages that are looked at
)

// The parts of the API's answers that the demo reads (interfaces.md §5).

type message struct {
	ID         string      `json:"id"`
	MessageID  string      `json:"message_id"`
	Partner    string      `json:"partner"`
	Direction  string      `json:"direction"`
	State      string      `json:"state"`
	Why        string      `json:"why"`
	NextAt     time.Time   `json:"next_at"`
	Detail     string      `json:"detail"`
	Uncertain  bool        `json:"uncertain"`
	Proof      string      `json:"proof"`
	Attempts   []attempt   `json:"attempts"`
	References []reference `json:"references"`
	FileName   string      `json:"file_name"`
	SHA256     string      `json:"sha256"`
	Source     string      `json:"source"`
	Letter     string      `json:"letter"`
	Letters    []letter    `json:"letters"`
	Timeline   []event     `json:"timeline"`
}

type attempt struct {
	N       int               `json:"n"`
	Class   string            `json:"class"`
	Status  int               `json:"status"`
	Detail  string            `json:"detail"`
	Headers map[string]string `json:"headers"`
}

type reference struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type event struct {
	At    time.Time         `json:"at"`
	Type  string            `json:"type"`
	Text  string            `json:"text"`
	Facts map[string]string `json:"facts"`
}

type letter struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	Partner   string `json:"partner"`
	Reason    string `json:"reason"`
	Status    string `json:"status"`
	ClosedAs  string `json:"closed_as"`
	Detail    string `json:"detail"`
	Outage    string `json:"outage"`
	Uncertain bool   `json:"uncertain"`
}

type outage struct {
	ID      string    `json:"id"`
	Partner string    `json:"partner"`
	Since   time.Time `json:"since"`
	Ended   time.Time `json:"ended"`
	Detail  string    `json:"detail"`
	Letters int       `json:"letters"`
}

type lane struct {
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	NextAt  time.Time `json:"next_at"`
	Waiting int       `json:"waiting"`
}

type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// view is what the API said last.
type view struct {
	messages map[string]message // by id, with timeline
	lanes    map[string]lane    // by partner
	outages  map[string]outage  // by id
}

// of gives the message that carries a document; ok is false until it was seen.
func (v view) of(d *document) (m message, ok bool) {
	if d == nil {
		return message{}, false
	}
	for _, m := range v.messages {
		if m.Partner == d.partner && m.SHA256 == d.sha256 {
			return m, true
		}
	}
	return message{}, false
}

// follower watches the gateway through its API, tells what is new and lets
// others wait for it.
type follower struct {
	client *apiclient.Client
	teller *teller

	mu    sync.Mutex
	now   view
	fresh chan struct{} // closed at the next poll
}

func newFollower(c *apiclient.Client, t *teller) *follower {
	return &follower{client: c, teller: t, fresh: make(chan struct{}),
		now: view{messages: map[string]message{}, lanes: map[string]lane{}, outages: map[string]outage{}}}
}

// run polls until ctx ends. An answer that fails is asked for again.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		f.poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll asks once and tells what changed since.
func (f *follower) poll(ctx context.Context) {
	var messages page[message]
	var lanes page[lane]
	var outages page[outage]
	recent := url.Values{"limit": {pollWindow}}
	if f.client.Get(ctx, "/messages", recent, &messages) != nil ||
		f.client.Get(ctx, "/partners", nil, &lanes) != nil ||
		f.client.Get(ctx, "/outages", nil, &outages) != nil {
		return
	}
	old := f.last()
	next := view{messages: map[string]message{}, lanes: map[string]lane{}, outages: map[string]outage{}}
	for i := len(messages.Items) - 1; i >= 0; i-- { // oldest first
		m := messages.Items[i]
		whole, known := old.messages[m.ID]
		if !known || !whole.same(m) {
			var now message
			if f.client.Get(ctx, "/messages/"+m.ID, nil, &now) == nil {
				f.teller.message(whole, now)
				whole, known = now, true
			}
		}
		if known {
			next.messages[m.ID] = whole
		}
	}
	for _, l := range lanes.Items {
		f.teller.lane(old.lanes[l.ID], l)
		next.lanes[l.ID] = l
	}
	for _, o := range outages.Items {
		f.teller.outage(old.outages[o.ID], o)
		next.outages[o.ID] = o
	}
	f.teller.flush()
	f.mu.Lock()
	f.now = next
	close(f.fresh)
	f.fresh = make(chan struct{})
	f.mu.Unlock()
}

// same reports whether nothing happened to a message.
func (m message) same(now message) bool {
	return m.State == now.State && m.NextAt.Equal(now.NextAt) && m.Letter == now.Letter && len(m.Attempts) == len(now.Attempts) &&
		m.Proof == now.Proof && m.Why == now.Why && m.Uncertain == now.Uncertain
}

// last gives the last view; nobody changes it.
func (f *follower) last() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// until waits until a view meets a condition, and gives it; false: ctx ended
// before.
func (f *follower) until(ctx context.Context, met func(view) bool) bool {
	for {
		f.mu.Lock()
		now, fresh := f.now, f.fresh
		f.mu.Unlock()
		if met(now) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-fresh:
		}
	}
}

// ledger reads everything that the store holds, whole messages, newest first.
func (f *follower) ledger(ctx context.Context) (view, error) {
	v := view{messages: map[string]message{}, lanes: map[string]lane{}, outages: map[string]outage{}}
	messages, err := all[message](ctx, f.client, "/messages")
	if err != nil {
		return v, err
	}
	for _, m := range messages {
		var whole message
		if err := f.client.Get(ctx, "/messages/"+m.ID, nil, &whole); err != nil {
			return v, err
		}
		v.messages[m.ID] = whole
	}
	outages, err := all[outage](ctx, f.client, "/outages")
	for _, o := range outages {
		v.outages[o.ID] = o
	}
	return v, err
}

// all reads every page of a list.
func all[T any](ctx context.Context, c *apiclient.Client, path string) ([]T, error) {
	var list []T
	for cursor := ""; ; {
		q := url.Values{"limit": {"500"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var p page[T]
		if err := c.Get(ctx, path, q, &p); err != nil {
			return nil, err
		}
		list = append(list, p.Items...)
		if cursor = p.Next; cursor == "" {
			return list, nil
		}
	}
}
