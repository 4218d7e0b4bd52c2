package lane

import (
	"slices"
	"testing"
)

// A lane of large files gets as many bytes as a lane of small ones, not as
// many turns.
func TestSlotsAreFairByBytes(t *testing.T) {
	t.Parallel()
	var woken []*line
	q := slots{starts: 1, sockets: 1, wake: func(l *line) { woken = append(woken, l) }}
	large, small := &line{key: "large"}, &line{key: "small"}
	cost := map[*line]int64{large: 8 * quantum, small: quantum / 8}
	if !q.take(small, 1) {
		t.Fatal("refused though there is room")
	}
	bytes := map[*line]int64{}
	for range 2000 {
		for _, l := range []*line{large, small} {
			if q.take(l, cost[l]) {
				t.Fatal("granted without its turn")
			}
		}
		woken = nil
		q.free(1, 1)
		for _, l := range woken {
			if !q.take(l, cost[l]) {
				t.Fatal("what was set aside is gone")
			}
			bytes[l] += cost[l]
		}
	}
	turns := bytes[small] / cost[small]
	if bytes[large] == 0 || turns < 5*bytes[large]/cost[large] {
		t.Errorf("small %d bytes in %d turns, large %d bytes", bytes[small], turns, bytes[large])
	}
}

func TestSlotsGiveBackWhatWasNotWanted(t *testing.T) {
	t.Parallel()
	var woken []string
	q := slots{starts: 1, sockets: 1, wake: func(l *line) { woken = append(woken, l.key) }}
	a, b, c := &line{key: "a"}, &line{key: "b"}, &line{key: "c"}
	q.take(a, 1)
	q.take(b, 1)
	q.take(c, 1)
	q.free(1, 1)
	q.unused(b)
	if want := []string{"b", "c"}; !slices.Equal(woken, want) {
		t.Errorf("woken %v, want %v", woken, want)
	}
	if q.asks(b) || !q.asks(c) || !q.take(c, 1) {
		t.Error("the places did not pass on")
	}
}
