package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/queue"
	"edigw/retry"
)

// Bounds of a timeline: of a longer one the beginning and the end are shown.
const (
	timelineHead = 20
	timelineTail = 130
)

// entry is one line of a message's timeline.
type entry struct {
	Key      string
	At       moment
	Mark     mark
	Text     string
	Detail   string
	Who      string // a person or program that acted; empty: the gateway
	From     string
	Exchange *exchange

	at    time.Time
	views int // of the content, that it stands for
}

// entries merge what happened to a message with the exchanges, oldest first. An
// exchange stands where its beginning was noted, and says more than that.
func (c *Console) entries(v *visit, h history) (all []entry) {
	zone := v.zoneOf(h.partner)
	left := slices.Clone(h.attempts)
	for _, e := range h.events {
		switch {
		case e.Type == queue.EventBuilt && e.Text == "built": // each exchange says of which build it is
		case e.Type == queue.EventSending:
			if i := begunAt(left, e.At); i >= 0 {
				all = append(all, c.exchangeEntry(v, h, left[i], e.At))
				left = slices.Delete(left, i, i+1)
				continue
			}
			fallthrough
		default:
			all = append(all, receivedEntry(eventEntry(v, e, zone), e, h))
		}
	}
	for _, a := range left {
		all = append(all, c.exchangeEntry(v, h, a, a.Started))
	}
	all = append(all, c.charges(h)...)
	slices.SortStableFunc(all, func(x, y entry) int { return x.at.Compare(y.at) })
	all = folded(all)
	for i := range all {
		all[i].At = v.in(all[i].at, zone)
		all[i].At.Clock = words.ClockSeconds(all[i].at, v.now, zone)
		if i > 0 && all[i-1].Exchange != nil && all[i].Detail == all[i-1].Detail {
			all[i].Detail = "" // said in the line above
		}
	}
	return all
}

// folded makes one line of views of the content by one person that follow each
// other, of the newest: the audit has each.
func folded(all []entry) (short []entry) {
	for _, e := range all {
		if n := len(short); e.views > 0 && n > 0 && short[n-1].views > 0 && short[n-1].Who == e.Who {
			e.views += short[n-1].views
			e.Key, e.Text = short[n-1].Key, "Content seen "+words.Number(int64(e.views))+" times, here for the last time"
			short[n-1] = e
			continue
		}
		short = append(short, e)
	}
	return short
}

// begunAt finds the exchange whose beginning an event noted; -1 if it is not
// over yet.
func begunAt(attempts []queue.Attempt, at time.Time) int {
	const near = 2 * time.Second // building comes between the two, on either side
	return slices.IndexFunc(attempts, func(a queue.Attempt) bool { return !a.Async && a.Started.Sub(at).Abs() <= near })
}

func eventEntry(v *visit, e queue.Event, zone *time.Location) entry {
	text, detail := eventSentence(v, e, zone)
	one := entry{Key: "e" + strconv.FormatInt(e.ID, 10), Mark: eventMark(e), Text: text, Detail: said(detail), at: e.At}
	if e.Type == queue.EventPayload {
		one.views = 1
	}
	if !e.Actor.Gateway() {
		one.Who, one.From = plain(e.Actor.Name), plain(e.Actor.From)
	}
	return one
}

// receivedEntry has the words for a received message that became a letter; the
// letter says why.
func receivedEntry(one entry, e queue.Event, h history) entry {
	if e.Type != queue.EventDead || h.message.Direction != queue.In {
		return one
	}
	one.Mark = deadMark(h.message)
	if slices.ContainsFunc(h.letters, func(l queue.Letter) bool { return l.Detail == e.Text }) {
		one.Detail = ""
	}
	return one
}

// charges are the tests whose failure was the partner's, not the document's.
func (c *Console) charges(h history) (all []entry) {
	for _, charge := range c.Lanes.View(h.message.Partner).Charged {
		if charge.Message == h.message.ID {
			all = append(all, entry{Key: "c" + strconv.FormatInt(charge.At.UnixMicro(), 10), Mark: attemptMark(retry.Transient), Detail: plain(charge.Detail), at: charge.At,
				Text: "Went out as the test whether they answer; the failure counts for the partner, not for this document"})
		}
	}
	return all
}

// bounded keeps the beginning and the end of a long timeline.
func bounded(all []entry, whole bool) (shown []entry, left int) {
	if whole || len(all) <= timelineHead+timelineTail {
		return all, 0
	}
	left = len(all) - timelineHead - timelineTail
	shown = append(shown, all[:timelineHead]...)
	shown = append(shown, entry{Key: "left", Mark: markWaiting, Text: words.Count(left, "entry", "entries") + " left out here"})
	return append(shown, all[len(all)-timelineTail:]...), left
}

func eventMark(e queue.Event) mark {
	switch e.Type {
	case queue.EventDelivered:
		return markDelivered
	case queue.EventDead:
		if e.Facts["uncertain"] == "true" {
			return markUnknown
		}
		return markDead
	case queue.EventRefused, queue.EventKeyReused, queue.EventAckConflict, queue.EventDefect:
		return mark{"bad", "✕", "Trouble"}
	case queue.EventCrashed, queue.EventOverdue, queue.EventWarnBy:
		return mark{"warn", "?", "Look"}
	case queue.EventRetry, queue.EventAwaiting:
		return markWaiting
	case queue.EventSending:
		return mark{"ok", "●", "Being sent"}
	}
	return mark{"idle", "·", "Noted"}
}

