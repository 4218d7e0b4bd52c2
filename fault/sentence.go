package fault

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Sentence says for people what came of the exchange: what broke, else what
// the partner answered. It is empty only for a plain success.
func (o Outcome) Sentence() string {
	switch {
	case o.Detail != "" && (o.Ack == nil || o.Ack.Verdict != AckTrusted):
		return o.Detail + o.Ack.unproven()
	case o.Ack != nil:
		return o.Ack.sentence()
	case o.Detail != "":
		return o.Detail
	case o.Status >= 200 && o.Status < 300 && o.AckAsked == AckSync:
		return fmt.Sprintf("they answered %d without the receipt that was asked for", o.Status)
	case o.Status == 0 || o.Status >= 200 && o.Status < 300:
		return ""
	case o.Status < 200:
		return fmt.Sprintf("they answered %d, which answers no message", o.Status)
	}
	text := fmt.Sprintf("they answered %d", o.Status)
	if o.HasRetry {
		text += " and asked for " + wait(o.RetryAfter)
	}
	return text
}

// sentence is the disposition or error as the partner wrote it, with the words
// beside it.
func (a Acknowledgement) sentence() string {
	if a.Positive && a.Modifier == "" {
		return ""
	}
	text := a.EBMS
	if text == "" {
		text = a.Type
		if a.Modifier != "" {
			text += "/" + a.Modifier
		}
		if a.Text != "" {
			text += ": " + a.Text
		}
	}
	if words := strings.TrimSpace(a.Detail); words != "" && words != a.Text {
		text = strings.TrimPrefix(text+" (their words: \""+words+"\")", " ")
	}
	return text
}

// unproven tells what an acknowledgement says that proves nothing: a hint for
// people, of whoever wrote it. Empty if it says nothing.
func (a *Acknowledgement) unproven() string {
	if a == nil || a.Type == "" && a.EBMS == "" {
		return ""
	}
	said := a.sentence()
	if said == "" {
		said = cmp.Or(a.EBMS, a.Type)
	}
	what := "receipt"
	if a.EBMS != "" {
		what = "error"
	}
	return "; the " + what + ", unproven, says " + said
}

// wait is a length of time as a partner asks for it.
func wait(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
}
