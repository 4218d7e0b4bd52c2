package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestClientsThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := clients{now: func() time.Time { return clock }, held: map[string]*client{}}
	first := h.put("northwind", "key", &http.Client{})
	if h.put("northwind", "key", &http.Client{}) != first {
		t.Error("somebody else was faster, and two clients are in use for one key")
	}
	if h.get("northwind", "other") != nil {
		t.Error("a client was given for other settings than it was made from")
	}
	clock = clock.Add(3 * idle)
	h.put("other", "key", &http.Client{})
	if len(h.held) != 1 || h.get("other", "key") == nil {
		t.Errorf("%d clients are kept", len(h.held))
	}
}
