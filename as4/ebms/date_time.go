package ebms

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// dateTime is xsd:dateTime without negative and five-digit years (XML Schema
// part 2 §3.2.7): date, time, fraction, zone.
var dateTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$`)

var errDateTime = errors.New("not an xsd:dateTime")

// parseDateTime reads an xsd:dateTime; the result is in UTC. One without a zone
// is taken as UTC, which the standard wants (ebMS 3.0 Core §5.2.2.1).
func parseDateTime(s string) (time.Time, error) {
	m := dateTime.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, errDateTime
	}
	clock, fraction, zone := m[2], m[3], m[4]
	midnight := clock == "24:00:00" && strings.Trim(fraction, ".0") == "" // the end of the day
	if midnight {
		clock = "00:00:00"
	}
	if len(fraction) > 10 {
		fraction = fraction[:10] // finer than nanoseconds
	}
	if zone == "" {
		zone = "Z"
	}
	t, err := time.Parse(time.RFC3339Nano, m[1]+"T"+clock+fraction+zone)
	if err != nil {
		return time.Time{}, errDateTime
	}
	if midnight {
		t = t.AddDate(0, 0, 1)
	}
	return t.UTC(), nil
}
