package alerts

import (
	"testing"
	"time"
)

// An incident that cannot be read is told once, and ends by itself like any
// other defect; one that was closed stays so.
func TestAnUnreadableIncidentIsTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	p := Pace{Wait: time.Minute, Repeat: time.Hour}
	in := Advance(Unreadable("INC-7", 3, time.Time{}, "value: unexpected end"), Situation{}, p, now)
	if in.News != NewsOpened || in.Due.After(now) || !in.Active() {
		t.Errorf("not to be told: %+v", in)
	}
	in = in.told(now)
	if in = Advance(in, Situation{}, p, now.Add(2*time.Hour)); in.Active() {
		t.Errorf("never ends: %+v", in)
	}
	if in := Unreadable("INC-7", 3, now, "value: unexpected end"); in.Active() || in.News != NewsNone {
		t.Errorf("begins anew: %+v", in)
	}
}
