package alerts

import (
	"context"
	"time"

	"edigw/internal/instant"
	"edigw/internal/words"
	"edigw/queue"
)

// storeGrace is how long the store may fail before people are told past it.
const storeGrace = 15 * time.Second

// trouble notes that the store does not take what the pipeline wrote. People
// are told directly then: an alert about the store must not wait for the
// store (delivery.md §2.5).
type trouble struct {
	since time.Time
	told  time.Time
}

// failed notes a failure, and sends word past the store if it lasts.
func (s *Service) failed(ctx context.Context, err error, now time.Time) {
	t := &s.trouble
	if t.since.IsZero() || t.since.After(now) {
		t.since = now
	}
	s.Log.Error("the alert pipeline cannot go on; it tries again", keyErr, err, "since", t.since)
	pace, _ := s.pace()
	if now.Sub(t.since) < storeGrace || !t.told.IsZero() && now.Sub(t.told) < pace.Repeat {
		return
	}
	t.told = now
	in := Incident{Kind: KindStore, Stage: Running, News: NewsOpened, Opened: t.since, Detail: "The alert pipeline cannot read or write it: " + clip(clean(err.Error()), maxText)}
	text := compose(telling{in: in, now: now, base: s.Settings().Gateway().ConsoleURL(), zone: s.zone(), sev: Page})
	for _, n := range single("store", Route(s.Settings().Gateway()), text, now) {
		n.Severity = Page
		if to := s.senders[n.Channel]; to != nil {
			s.work.Go(func() { s.direct(ctx, to, n) })
		}
	}
}

// direct sends a notification that the store does not know, until the channel
// takes it.
func (s *Service) direct(ctx context.Context, to *sender, n Notification) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := to.send(ctx, n)
		s.counted(n.Channel, err == nil)
		if err == nil {
			return
		}
		s.Log.Error("nobody could be told of the store's trouble yet", keyChannel, n.Channel, keyErr, err)
		if !instant.Rest(ctx, wait) {
			return
		}
	}
}

// recovered gives the events of a trouble that is over.
func (s *Service) recovered(now time.Time) []queue.Event {
	t := s.trouble
	if t.since.IsZero() {
		return nil
	}
	if now.Sub(t.since) < storeGrace {
		return nil
	}
	text := "the store could not commit for " + words.Span(now.Sub(t.since))
	return []queue.Event{
		{At: t.since, Type: queue.EventStoreBroken, Text: text, Facts: map[string]string{"state": "failing"}},
		{At: now, Type: queue.EventStoreBroken, Text: "the store works again", Facts: map[string]string{"state": "ok"}},
	}
}
