package inbox

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"edigw/queue"
)

// TestAnotherDocumentUnderAKnownIDIsToldAtOnce: a repeat just before it does
// not hide it, and it is a warning.
func TestAnotherDocumentUnderAKnownIDIsToldAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	h.receive(message("<1@n.example>", order, "wire-1"))
	h.receive(message("<1@n.example>", order, "wire-2"))
	h.receive(message("<1@n.example>", order+" other", "wire-3"))
	if h.events(queue.EventReplayedKey) != 1 || h.events(queue.EventKeyReused) != 1 {
		t.Errorf("%d repeats and %d reused ids are events", h.events(queue.EventReplayedKey), h.events(queue.EventKeyReused))
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"another document came"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}
