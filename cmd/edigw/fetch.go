package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"

	"edigw/alerts"
	"edigw/as4"
	"edigw/lane/as4sender"
	"edigw/queue"
)

// newFetcher wires what fetches the messages that AS4 partners hold for us.
func (g *gateway) newFetcher() (*as4sender.Fetcher, error) {
	return as4sender.NewFetcher(as4sender.FetcherOptions{
		Settings: g.settings.Current, Sender: g.senderAS4, Taker: taker{g}, Ledger: g.store, Held: g.notAsked, Told: g.toldOfFetching,
		Chance: rand.Float64, Now: g.now, Log: g.log,
	})
}

// taker is the receiver of AS4 as the fetcher sees it, which is made before it.
type taker struct{ g *gateway }

// TakePulled meets as4sender.Taker.
func (t taker) TakePulled(ctx context.Context, partner string, p as4.PMode, header http.Header, body io.Reader) (as4.PullResult, error) {
	return t.g.receiverAS4.TakePulled(ctx, partner, p, header, body)
}

// notAsked reports whether nothing is to be asked of a partner now: an operator
// stopped him, it is his maintenance, or our own network is cut.
func (g *gateway) notAsked(partner string) bool {
	switch g.lanes.View(partner).State {
	case queue.LaneStopped, queue.LaneBlackout, queue.LaneIsolated:
		return true
	}
	return false
}

// toldOfFetching gives the partners of whom people last heard that their
// messages cannot be fetched.
func (g *gateway) toldOfFetching(ctx context.Context) ([]string, error) {
	active, err := g.store.ActiveIncidents(ctx)
	if err != nil {
		return nil, err
	}
	var told []string
	for _, in := range active {
		if in.Kind == alerts.KindFetch && in.Stage != alerts.Over {
			told = append(told, in.Partner)
		}
	}
	return told, nil
}
