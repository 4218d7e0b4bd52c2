package mail

import (
	"fmt"

	gomail "github.com/wneessen/go-mail"

	"edigw/alerts"
	"edigw/partner"
)

// compose writes the mail of a notification.
func compose(set *partner.MailChannel, domain string, n alerts.Notification) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	if err := msg.From(string(set.From)); err != nil {
		return nil, fmt.Errorf("alerts.mail.from: %w", err)
	}
	if err := msg.To(recipients(set, n)...); err != nil {
		return nil, fmt.Errorf("alerts.mail.to: %w", err)
	}
	msg.Subject(n.Text.Subject)
	msg.SetDateWithValue(n.Created)
	msg.SetMessageIDWithValue(n.Name + "@" + domain)
	if n.Thread != "" { // RFC 5322 §3.6.4: readers keep the mails of one incident together
		first := "<" + n.Thread + "@" + domain + ">"
		msg.SetGenHeader(gomail.HeaderInReplyTo, first)
		msg.SetGenHeader(gomail.HeaderReferences, first)
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834 §5: no vacation answers
	msg.SetUserAgent("edigw")
	if n.Severity == alerts.Page {
		msg.SetImportance(gomail.ImportanceHigh)
	}
	msg.SetBodyString(gomail.TypeTextPlain, n.Text.Body)
	return msg, nil
}