// eventSentence says what happened. What the event itself says follows, unless
// it is the same.
func eventSentence(v *visit, e queue.Event, zone *time.Location) (text, detail string) {
	switch e.Type {
	case queue.EventAccepted:
		if e.Facts["previous"] != "" {
			return "Made as a new edition", e.Text
		}
		_, more, _ := strings.Cut(e.Text, "accepted, ")
		return "Accepted: safe on disk", more
	case queue.EventRefused:
		return "Refused at the door", e.Text
	case queue.EventReplayedKey:
		return "The same document was handed in again; nothing was sent twice", e.Facts["by"]
	case queue.EventKeyReused:
		return "The key was used again with other content: a bug of the program that hands in", e.Facts["by"]
	case queue.EventBuilt:
		return "Built anew", strings.TrimPrefix(e.Text, "built anew: ")
	case queue.EventSending:
		return "Sending", ""
	case queue.EventRetry:
		return waitSentence(v, e, zone), ""
	case queue.EventAwaiting:
		return "Sent. Waits for the receipt", ""
	case queue.EventDelivered:
		return words.Message(words.MessageFacts{State: "delivered", Proof: e.Facts["proof"], Hook: e.Lane == queue.LaneKey(e.Partner, queue.KindWebhook), Now: v.now, Zone: zone}), ""
	case queue.EventDead:
		return "Became a dead letter", e.Text
	case queue.EventLetterClosed:
		return "Dead letter settled: " + closedAs(e.Facts["as"], e.Lane, e.Partner), ""
	case queue.EventLetterChanged:
		return "A later answer of the partner changed the reason", e.Text
	}
	return eventAct(e)
}

// eventAct says what somebody did, or what is rare.
func eventAct(e queue.Event) (text, detail string) {
	switch e.Type {
	case queue.EventReplay:
		return "Replay asked for", e.Facts["reason"]
	case queue.EventUndo:
		return "Replay taken back before it started", ""
	case queue.EventCancelled:
		return "Taken out of the line", e.Text
	case queue.EventSuperseded:
		return replacedSentence(e)
	case queue.EventOverdue:
		return "Past its due time, goes on", e.Text
	case queue.EventWarnBy:
		return "Not delivered by the time of warning", e.Text
	case queue.EventAckIgnored:
		if !e.Actor.Gateway() { // somebody had it checked again
			_, found, _ := strings.Cut(e.Text, ": ")
			return words.Rechecked, found
		}
		return "A receipt came that settles nothing", e.Text
	case queue.EventAckConflict:
		return "Two receipts contradict each other: call the partner", e.Text
	case queue.EventCrashed:
		return "The gateway ended while it was being sent: outcome unknown", e.Text
	case queue.EventPayload:
		return "Content seen", e.Text
	}
	if e.Text == "" {
		return string(e.Type), ""
	}
	return plain(e.Text), ""
}

// replacedSentence names the edition that took the document's place.
func replacedSentence(e queue.Event) (text, detail string) {
	next := e.Facts["next"]
	switch {
	case e.Lane == queue.InboxLane(e.Partner):
		return "Opened again and accepted, as message " + next, ""
	case e.Lane == queue.LaneKey(e.Partner, queue.KindWebhook):
		return "Its document was put into the folder instead", ""
	case next == "":
		return "Replaced by a newer edition", e.Text
	}
	_, why, _ := strings.Cut(e.Text, "replaced by edition "+next)
	return "Replaced by edition " + next, strings.TrimPrefix(why, ": ")
}

// waitSentence says how long a message waits, and why.
func waitSentence(v *visit, e queue.Event, zone *time.Location) string {
	next, err := time.Parse(time.RFC3339Nano, e.Facts["next"])
	if err != nil {
		return plain(e.Text)
	}
	f := words.MessageFacts{State: "waiting", Why: string(queue.WhyBackoff), Now: v.now, Zone: zone, Next: next, Detail: said(e.Text)}
	if next.After(v.now) {
		return words.Message(f)
	}
	return "Waited " + words.Span(next.Sub(e.At))
}

// exchangeEntry is an exchange in the timeline.
func (c *Console) exchangeEntry(v *visit, h history, a queue.Attempt, at time.Time) entry {
	e := entry{Key: "a" + strconv.Itoa(a.N), Mark: attemptMark(a.Class), Exchange: c.exchange(v, h, a), at: at}
	switch {
	case a.Async:
		e.Text = "A receipt came"
	case a.Probe:
		e.Text = "Try " + strconv.Itoa(a.N) + ", as the test whether they answer"
	default:
		e.Text = "Try " + strconv.Itoa(a.N)
	}
	e.Text += ": " + words.ExchangeOutcome(string(a.Class), a.Ack != nil && a.Ack.Positive)
	e.Detail = said(a.Detail)
	return e
}

func attemptMark(k retry.Class) mark {
	switch k {
	case retry.Success, retry.AlreadyThere:
		return markDelivered
	case retry.Accepted:
		return mark{"ok", "●", "Sent"}
	case retry.Unknown:
		return markUnknown
	case retry.NotAnAttempt, retry.NoOutcome:
		return mark{"idle", "·", "Does not count"}
	}
	return markDead
}
