package repeats

import (
	"fmt"
	"testing"
	"time"
)

// testNow is when everything in these tests happens.
var testNow = time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC)

// TestRepeatsAreForgotten: a flood of names that each came twice does not fill
// the table for ever, and nothing that came goes untold.
func TestRepeatsAreForgotten(t *testing.T) {
	t.Parallel()
	var r Counter
	told := 0
	come := func(name string, now time.Time) {
		n, _ := r.Comes(name, "to", now)
		told += n
	}
	for i := range maxRepeats {
		come(fmt.Sprint(i), testNow)
		come(fmt.Sprint(i), testNow)
	}
	if told != maxRepeats {
		t.Fatalf("told of %d", told)
	}
	come("new", testNow.Add(repeatPause))
	if r.pairs[[2]string{"new", "to"}] == nil {
		t.Error("a new pair is not told apart")
	}
	n, tell := r.Comes("", "", testNow.Add(repeatPause))
	if told += n; !tell || told != 2*maxRepeats+2 {
		t.Errorf("told of %d, came %d", told, 2*maxRepeats+2)
	}
	for i := range 3 * maxRepeats {
		r.Comes(fmt.Sprint("from ", i), "to", testNow.Add(repeatPause))
	}
	if n := len(r.pairs); n > maxRepeats+1 {
		t.Errorf("%d pairs of names are held", n)
	}
}
