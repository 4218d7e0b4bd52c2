package as4sender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"edigw/internal/exchange"
	"edigw/internal/repeats"
	"edigw/partner"
	"edigw/queue"
)

// Bounds of fetching.
const (
	mostAtOnce  = 16               // pull requests in the whole gateway,
	mostFailing = 8                // and so many more to partners whose last one failed
	inARow      = 100              // messages of one partner before others have their turn
	heldFor     = 30 * time.Second // between two looks whether a partner may be asked again
	longSleep   = 30 * time.Second // between two looks at the clock
	cutGrace    = 5 * time.Second  // for requests that were cut
)

// Fetcher fetches the messages that partners hold for us (ebMS 3.0 Core §2.2.3,
// One-Way/Pull, as the receiver): it sends each of them a pull request as often as
// as4.fetch says, and after a message the next one at once. One goroutine knows
// whose turn is next; a partner who is not asked costs nothing. Those whose last
// request failed have places of their own: who is silent until a time-out holds up
// nobody else.
type Fetcher struct {
	FetcherOptions
	metrics *fetchMetrics
	repeats repeats.Counter // of failures, by partner
	ask     func(ctx context.Context, id string) answer

	mu       sync.Mutex
	partners map[string]*fetched
	well     lineup
	failing  lineup // of those whose last request failed
	started  bool
	stopping bool

	ctx   context.Context // of pull requests
	cut   context.CancelCauseFunc
	poke  chan struct{}
	ended chan struct{} // the loop did
	work  sync.WaitGroup
}

