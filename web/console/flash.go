package console

import (
	"sync"
	"time"
)

// flash is what an action has to say on the next page.
type flash struct {
	Text string
	Undo *button // while it can be taken back
	Link *button
	Bad  bool

	at time.Time
}

// Bounds of what is kept until a page shows it.
const (
	flashLife = time.Minute
	mostFlash = 10_000
)

// flashes keeps what actions said until a page of the same session shows it.
type flashes struct {
	mu  sync.Mutex
	all map[string]flash // by session
}

func (f *flashes) put(session string, said flash, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]flash{}
	}
	if len(f.all) >= mostFlash {
		for key, old := range f.all { // nobody came for them
			if now.Sub(old.at) > flashLife {
				delete(f.all, key)
			}
		}
	}
	if len(f.all) >= mostFlash {
		return
	}
	said.at = now
	f.all[session] = said
}

// take gives what was said last, once. What is old is about another page, and
// can no longer be undone.
func (f *flashes) take(session string, now time.Time) *flash {
	f.mu.Lock()
	defer f.mu.Unlock()
	said, ok := f.all[session]
	delete(f.all, session)
	if !ok || now.Sub(said.at).Abs() > flashLife {
		return nil
	}
	return &said
}
