package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/queue"
)

// teller turns what changed between two looks at the API into facts. One
// goroutine uses it.
type teller struct {
	print *printer
	facts []fact
}

// fact is something that happened.
type fact struct {
	at   time.Time
	who  string
	text string
}

func (t *teller) tell(at time.Time, who, format string, args ...any) {
	t.facts = append(t.facts, fact{at, who, fmt.Sprintf(format, args...)})
}

// flush prints what was told since, in the order in which it happened.
func (t *teller) flush() {
	slices.SortStableFunc(t.facts, func(a, b fact) int { return a.at.Compare(b.at) })
	for _, f := range t.facts {
		t.print.at(f.at, f.who, "%s", f.text)
	}
	t.facts = t.facts[:0]
}

// title is what people call a document.
func (m message) title() string {
	for _, name := range []string{"invoice", "order"} {
		for _, r := range m.References {
			if r.Name == name {
				return r.Value
			}
		}
	}
	return cmp.Or(m.FileName, m.ID)
}

// message tells the entries of a timeline that are new.
func (t *teller) message(old, now message) {
	if now.Direction != string(queue.Out) {
		return
	}
	attempts := 0
	for i, e := range now.Timeline {
		if queue.EventType(e.Type) == queue.EventSending {
			attempts++
		}
		if i < len(old.Timeline) {
			continue
		}
		if text := t.sentence(now, e, attempts); text != "" {
			t.tell(e.At, now.Partner, "%s", text)
		}
	}
}

// sentence is one entry of a timeline; empty: it goes without saying.
func (t *teller) sentence(m message, e event, attempts int) string {
	switch queue.EventType(e.Type) {
	case queue.EventAccepted:
		return fmt.Sprintf("%s accepted, by %s", m.title(), ways[m.Source])
	case queue.EventRefused:
		return fmt.Sprintf("%s refused at the door: %s", m.title(), e.Text)
	case queue.EventBuilt:
		if strings.HasPrefix(e.Text, "built anew") {
			return fmt.Sprintf("%s %s", m.title(), e.Text)
		}
	case queue.EventRetry:
		return m.retry(e, attempts)
	case queue.EventAwaiting:
		return fmt.Sprintf("%s %s", m.title(), e.Text)
	case queue.EventDelivered:
		return m.delivery(e, attempts)
	case queue.EventDead:
		return fmt.Sprintf("%s is a dead letter, %s: %s", m.title(), e.Facts["reason"], e.Text) + uncertain(e)
	case queue.EventLetterClosed:
		return fmt.Sprintf("%s letter closed: %s", m.title(), e.Text)
	case queue.EventReplay:
		return fmt.Sprintf("%s replayed", m.title())
	case queue.EventCheck, queue.EventAckIgnored, queue.EventCancelled, queue.EventOverdue, queue.EventAckConflict, queue.EventCrashed, queue.EventUndo:
		return fmt.Sprintf("%s %s: %s", m.title(), e.Type, e.Text)
	}
	return ""
}

// ways are the ways in, as the API names them and as people do.
var ways = map[string]string{"api": "the API", "cli": "edigw send", "outbox": "the outbox folder", "console": "the console"}

func uncertain(e event) string {
	if e.Facts["uncertain"] == "true" {
		return ". " + words.Uncertain
	}
	return ""
}

// retry is "retry 2 in 1.4s: 503, Retry-After 1s".
func (m message) retry(e event, attempts int) string {
	text := e.Text
	if attempts > 0 && attempts <= len(m.Attempts) {
		if a := m.Attempts[attempts-1]; a.Status >= 300 {
			text = fmt.Sprint(a.Status)
			if after := a.Headers["Retry-After"]; after != "" {
				text += ", Retry-After " + after + "s"
			}
		}
	}
	wait := "at once"
	if next, err := time.Parse(time.RFC3339Nano, e.Facts["next"]); err == nil && next.Sub(e.At) > 50*time.Millisecond {
		wait = "in " + next.Sub(e.At).Round(100*time.Millisecond).String()
	}
	return fmt.Sprintf("%s retry %d %s: %s", m.title(), attempts+1, wait, text)
}

func (m message) delivery(e event, attempts int) string {
	proof := map[string]string{
		string(queue.ProofReceipt): "receipt verified", string(queue.ProofDuplicate): "partner says it already has it",
		string(queue.ProofHTTP): "no receipt asked for", string(queue.ProofStatement): "on the partner's word",
	}[e.Facts["proof"]]
	if attempts > 1 {
		proof = fmt.Sprintf("attempt %d, %s", attempts, proof)
	}
	return fmt.Sprintf("%s delivered: %s", m.title(), proof)
}

// lane tells how a partner's lane stands.
func (t *teller) lane(old, now lane) {
	if old.State == now.State || old.State == "" && now.State == string(queue.LaneSending) {
		return
	}
	text := words.Lane(words.LaneFacts{State: now.State, Now: time.Now(), Zone: time.Local, Waiting: now.Waiting})
	if !now.NextAt.IsZero() && now.State == string(queue.LaneOpen) {
		text += ". Next test " + now.NextAt.Local().Format(time.TimeOnly)
	}
	t.tell(cmp.Or(now.Since, time.Now()), now.ID, "%s", text)
}

// outage tells when one began and ended.
func (t *teller) outage(old, now outage) {
	if old.ID == "" {
		t.tell(now.Since, now.Partner, "breaker opened, %s: %s", now.ID, now.Detail)
	}
	if !old.Ended.IsZero() || now.Ended.IsZero() {
		return
	}
	text := "it made no letter"
	if now.Letters > 0 {
		text = fmt.Sprintf("none of its %s is open", words.Count(now.Letters, "letter", "letters"))
	}
	t.tell(now.Ended, now.Partner, "%s is over, %s", now.ID, text)
}