// Ledger takes events.
type Ledger interface {
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// FetcherOptions are what a Fetcher needs; all are required.
type FetcherOptions struct {
	Settings func() *partner.Snapshot // in force now; must not block
	Sender   *Sender
	Taker    Taker
	Ledger   Ledger
	Held     func(partner string) bool // whether nothing may be asked of a partner now; must not block
	Chance   func() float64            // in [0,1), for jitter; safe for concurrent use
	Now      func() time.Time
	Log      *slog.Logger
	// Told gives the partners of whom people last heard that fetching fails, asked
	// once at the start: the end of that is told, too.
	Told func(context.Context) ([]string, error)
}

// fetched is a partner whose messages are fetched; guarded by Fetcher.mu.
type fetched struct {
	id       string
	due      time.Time
	line     *lineup // where he stands; nil: nowhere
	index    int     // place in its agenda
	asked    bool    // right now
	gone     bool    // nothing is fetched from him any more
	again    bool    // his settings changed while he was asked
	failures int     // in a row
	since    time.Time
	last     answer    // of the newest failure
	told     time.Time // when it was told that it fails; zero: it was not, or the end was told, too
}

// NewFetcher gives a Fetcher; it starts nothing.
func NewFetcher(o FetcherOptions) (*Fetcher, error) {
	if o.Settings == nil || o.Sender == nil || o.Taker == nil || o.Ledger == nil || o.Held == nil || o.Told == nil || o.Chance == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("as4sender: an option of the fetcher is missing")
	}
	f := &Fetcher{
		FetcherOptions: o, metrics: newFetchMetrics(), partners: map[string]*fetched{}, well: lineup{most: mostAtOnce}, failing: lineup{most: mostFailing},
		poke: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	f.ask = func(ctx context.Context, id string) answer { return f.Sender.pull(ctx, id, f.Taker) }
	return f, nil
}

// Start begins to fetch; everybody is asked soon.
func (f *Fetcher) Start(ctx context.Context) error {
	told, err := f.Told(ctx)
	if err != nil {
		return fmt.Errorf("as4sender: reading whose messages could not be fetched: %w", err)
	}
	f.mu.Lock()
	if f.started || f.stopping {
		f.mu.Unlock()
		return errors.New("as4sender: the fetcher was started before")
	}
	f.ctx, f.cut = context.WithCancelCause(context.WithoutCancel(ctx))
	f.started = true
	for _, id := range told {
		f.partners[id] = &fetched{id: id, told: f.Now()}
	}
	f.mu.Unlock()
	if err := f.Reload(ctx, partner.Change{}); err != nil {
		f.cut(nil)
		close(f.ended)
		return err
	}
	go f.loop()
	return nil
}

// Stop asks nobody any more, lets running requests end until ctx does, then cuts
// them; what was not taken stays with the partners. It is idempotent, safe before
// Start, and returns ctx's error if it had to cut.
func (f *Fetcher) Stop(ctx context.Context) error {
	f.mu.Lock()
	started := f.started
	f.stopping = true
	f.mu.Unlock()
	if !started {
		return nil
	}
	f.poked()
	<-f.ended
	over := make(chan struct{})
	go func() { f.work.Wait(); close(over) }()
	defer f.cut(exchange.ErrStopping)
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	f.cut(exchange.ErrStopping)
	t := time.NewTimer(cutGrace)
	defer t.Stop()
	select {
	case <-over:
	case <-t.C:
		f.Log.Warn("pull requests did not end when cut", "after", cutGrace)
	}
	return ctx.Err()
}

// fetches reports whether messages of a partner are fetched.
func fetches(p *partner.Partner) bool {
	return p.AS4 != nil && p.AS4.Fetch != nil && !p.Misconfigured && p.Stage != partner.StageSetup && p.Stage != partner.StageRetired
}

// Reload takes changed settings into use: who is new, or changed, is asked at
// once, and who is gone no more. It is called after the new snapshot is in force;
// if the ledger fails it may be called again with the same change.
func (f *Fetcher) Reload(ctx context.Context, c partner.Change) error {
	snapshot := f.Settings()
	changed := map[string]bool{}
	for _, p := range c.Partners {
		changed[p.ID] = true
	}
	wanted := map[string]bool{}
	now := f.Now()
	f.mu.Lock()
	for _, id := range snapshot.IDs() {
		p, ok := snapshot.Partner(id)
		if !ok || !fetches(p) {
			continue
		}
		wanted[id] = true
		known := f.partners[id]
		if known == nil {
			known = &fetched{id: id}
			f.partners[id] = known
		}
		fresh := known.line == nil && !known.asked || known.gone
		if known.gone = false; fresh || changed[id] || c.Keys && known.failures > 0 {
			known.failures, known.again = 0, true
			f.plan(known, now)
		}
	}
	var over []*fetched
	for id, p := range f.partners {
		if !wanted[id] {
			f.drop(p)
			if !p.told.IsZero() {
				over = append(over, p)
			}
		}
	}
	f.mu.Unlock()
	f.poked()
	return f.forget(ctx, over)
}

// plan has a partner stand in line, unless he is being asked: the end of that
// does it then. The caller holds f.mu.
func (f *Fetcher) plan(p *fetched, due time.Time) {
	p.leave()
	p.due = due
	switch {
	case p.asked:
	case p.failures > 0:
		f.failing.add(p)
	default:
		f.well.add(p)
	}
}

// drop forgets a partner, if he is being asked at the end of that. The caller
// holds f.mu.
func (f *Fetcher) drop(p *fetched) {
	p.gone = true
	p.leave()
	if !p.asked {
		delete(f.partners, p.id)
	}
}

// poked makes the loop look again.
func (f *Fetcher) poked() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

func (f *Fetcher) loop() {
	defer close(f.ended)
	sleep := time.NewTimer(0)
	defer sleep.Stop()
	for {
		select {
		case <-sleep.C:
		case <-f.poke:
		}
		next, more := f.round()
		if !more {
			return
		}
		sleep.Reset(next)
	}
}

// round begins what is due and there is room for, and says how long to sleep.
func (f *Fetcher) round() (sleep time.Duration, more bool) {
	now := f.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	sleep = longSleep
	for _, line := range []*lineup{&f.well, &f.failing} {
		for !f.stopping && line.waits() && !line.agenda[0].due.After(now) {
			p := line.next()
			p.asked, p.again = true, false
			f.work.Go(func() { f.turn(p, line) })
		}
		if line.waits() { // else who ends wakes the loop
			sleep = min(sleep, max(0, line.agenda[0].due.Sub(now)))
		}
	}
	return sleep, !f.stopping
}

// turn asks one partner until nothing waits there, it fails, or others must have
// their turn. line is where he stood for it.
func (f *Fetcher) turn(p *fetched, line *lineup) {
	var last answer
	held := f.Held(p.id)
	for n := 0; n < inARow && !held && f.ctx.Err() == nil && (n == 0 || !f.leaves(p)); n++ {
		last = f.shielded(p.id)
		if f.ctx.Err() != nil {
			break // what ended it is no fault of theirs
		}
		f.metrics.count(p.id, last)
		f.note(p, last)
		if last.got != gotMessage {
			break
		}
	}
	f.mu.Lock()
	line.running--
	if p.asked = false; p.gone {
		f.drop(p)
	} else {
		f.plan(p, f.Now().Add(f.pause(p, last, held)))
	}
	f.mu.Unlock()
	f.poked()
}

// leaves reports whether a partner is not to be asked further in this turn.
func (f *Fetcher) leaves(p *fetched) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopping || p.gone
}

// pause is how long a partner is left alone now. The caller holds f.mu.
func (f *Fetcher) pause(p *fetched, last answer, held bool) time.Duration {
	settings, ok := f.Settings().Partner(p.id)
	if !ok || settings.AS4 == nil || settings.AS4.Fetch == nil {
		return heldFor // the reload that took it away is on its way here
	}
	every := settings.AS4.Fetch.Every
	switch {
	case held:
		return min(every, heldFor)
	case p.again || last.got == gotMessage: // a hundred of them, and there may be more
		return 0
	case last.got == gotFailure && last.hasAfter:
		return settings.Retry.DelayAfter(max(p.failures, 1), last.after, f.Chance())
	case last.got == gotFailure:
		return settings.Retry.Delay(max(p.failures, 1), f.Chance())
	}
	return every
}

// shielded asks once. A panic is a failure of ours, with this partner.
func (f *Fetcher) shielded(id string) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			f.Log.Error("defect: fetching panicked; only this partner is delayed", "partner", id, "panic", v, "stack", string(debug.Stack()))
			a = answer{got: gotFailure, ours: true, why: fmt.Sprintf("edigw has a defect: %.200v", v), do: "report it, with the log"}
		}
	}()
	return f.ask(f.ctx, id)
}
