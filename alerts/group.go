package alerts

import (
	"maps"
	"slices"
	"time"

	"edigw/queue"
)

// Bounds of what an incident keeps of an event.
const (
	maxFacts = 16
	maxText  = 300
)

// Book is what the pipeline knows: how far it read, and the active incidents.
// It is a value.
type Book struct {
	State     State
	Incidents []Incident // active ones, oldest first
}

// Pace is how often people may be told.
type Pace struct {
	Wait   time.Duration // how long events of one cause are gathered
	Repeat time.Duration // an incident is told again at most this often
}

// Fold reads events into a book. It is pure: nothing in b is altered. touched
// are the keys of incidents that must be looked at again. New incidents have no
// ID yet. The cursor of the result is the last event's number.
func Fold(b Book, events []queue.Event, p Pace, now time.Time) (Book, map[string]bool) {
	f := folding{book: b, pace: p, now: now, at: map[string]int{}, touched: map[string]bool{}}
	f.book.Incidents = slices.Clone(b.Incidents)
	for i, in := range f.book.Incidents {
		f.at[in.Key] = i
	}
	for _, e := range events {
		f.event(e)
	}
	return f.book, f.touched
}

type folding struct {
	book    Book
	pace    Pace
	now     time.Time
	at      map[string]int // index by key
	touched map[string]bool
}

func (f *folding) event(e queue.Event) {
	f.book.State = f.book.State.read(e)
	for _, r := range rules[e.Type] {
		if r.fits != nil && !r.fits(e) {
			continue
		}
		if r.opens {
			f.gather(r, e)
			continue
		}
		f.touch(r, e)
	}
}

// gather puts an event into its incident, opening it if there is none.
func (f *folding) gather(r rule, e queue.Event) {
	key := r.key(e)
	i, ok := f.at[key]
	if !ok {
		i = len(f.book.Incidents)
		f.at[key] = i
		f.book.Incidents = append(f.book.Incidents, f.open(r, e, key))
	}
	in := f.book.Incidents[i]
	in.Events++
	in.Changed = e.At
	in = in.note(e)
	if in.Stage == Over { // before its end was told
		in.Stage, in.Over = Running, time.Time{}
		if in.News == NewsOver {
			in.News = NewsNone
		}
	}
	switch {
	case in.Told == 0:
		in.News = NewsOpened
	case in.News == NewsNone || in.News == NewsReminder:
		in.News, in.Due = NewsChanged, in.LastTold.Add(f.pace.Repeat)
		if in.Due.Before(f.now.Add(f.pace.Wait)) {
			in.Due = f.now.Add(f.pace.Wait)
		}
	}
	f.book.Incidents[i] = in
	f.touched[key] = true
}

func (f *folding) open(r rule, e queue.Event, key string) Incident {
	in := Incident{Key: key, Kind: r.kind, Partner: e.Partner, Lane: e.Lane, Severity: manners[r.kind].severity,
		Stage: Running, News: NewsOpened, Opened: e.At, Due: f.now.Add(f.pace.Wait)}
	if r.kind == KindOutage {
		in.ID = e.Outage
	}
	if r.part != nil {
		in.Cause = r.part(e)
	}
	if r.kind.ofGateway() { // its event may name the partner by which it was noticed
		in.Partner, in.Lane = "", ""
	}
	return in
}

func (k Kind) ofGateway() bool { return k == KindIsolated || k == KindStore || k == KindChannel }

// touch makes open incidents look again, and tells ends that only an event
// knows.
func (f *folding) touch(r rule, e queue.Event) {
	if r.part != nil {
		if i, ok := f.at[r.key(e)]; ok {
			f.touchOne(i, r, e)
		}
		return
	}
	for i, in := range f.book.Incidents {
		if in.Kind == r.kind && r.touches(e, in.Key) {
			f.touchOne(i, r, e)
		}
	}
	if e.Type == queue.EventReconnected {
		f.grace()
	}
}

func (f *folding) touchOne(i int, r rule, e queue.Event) {
	in := f.book.Incidents[i]
	switch {
	case e.Type == queue.EventLetterClosed && (r.kind == KindOutage || r.kind == KindLetters && in.reason() == e.Facts["reason"]):
		in = in.count(e.Facts["as"])
	case r.kind == KindStore, r.kind == KindChannel, r.kind == KindFetch,
		r.kind == KindSettings && in.Partner == "" && e.Partner == "" && e.Facts["bad"] != "true":
		in = in.over(e.At)
	}
	f.book.Incidents[i] = in
	f.touched[in.Key] = true
}

// grace gives lanes the time to take back what our own network did to them
// before anybody is told of it.
func (f *folding) grace() {
	for i, in := range f.book.Incidents {
		if in.Told == 0 && (in.Kind == KindOutage || in.Kind == KindLetters || in.Kind == KindDeadline) {
			in.Due = f.now.Add(f.pace.Wait)
			f.book.Incidents[i] = in
		}
	}
}

// note keeps what an event says.
func (in Incident) note(e queue.Event) Incident {
	if e.Text != "" {
		in.Detail = clip(clean(e.Text), maxText)
	}
	if len(e.Facts) > 0 {
		keys := slices.Sorted(maps.Keys(e.Facts))
		in.Facts = make(map[string]string, len(keys))
		for _, k := range keys[:min(len(keys), maxFacts)] {
			in.Facts[k] = clip(clean(e.Facts[k]), maxText)
		}
	}
	return in
}

// over ends the condition.
func (in Incident) over(at time.Time) Incident {
	if in.Stage == Over {
		return in
	}
	in.Stage, in.Over = Over, at
	return in
}

// reason is the reason of the letters of the incident.
func (in Incident) reason() string {
	if r := in.Facts["reason"]; r != "" {
		return r
	}
	return in.Cause
}
