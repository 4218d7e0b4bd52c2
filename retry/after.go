package retry

import "time"

// ClampAfter bounds what a partner asked for by the longest wait of the
// policy: no header stops a lane for a week.
func ClampAfter(after, longest time.Duration) time.Duration {
	return max(0, min(after, longest))
}
