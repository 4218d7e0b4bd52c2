package demo

import (
	"slices"
	"strings"
	"sync"
)

// checklist is what a story must show. It is safe for concurrent use.
type checklist struct {
	mu   sync.Mutex
	open []string
	done []string
}

// expect puts facts on the list.
func (c *checklist) expect(facts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, facts...)
}

// seen ticks a fact off.
func (c *checklist) seen(fact string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.open, fact); i >= 0 {
		c.open = slices.Delete(c.open, i, i+1)
		c.done = append(c.done, fact)
	}
}

// missing are the facts that were not seen, joined; empty: the story came out
// right.
func (c *checklist) missing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.open, "; ")
}
