package alerts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/partner"
)

// Notification is one text on its way to one channel. It stays until the
// channel took it: no number of failures gives it up.
type Notification struct {
	ID       string // "INC-88.2.mail": incident, how often told, channel
	Incident string // empty: heartbeat, digest
	Channel  string
	Severity Severity
	// Name is the same for every try: mail makes its Message-ID of it, so that
	// a repeat after a crash shows as one mail. Thread is the Name of the first
	// notification of the incident, empty if this is the first.
	Name   string
	Thread string
	Text   Text
	Extra  []string // mail addresses besides the channel's own
	Left   []string // mail addresses that did not take it yet; nil: nobody did

	Created  time.Time
	NextAt   time.Time // not to be tried before
	Attempts int
	Problem  string // why the last try failed; never a secret
	Sent     time.Time
}

// notify makes one notification for each channel of the route.
func notify(t telling, route []string, text Text, extra []string) []Notification {
	in := t.in
	if in.Kind == KindChannel && len(route) > 1 { // told over the others
		route = slices.DeleteFunc(slices.Clone(route), func(c string) bool { return c == in.Cause })
	}
	root := name(in.ID, in.Opened)
	var all []Notification
	for _, c := range route {
		n := Notification{
			ID: fmt.Sprintf("%s.%d.%s", in.ID, in.Told+1, c), Incident: in.ID, Channel: c, Severity: t.sev,
			Name: fmt.Sprintf("%s.%d", root, in.Told+1), Text: text, Extra: extra, Created: t.now, NextAt: t.now,
		}
		if in.Told > 0 {
			n.Thread = root + ".1"
		}
		all = append(all, n)
	}
	return all
}

// name is unique although numbers may begin again after a restore.
func name(id string, at time.Time) string {
	return strings.ToLower(id) + "-" + strconv.FormatInt(at.UnixMilli(), 36)
}

// single makes notifications that belong to no incident.
func single(kind string, route []string, text Text, now time.Time) []Notification {
	var all []Notification
	id := name(kind, now)
	for _, c := range route {
		all = append(all, Notification{ID: id + "." + c, Channel: c, Severity: Info, Name: id, Text: text, Created: now, NextAt: now})
	}
	return all
}

// Route lists the channels that settings name, in their order.
func Route(g *partner.Gateway) []string {
	a := g.Alerts
	if a == nil {
		return nil
	}
	order := a.Order
	if len(order) == 0 {
		order = []string{"mail", "slack"}
	}
	var route []string
	for _, c := range append(slices.Clone(order), "mail", "slack") {
		there := c == "mail" && a.Mail != nil || c == "slack" && a.Slack != nil
		if there && !slices.Contains(route, c) {
			route = append(route, c)
		}
	}
	return route
}
