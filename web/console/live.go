package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"edigw/queue"
)

// Bounds of the live streams.
const (
	liveEvery   = 400 * time.Millisecond // between looks at the ledger, whoever watches
	liveBeat    = 10 * time.Second       // between signs of life on a quiet stream
	liveStreams = 500                    // at once
	livePerUser = 20
	liveKept    = 1024 // events remembered for topics
	liveRead    = 500  // rows of the ledger read at once
)

// live tells open pages that something which they show has changed. It reads
// the ledger, and only while somebody watches.
type live struct {
	reading sync.Mutex // held by whoever reads the ledger
	mu      sync.Mutex // for what follows
	cursor  int64      // last event read; 0: none yet
	read    time.Time  // when it was
	changes []change   // the newest, oldest first
	users   map[string]int
	streams int
	stopped bool
	ended   chan struct{}
}

// change is an event as topics know it.
type change struct {
	id                       int64
	partner, message, outage string
}

func newLive() live { return live{users: map[string]int{}, ended: make(chan struct{})} }

// stop ends every stream.
func (l *live) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		close(l.ended)
	}
}

func (l *live) enter(user string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.streams >= liveStreams || l.users[user] >= livePerUser {
		return false
	}
	l.streams++
	l.users[user]++
	return true
}

func (l *live) leave(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
	if l.users[user]--; l.users[user] == 0 {
		delete(l.users, user)
	}
}

// Events reads the ledger in commit order; every store does.
type Events interface {
	Events(ctx context.Context, after int64, limit int) ([]queue.Event, error)
	LastEvent(ctx context.Context) (int64, error)
}

// look reads what is new in the ledger unless somebody just did or does, and
// gives the newest event's id. It holds no lock while the store answers.
func (l *live) look(ctx context.Context, from Events, now time.Time) (int64, error) {
	cursor, fresh := l.known(now)
	if fresh || !l.reading.TryLock() {
		return cursor, nil
	}
	defer l.reading.Unlock()
	last, err := from.LastEvent(ctx)
	if err != nil {
		return 0, err
	}
	var events []queue.Event
	far := cursor == 0 || last-cursor > liveRead // nobody looked for long: everything counts as changed
	if !far && last != cursor {
		if events, err = from.Events(ctx, cursor, liveRead); err != nil {
			return 0, err
		}
	}
	return l.note(now, last, far, events), nil
}

// known is the newest event that was read, and whether that was just now.
func (l *live) known(now time.Time) (cursor int64, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := now.Sub(l.read)
	return l.cursor, age >= 0 && age < liveEvery && l.cursor > 0
}

// note remembers what was read.
func (l *live) note(now time.Time, last int64, far bool, events []queue.Event) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = now
	if far {
		l.cursor, l.changes = last, nil
	}
	for _, e := range events {
		l.cursor = e.ID
		l.changes = append(l.changes, change{e.ID, e.Partner, e.Message, e.Outage})
	}
	if n := len(l.changes); n > liveKept {
		l.changes = append([]change(nil), l.changes[n-liveKept:]...)
	}
	return l.cursor
}

// concerns reports whether an event after seen is of a topic: "partner:ID",
// "message:ID", "outage:ID", or empty for any.
func (l *live) concerns(topic string, seen int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cursor <= seen {
		return false
	}
	kind, id, some := strings.Cut(topic, ":")
	if !some || len(l.changes) == 0 || l.changes[0].id > seen+1 { // it may lie before what is remembered
		return true
	}
	for i := len(l.changes) - 1; i >= 0 && l.changes[i].id > seen; i-- {
		c := l.changes[i]
		if kind == "partner" && c.partner == id || kind == "message" && c.message == id || kind == "outage" && c.outage == id {
			return true
		}
	}
	return false
}

// stream is the live stream of a page: a line whenever it should look again.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	v, err := c.visit(w, r)
	if err != nil {
		http.Error(w, "signed out", http.StatusUnauthorized)
		return
	}
	if err := v.parameters([]string{"topic"}); err != nil {
		c.fail(v, err)
		return
	}
	if !c.live.enter(v.user.Name) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer c.live.leave(v.user.Name)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	c.follow(v, v.query.Get("topic"))
}

// follow writes to a stream until the page, the session or the gateway ends.
func (c *Console) follow(v *visit, topic string) {
	ctx, out := v.r.Context(), http.NewResponseController(v.w)
	tick, beat := time.NewTicker(liveEvery), time.NewTicker(liveBeat)
	defer tick.Stop()
	defer beat.Stop()
	say := func(event string) bool {
		_, err := fmt.Fprintf(v.w, "event: %s\ndata: \n\n", event)
		return err == nil && out.Flush() == nil
	}
	seen, err := c.live.look(ctx, c.Events, c.Now())
	if err != nil || !say("here") {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.live.ended:
			return
		case <-beat.C: // also on a busy stream: a session that was ended sees no more
			if _, _, err := c.Sessions.Session(ctx, c.secret(v.r)); err != nil || !say("here") {
				return
			}
			continue
		case <-tick.C:
		}
		now, err := c.live.look(ctx, c.Events, c.Now())
		if err != nil {
			return // the page asks again, and says that it is not up to date
		}
		if now != seen && c.live.concerns(topic, seen) && !say("change") {
			return
		}
		seen = now
	}
}
