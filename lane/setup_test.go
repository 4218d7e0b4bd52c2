package lane_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/lane"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/storetest"
)

// epoch is when fake time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// gateway is a scheduler in a bubble with everything around it.
type gateway struct {
	t      *testing.T
	store  *storetest.Memory
	dead   *fragile // the store as the running process sees it
	wire   *wire
	book   *book
	s      *lane.Scheduler
	tune   func(*lane.Options) // of the next start
	lives  int
	refuse func(*queue.Result) error // what the store refuses, from the next start on
	ids    int
}

// inBubble runs a test in fake time with a started gateway.
func inBubble(t *testing.T, w *wire, partners []*partner.Partner, test func(*testing.T, *gateway)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{t: t, store: storetest.NewMemory(), wire: w, book: &book{m: map[string]*partner.Partner{}}}
		for _, p := range partners {
			g.book.put(p)
		}
		g.start()
		defer g.stop()
		test(t, g)
	})
}

func (g *gateway) options() lane.Options {
	g.lives++
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("EDIGW_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	g.dead = &fragile{Memory: g.store, refuse: g.refuse}
	o := lane.Options{Store: g.dead, Partners: g.book, Senders: map[lane.Route]lane.Sender{{Protocol: "as2", Kind: queue.KindDocument}: g.wire},
		Incarnation: fmt.Sprintf("life-%d", g.lives), Now: time.Now, Log: log, Chance: func() float64 { return 0.5 }}
	if g.tune != nil {
		g.tune(&o)
	}
	return o
}

// restart stops the gateway and starts it with other options.
func (g *gateway) restart(tune func(*lane.Options)) {
	g.t.Helper()
	g.stop()
	g.tune = tune
	g.start()
}

func (g *gateway) start() {
	g.t.Helper()
	s, err := lane.New(g.options())
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.Start(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	g.s = s
	synctest.Wait()
}

func (g *gateway) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.s.Stop(ctx)
}

// pass lets time go by.
func (g *gateway) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of the bubble
	synctest.Wait()
}

// message makes a document that is about to be accepted.
func (g *gateway) message(partner, key string, change ...func(*queue.Message)) queue.Message {
	g.ids++
	m := queue.Message{ID: fmt.Sprintf("m%06d", g.ids), Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2",
		Key: key, KeyGiven: true, Payload: queue.Payload{SHA256: key, Size: int64(len(key))}}
	for _, f := range change {
		f(&m)
	}
	return m
}

// accept puts a document in line and gives it as it is stored.
func (g *gateway) accept(partner, key string, change ...func(*queue.Message)) queue.Message {
	g.t.Helper()
	m := g.message(partner, key, change...)
	ad, err := g.store.Accept(g.t.Context(), queue.Arrival{Message: m, Identity: queue.Identity{From: "A", To: partner, Domain: "edi.acme.example", Brackets: true},
		Now: time.Now(), LetterID: "letter-" + m.ID})
	if err != nil {
		g.t.Fatal(err)
	}
	g.s.Wake(ad.Message.Lane)
	return ad.Message
}

func (g *gateway) acceptAll(partner string, keys ...string) (list []queue.Message) {
	for _, k := range keys {
		list = append(list, g.accept(partner, k))
	}
	return list
}

// get reads a message as it is stored now.
func (g *gateway) get(m queue.Message) queue.Message {
	g.t.Helper()
	m, err := g.store.Message(g.t.Context(), m.ID)
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

func (g *gateway) wantState(m queue.Message, want queue.State) queue.Message {
	g.t.Helper()
	now := g.get(m)
	if now.State != want {
		g.t.Errorf("message %s is %s (%s %s), want %s", m.Key, now.State, now.Why, now.Detail, want)
	}
	return now
}

// letter is the newest letter of a message.
func (g *gateway) letter(m queue.Message) queue.Letter {
	g.t.Helper()
	l, err := g.store.Letter(g.t.Context(), g.get(m).Letter)
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

func (g *gateway) wantLetter(m queue.Message, reason fault.Reason) queue.Letter {
	g.t.Helper()
	g.wantState(m, queue.Dead)
	l := g.letter(m)
	if l.Reason != reason {
		g.t.Errorf("letter of %s is %s, want %s", m.Key, l.Reason, reason)
	}
	return l
}

func (g *gateway) wantLane(partner string, want queue.LaneState) queue.LaneView {
	g.t.Helper()
	v := g.s.View(partner)
	if v.State != want {
		g.t.Errorf("lane %s is %s, want %s", partner, v.State, want)
	}
	return v
}

// events counts the events of a type, of one message or lane if given.
func (g *gateway) events(t queue.EventType) (found []queue.Event) {
	all, err := g.store.Events(g.t.Context(), 0, 1_000_000)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == t {
			found = append(found, e)
		}
	}
	return found
}

func (g *gateway) wantEvents(t queue.EventType, n int) []queue.Event {
	g.t.Helper()
	found := g.events(t)
	if len(found) != n {
		var texts []string
		for _, e := range found {
			texts = append(texts, e.Text)
		}
		g.t.Errorf("%d events %s, want %d: %s", len(found), t, n, strings.Join(texts, "; "))
	}
	return found
}

// replay does what package dlq does for one letter.
func (g *gateway) replay(m queue.Message) {
	g.t.Helper()
	l := g.letter(m)
	res, err := queue.Next(g.get(m), queue.Input{Trigger: queue.OnReplay, At: time.Now(), Letter: &l, Actor: fault.Actor{Name: "kim"}}, queue.Rules{})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.store.Record(g.t.Context(), &res); err != nil {
		g.t.Fatal(err)
	}
	g.s.LettersChanged(m.Partner)
}
