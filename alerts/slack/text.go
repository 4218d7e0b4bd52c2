package slack

import (
	"strings"

	"edigw/alerts"
)

// lights show at a glance how loud a message is.
var lights = map[alerts.Severity]string{alerts.Page: "🔴", alerts.Ticket: "🟠", alerts.Info: "🔵"}

// Text is the message of a notification in Slack's mrkdwn: "🔴 *Northwind DE*
// down 02:10, refused, their side · … · OUT-231".
func Text(n alerts.Notification) string {
	light := lights[n.Severity]
	if strings.HasPrefix(n.Text.Subject, "[OK]") {
		light = "🟢"
	}
	s := light + " *" + escape(n.Text.Lead) + "* " + escape(n.Text.Line)
	id := escape(n.Incident)
	switch {
	case id != "" && n.Text.Link != "":
		s += " · <" + escape(n.Text.Link) + "|" + id + ">"
	case id != "":
		s += " · " + id
	case n.Text.Link != "":
		s += " · <" + escape(n.Text.Link) + ">"
	}
	return s
}

// escape keeps text from becoming a link or a mention.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
