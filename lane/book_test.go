package lane_test

import (
	"maps"
	"slices"
	"sync"
	"time"

	"edigw/breaker"
	"edigw/partner"
	"edigw/retry"
)

// book is the settings in force.
type book struct {
	mu sync.Mutex
	m  map[string]*partner.Partner
}

func (b *book) Partner(id string) (*partner.Partner, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.m[id]
	return p, ok
}

func (b *book) IDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.m))
}

func (b *book) put(p *partner.Partner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.m[p.ID] = p
}

func (b *book) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.m, id)
}

// standard is a partner whose file says nothing special.
func standard(id string, change ...func(*partner.Partner)) *partner.Partner {
	p := &partner.Partner{ID: id, Name: id, Stage: partner.StageLive, Protocol: "as2", Retry: retry.Default(), Breaker: breaker.Default(),
		AS2: &partner.AS2{Wait: time.Hour},
		Lane: partner.Lane{Concurrency: 1, Connections: 4, AfterDead: partner.DeadContinue, OnUnknown: retry.Resend,
			OnOpen: partner.OpenDeadLetter, HoldAfter: 3, ReplayRate: 5}}
	p.Retry.Jitter = retry.Jitter{Mode: retry.JitterNone}
	for _, f := range change {
		f(p)
	}
	return p
}

func hold(p *partner.Partner)     { p.Lane.OnOpen = partner.OpenHold }
func parallel(p *partner.Partner) { p.Lane.Concurrency = 4 }

func one(change ...func(*partner.Partner)) []*partner.Partner {
	return []*partner.Partner{standard("northwind", change...)}
}
