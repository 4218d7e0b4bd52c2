package alerts

import (
	"testing"
	"time"

	"edigw/partner"
)

func TestQuietHoursEndByThePartnersClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	night := &partner.Quiet{From: 22 * 60, To: 6 * 60}
	lunch := &partner.Quiet{From: 12 * 60, To: 13*60 + 30}
	for name, c := range map[string]struct {
		quiet *partner.Quiet
		now   string
		want  string // empty: not quiet
	}{
		"evening":                        {night, "2026-12-01T22:00:00+01:00", "2026-12-02T06:00:00+01:00"},
		"after midnight":                 {night, "2026-12-02T03:00:00+01:00", "2026-12-02T06:00:00+01:00"},
		"its end is not quiet":           {night, "2026-12-02T06:00:00+01:00", ""},
		"day":                            {night, "2026-12-01T21:59:59+01:00", ""},
		"in UTC it would be quiet":       {night, "2026-12-01T05:30:00Z", ""},
		"end of year":                    {night, "2026-12-31T23:00:00+01:00", "2027-01-01T06:00:00+01:00"},
		"clocks go forward in the night": {night, "2026-03-28T23:00:00+01:00", "2026-03-29T06:00:00+02:00"},
		"clocks go back in the night":    {night, "2026-10-24T23:00:00+02:00", "2026-10-25T06:00:00+01:00"},
		"within a day":                   {lunch, "2026-12-01T12:10:00+01:00", "2026-12-01T13:30:00+01:00"},
		"none":                           {nil, "2026-12-01T23:00:00+01:00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			got := quietUntil(&partner.Partner{Zone: berlin, Notify: partner.Notify{Quiet: c.quiet}}, now)
			var want time.Time
			if c.want != "" {
				want, _ = time.Parse(time.RFC3339, c.want)
			}
			if !got.Equal(want) {
				t.Errorf("quiet until %v, want %v", got, want)
			}
		})
	}
	if !quietUntil(nil, time.Now()).IsZero() {
		t.Error("the gateway itself has quiet hours")
	}
}
