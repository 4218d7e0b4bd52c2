package alerts

import (
	"slices"
	"strconv"
	"time"

	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
)

// certificateSteps are the days before its end at which a certificate is told
// of; -1: it has ended.
var certificateSteps = []int{-1, 1, 7, 14, 30, 60}

// step is the step that a certificate with so many days left is in, or more
// than all steps.
func step(left int) int {
	for _, s := range certificateSteps {
		if left <= s {
			return s
		}
	}
	return certificateSteps[len(certificateSteps)-1] + 1
}

// uncovered reports whether the end of a certificate's use is worth telling:
// nothing takes over without a gap, and if it has ended nothing else serves.
func uncovered(c partner.CertificateInfo, now time.Time) bool {
	return c.Successor == "" && !(c.Covered && c.DaysLeft(now) < 0)
}

// watchCertificates gives an event for each certificate that reached a step
// since it was told of, unless another takes over. Certificates of retired
// partners are left out.
func watchCertificates(b Book, set Settings, now time.Time) []queue.Event {
	var events []queue.Event
	for _, c := range set.Certificates(now) {
		id := ""
		if c.Owner != partner.OwnerGateway {
			p, ok := set.Partner(c.Owner)
			if !ok || p.Stage == partner.StageRetired {
				continue
			}
			id = c.Owner
		}
		left := c.DaysLeft(now)
		at := step(left)
		if !uncovered(c, now) || at > certificateSteps[len(certificateSteps)-1] {
			continue
		}
		e := queue.Event{At: now, Type: EventCertEnds, Partner: id,
			Text:  uses[c.Use].name + ", serial " + c.Serial + ", ends in " + words.Count(left, "day", "days"),
			Facts: map[string]string{"id": certificateID(c), "step": strconv.Itoa(at), "days": strconv.Itoa(left)}}
		if left < 0 {
			e.Text = uses[c.Use].name + ", serial " + c.Serial + ", has ended"
		}
		key := rules[EventCertEnds][0].key(e)
		i := slices.IndexFunc(b.Incidents, func(in Incident) bool { return in.Key == key })
		if i >= 0 && b.Incidents[i].Facts["step"] == e.Facts["step"] {
			continue
		}
		events = append(events, e)
	}
	return events
}

// watchDeadlines gives an event for each lane that is near its first deadline
// and cannot send, unless it was told of.
func watchDeadlines(b Book, depths []queue.Depth, troubled func(queue.Depth) bool, now time.Time) []queue.Event {
	var events []queue.Event
	for _, d := range depths {
		if !near(d, now) {
			continue
		}
		e := queue.Event{At: now, Type: EventDeadlineNear, Partner: d.Partner, Lane: d.Lane,
			Text: "the first deadline of a lane that does not send is near", Facts: map[string]string{"due": d.First.UTC().Format(time.RFC3339)}}
		key := rules[EventDeadlineNear][0].key(e)
		known := slices.ContainsFunc(b.Incidents, func(in Incident) bool { return in.Key == key && in.Stage != Over })
		if !known && troubled(d) {
			events = append(events, e)
		}
	}
	return events
}
