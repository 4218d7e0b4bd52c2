package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"edigw/queue"
)

// TestKillAtRandomTimes kills the gateway again and again at moments that
// chance chooses, while documents come in and the partner is as bad as chance
// wants it. What was accepted has one effect in the end.
func TestKillAtRandomTimes(t *testing.T) {
	t.Parallel()
	const kills, documents, seed = 20, 8, 4711
	chance := rand.New(rand.NewPCG(seed, seed))
	s := newSite(t, "")
	c := newCounterpart(s, "", "retry: {attempts: 50}\n")
	c.play(moody(seed))
	var accepted []string
	for round := range kills {
		s.start()
		var sender sync.WaitGroup
		var got []string
		sender.Go(func() { got = sendUntilRefused(s, round, documents) })
		// No condition to wait for: the moment itself is what chance chooses.
		<-time.After(time.Duration(chance.IntN(400)) * time.Millisecond)
		s.kill()
		sender.Wait()
		accepted = append(accepted, got...)
	}
	c.play(nil)
	s.start()
	for _, m := range s.settled() {
		if m.State == string(queue.Dead) && m.Letter == "" {
			t.Errorf("%s is dead without a letter", m.ID)
		}
	}
	if len(accepted) == 0 {
		t.Error("nothing was accepted between the kills")
	}
	t.Logf("%d documents were accepted, %d requests reached the partner", len(accepted), c.visited())
	reckon(s, c, accepted...)
}

// sendUntilRefused hands documents in until the gateway is gone, and gives
// those that it promised to keep.
func sendUntilRefused(s *site, round, n int) (ids []string) {
	for i := range n {
		m, err := s.send("northwind", fmt.Sprintf("INV-%d-%d", round, i), fmt.Appendf(nil, "invoice %d of round %d", i, round))
		if err != nil {
			return ids
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// moody is a partner that does by chance what partners do.
func moody(seed uint64) func(*visit) {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 1))
	return func(v *visit) {
		mu.Lock()
		mood := chance.IntN(10)
		mu.Unlock()
		switch mood {
		case 0:
			v.reset()
		case 1:
			v.read()
			v.reset()
		case 2:
			v.read()
			v.process()
			v.reset()
		case 3:
			v.read()
			v.reply(v.process(), 200)
			v.reset()
		case 4:
			v.read()
			http.Error(v.w, "busy", http.StatusServiceUnavailable)
		default:
			v.serve()
		}
	}
}
