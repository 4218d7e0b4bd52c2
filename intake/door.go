package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"edigw/partner"
	"edigw/queue"
)

// Bounds of what a producer that loops may leave behind.
const (
	maxMarks      = 10_000 // keys remembered
	rowsPerMinute = 60     // refusals recorded for one partner in a minute
	alertFor      = time.Minute
	recordWithin  = 10 * time.Second
)

// door remembers for a short while what came to nothing, so that it is
// recorded once and not a thousand times.
type door struct {
	mu     sync.Mutex
	marks  map[mark]time.Time // until when it is not recorded again
	swept  time.Time
	guests map[string]*guest // by partner; unknown ones share ""
}

type mark struct{ partner, key, what string }

// guest is what the door remembers of one partner.
type guest struct {
	minute time.Time
	rows   int       // recorded in that minute
	alert  time.Time // until when repeats are expected
}

func newDoor() door { return door{marks: map[mark]time.Time{}, guests: map[string]*guest{}} }

func (d *door) guest(partner string) *guest {
	g := d.guests[partner]
	if g == nil {
		g = &guest{}
		d.guests[partner] = g
	}
	return g
}

// alert notes that a document of the partner came to nothing new.
func (d *door) alert(partner string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guest(partner).alert = now.Add(alertFor)
}

// wary reports whether that was a moment ago.
func (d *door) wary(partner string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.guests[partner]
	return g != nil && now.Before(g.alert) && !now.Add(alertFor).Before(g.alert)
}

// first reports whether something is to be recorded: not if the same was
// within the last span, nor if the partner has had its share of this minute.
func (d *door) first(partner, key, what string, span time.Duration, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := mark{partner, key, what}
	if until, ok := d.marks[m]; ok && now.Before(until) && !now.Add(span).Before(until) {
		return false
	}
	g := d.guest(partner)
	if minute := now.Truncate(time.Minute); !minute.Equal(g.minute) {
		g.minute, g.rows = minute, 0
	}
	if g.rows >= rowsPerMinute {
		return false
	}
	if len(d.marks) >= maxMarks && !d.sweep(now) {
		return false
	}
	g.rows++
	d.marks[m] = now.Add(span)
	return true
}

// sweep forgets what is over and reports whether there is room again.
func (d *door) sweep(now time.Time) bool {
	if now.Sub(d.swept).Abs() < time.Second {
		return false
	}
	d.swept = now
	for m, until := range d.marks {
		if !now.Before(until) {
			delete(d.marks, m)
		}
	}
	return len(d.marks) < maxMarks
}

// refused records a refusal and tells the log. That it cannot be recorded
// changes nothing for the caller.
func (a *arrival) refused(ctx context.Context, no *Refusal) {
	in, now := a.in, a.in.Now()
	if a.r.check() != nil {
		a.key, a.r.Key, a.r.CorrelationID = "", "", "" // cannot be stored as they are
	}
	guest := a.r.Partner
	if a.partner == nil {
		guest = ""
	} else if no.Slug == KeyReused || no.Slug == Backlog {
		in.door.alert(guest, now)
	}
	once := slugs[no.Slug].once
	if once == 0 || !partner.ValidID(a.r.Partner) || !in.door.first(guest, a.key, string(no.Slug), once, now) {
		a.told(slog.LevelDebug, no)
		return
	}
	a.told(slog.LevelWarn, no)
	id, err := queue.NewID(now, in.Random)
	if err == nil {
		m, e := a.refusedMessage(id, no, now)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
		defer cancel()
		if err = in.Store.Record(ctx, &queue.Result{Message: &m, Events: []queue.Event{e}}); err == nil {
			no.Message = id
			if a.partner != nil {
				in.Count(m)
			}
			return
		}
	}
	in.Log.Error("a refusal could not be recorded", keyPartner, a.r.Partner, keySlug, no.Slug, keyErr, err)
}

func (a *arrival) told(l slog.Level, no *Refusal) {
	a.in.Log.Log(context.Background(), l, "document refused", keyPartner, a.r.Partner, keySlug, no.Slug, keyDetail, no.Detail,
		keySource, a.r.Source, keyCorrelation, a.r.CorrelationID)
}
