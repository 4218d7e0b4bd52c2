package lane

import (
	"slices"
	"testing"
)

// pool makes slots whose woken lanes are noted.
func pool(starts, sockets int) (*slots, *[]*line) {
	woken := &[]*line{}
	q := &slots{}
	q.init(starts, sockets, func(l *line) { *woken = append(*woken, l) })
	return q, woken
}

func keys(lines []*line) (all []string) {
	for _, l := range lines {
		all = append(all, l.key)
	}
	return all
}

// A lane of large files gets as many bytes as a lane of small ones, not as
// many turns.
func TestSlotsAreFairByBytes(t *testing.T) {
	t.Parallel()
	q, woken := pool(1, 1)
	large, small, runs := &line{key: "large"}, &line{key: "small"}, &line{key: "other"}
	cost := map[*line]int64{large: 8 * quantum, small: quantum / 8}
	if !q.take(runs, 1) {
		t.Fatal("refused though there is room")
	}
	bytes := map[*line]int64{}
	for range 2000 {
		for _, l := range []*line{large, small} {
			if q.take(l, cost[l]) {
				t.Fatal("granted without its turn")
			}
		}
		*woken = nil
		q.free(runs, 1, 1)
		for _, l := range *woken {
			if !q.take(l, cost[l]) {
				t.Fatal("what was set aside is gone")
			}
			bytes[l] += cost[l]
			runs = l
		}
	}
	turns := bytes[small] / cost[small]
	if bytes[large] == 0 || turns < 5*bytes[large]/cost[large] {
		t.Errorf("small %d bytes in %d turns, large %d bytes", bytes[small], turns, bytes[large])
	}
}

func TestSlotsGiveBackWhatWasNotWanted(t *testing.T) {
	t.Parallel()
	q, woken := pool(1, 1)
	a, b, c := &line{key: "a"}, &line{key: "b"}, &line{key: "c"}
	q.take(a, 1)
	q.take(b, 1)
	q.take(c, 1)
	q.free(a, 1, 1)
	q.unused(b)
	if got, want := keys(*woken), []string{"b", "c"}; !slices.Equal(got, want) {
		t.Errorf("woken %v, want %v", got, want)
	}
	if q.asks(b) || !q.asks(c) || !q.take(c, 1) {
		t.Error("the places did not pass on")
	}
}

// A fifth of the sockets is for lanes with nothing in flight, half of that for
// those whose partner answered last.
func TestSlotsKeepAShareForOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sockets, busy, still int }{{1, 1, 1}, {2, 1, 1}, {5, 4, 4}, {10, 8, 9}, {100, 80, 90}, {2000, 1600, 1800}} {
		q, _ := pool(1_000_000, c.sockets)
		hog, n := &line{key: "hog"}, 0
		for q.take(hog, 1) {
			n++
		}
		if n != c.busy {
			t.Errorf("%d sockets: one lane has %d, want %d", c.sockets, n, c.busy)
		}
		for q.take(&line{key: "another"}, 1) {
			n++
		}
		if n != c.still {
			t.Errorf("%d sockets: others brought it to %d, want %d", c.sockets, n, c.still)
		}
		good := &line{key: "good"}
		q.answered(good, true)
		if ok := q.take(good, 1); ok != (n < c.sockets) {
			t.Errorf("%d sockets, %d in use: the lane of a partner that answers may start: %v", c.sockets, n, ok)
		}
	}
}

// Who waited longest goes first among those that may; a lane whose exchange
// ended keeps its place and has a better right.
func TestSlotsServeInTheOrderOfWaiting(t *testing.T) {
	t.Parallel()
	q, woken := pool(100, 10)
	hog, a, b := &line{key: "hog"}, &line{key: "a"}, &line{key: "b"}
	for q.take(hog, 1) {
	}
	for q.take(a, 1) {
	}
	if !q.waits(hog) || !q.waits(a) || q.take(b, 1) {
		t.Fatal("who may not start does not wait")
	}
	q.free(hog, 1, 1)
	if got, want := keys(*woken), []string{"b"}; !slices.Equal(got, want) {
		t.Errorf("woken %v, want %v: the others have something in flight", got, want)
	}
	q.free(a, 1, 1)
	if got, want := keys(*woken), []string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("woken %v, want %v: a has nothing in flight any more", got, want)
	}
	for range 3 {
		q.free(hog, 1, 1)
	}
	if got, want := keys(*woken), []string{"b", "a", "hog"}; !slices.Equal(got, want) {
		t.Errorf("woken %v, want %v", got, want)
	}
}
