package dlq

import "time"

// lag is how much of a rate may be made up for: what one slow round of the
// runner missed.
const lag = 250 * time.Millisecond

// pace spreads the replays of each partner by its replay_rate, over all bulk
// replays together. Only Run uses it.
type pace struct {
	next map[string]time.Time // partners that were served of late
}

// due is when the partner's next replay may start.
func (p *pace) due(partner string) time.Time { return p.next[partner] }

// start notes one replay. A rate of 0 is no limit.
func (p *pace) start(partner string, rate float64, now time.Time) {
	if rate <= 0 {
		delete(p.next, partner)
		return
	}
	from, served := p.next[partner]
	switch least := now.Add(-lag); {
	case !served:
		from = now
	case from.Before(least):
		from = least
	}
	p.next[partner] = from.Add(time.Duration(float64(time.Second) / rate))
}

// forget drops partners whose turn has come long ago.
func (p *pace) forget(now time.Time) {
	for id, t := range p.next {
		if now.Sub(t) > time.Minute {
			delete(p.next, id)
		}
	}
}
