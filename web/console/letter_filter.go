package console

import (
	"net/url"
	"slices"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// letterFilter reads the filter of letters out of an address or a form.
func letterFilter(q url.Values) (f queue.LetterFilter, err error) {
	f = queue.LetterFilter{Partner: q.Get("partner"), Reason: fault.Reason(q.Get("reason")), Status: queue.LetterStatus(q.Get("status")), Outage: q.Get("outage"), Cause: q.Get("cause"), Direction: queue.Direction(q.Get("direction"))}
	switch {
	case f.Partner != "" && !partner.ValidID(f.Partner):
		err = wrong("partner", f.Partner)
	case f.Reason != "" && !slices.Contains(fault.Reasons, f.Reason):
		err = wrong("reason", string(f.Reason))
	case !validDirection(f.Direction):
		err = wrong("direction", string(f.Direction))
	case f.Status == "":
		f.Status = queue.LetterOpen
	case f.Status == "all":
		f.Status = ""
	case f.Status != queue.LetterOpen && f.Status != queue.LetterReplaying && f.Status != queue.LetterClosed:
		err = wrong("status", string(f.Status))
	}
	return f, err
}

// validDirection reports whether it is a direction, or none is asked for.
func validDirection(d queue.Direction) bool { return d == "" || d == queue.Out || d == queue.In }

// directionWord is what messages of a direction are called, for a filter.
func directionWord(d queue.Direction) string {
	if d == queue.In {
		return "received"
	}
	return "sent"
}

func wrong(name, value string) error {
	return &web.Problem{Slug: web.BadRequest, Field: name, Detail: "There is no " + name + " " + web.Clean(value) + "."}
}

func filterFields(f queue.LetterFilter) []field {
	fields := []field{{"status", string(queue.LetterOpen)}}
	for _, p := range []field{{"partner", f.Partner}, {"reason", string(f.Reason)}, {"outage", f.Outage}, {"cause", f.Cause}, {"direction", string(f.Direction)}} {
		if p.Value != "" {
			fields = append(fields, p)
		}
	}
	return fields
}

// with is an address of the page with one parameter changed.
func with(q url.Values, path, name, value string) string {
	next := url.Values{}
	for k, all := range q {
		if k != "cursor" && k != name {
			next[k] = all
		}
	}
	if value != "" {
		next.Set(name, value)
	}
	if len(next) == 0 {
		return path
	}
	return path + "?" + next.Encode()
}

func olderLink(q url.Values, path, cursor string) string {
	if cursor == "" {
		return ""
	}
	return with(q, path, "cursor", cursor)
}

var letterStatuses = []struct{ value, label string }{{"", "To decide"}, {"replaying", "Being replayed"}, {"closed", "Settled"}, {"all", "All"}}

func statusLinks(q url.Values, now queue.LetterStatus) (links []filterLink) {
	for _, s := range letterStatuses {
		lit := s.value == q.Get("status") || s.value == "" && now == queue.LetterOpen
		links = append(links, filterLink{s.label, with(q, "/letters", "status", s.value), lit})
	}
	return links
}

// chosen are the filters in force, each with the address without it.
func chosen(q url.Values, c *Console) (links []filterLink) {
	for _, name := range []string{"partner", "reason", "outage", "cause", "direction"} {
		value := q.Get(name)
		if value == "" {
			continue
		}
		label := name + ": " + value
		switch name {
		case "partner":
			label = c.partnerName(value)
		case "reason":
			label = words.ReasonGroup(value)
		case "direction":
			label = directionWord(queue.Direction(value))
		}
		links = append(links, filterLink{label + " ✕", with(q, "/letters", name, ""), true})
	}
	return links
}
