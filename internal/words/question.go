package words

import "time"

// Question is asked before an action. The safe button comes first; Escape is
// always safe.
type Question struct {
	Title   string
	Text    []string // sentences, in order
	Safe    string   // label of the button that changes nothing
	Actions []string // labels of the acting buttons
	Tick    string   // box that the last action needs ticked; empty: none
	Reason  bool     // a reason must be given
}

// ReplayFacts counts what a bulk replay would send.
type ReplayFacts struct {
	Partner   string // empty: several
	Total     int
	Untried   int
	Failed    int // tried, but did not reach the partner
	Refused   int // reached the partner, who refused them
	Uncertain int // may already be there
	Overdue   int
	Newer     int           // documents delivered meanwhile
	NewerMore bool          // there are more of them
	Shared    int           // of these, with a reference in common with the set
	Takes     time.Duration // at Rate
	Rate      string        // "5/s"
	Inbound   int           // selected besides, but of received messages
}

// Replay asks before many letters are sent again.
func Replay(f ReplayFacts) Question {
	q := Question{Title: "Replay " + Number(int64(f.Total)), Safe: "Cancel"}
	q.Title += when(f.Partner != "", " to "+f.Partner) + "?"
	q.say(f.Untried > 0, Count(f.Untried, "was", "were")+" never tried.")
	q.say(f.Failed > 0, Number(int64(f.Failed))+" failed before reaching them.")
	q.say(f.Refused > 0, Count(f.Refused, "was", "were")+" refused by them.")
	q.say(f.Uncertain > 0, Number(int64(f.Uncertain))+" may already be there.")
	q.say(f.Overdue > 0, Count(f.Overdue, "is past its due time.", "are past their due time."))
	newer := when(f.NewerMore, "More than ") + Count(f.Newer, "newer document was", "newer documents were") + " delivered meanwhile"
	q.say(f.Newer > 0 && f.Shared == 0, newer+".")
	q.say(f.Newer > 0 && f.Shared > 0, newer+"; "+Count(f.Shared, "shares", "share")+" a purchase order with this set.")
	q.say(f.Inbound > 0, LeftOut(f.Inbound))
	q.say(true, "Same Message-IDs; the oldest goes first as the test"+when(f.Takes >= time.Second, "; about "+Span(f.Takes)+" at "+f.Rate)+".")
	all := Number(int64(f.Total))
	if f.Uncertain == 0 {
		q.Actions = []string{"Replay " + all}
		return q
	}
	unsure := Number(int64(f.Uncertain))
	if sure := f.Total - f.Uncertain; sure > 0 {
		q.Actions = append(q.Actions, "Replay "+Number(int64(sure))+", leave the "+unsure)
	}
	q.Actions = append(q.Actions, "Replay all "+all+" …")
	q.Tick = "I checked the " + unsure + " with the partner"
	return q
}

func (q *Question) say(holds bool, sentence string) {
	if holds {
		q.Text = append(q.Text, sentence)
	}
}

// DuplicateFacts describes a document that the partner may already have.
type DuplicateFacts struct {
	Partner string
	Bytes   int64     // of the message, sent in full; 0: not in full or not known
	At      time.Time // when it was sent
	Now     time.Time
	Zone    *time.Location
	Window  time.Duration // how long they remember a Message-ID; 0: they do not
	Yes     bool          // they refused it and then acknowledged it, At is when
}

// Duplicate asks before a document goes out that may already be there.
func Duplicate(f DuplicateFacts) Question {
	q := Question{Title: "Possible duplicate.", Safe: "Cancel", Actions: []string{"Copy enquiry", "Send again"}}
	what := f.Partner + " may have received it"
	if f.Bytes > 0 {
		what = f.Partner + " received all " + Number(f.Bytes) + " bytes"
	}
	at := Clock(f.At, f.Now, f.Zone)
	q.say(!f.Yes, what+" at "+at+" but sent no receipt.")
	q.say(f.Yes, f.Partner+" refused it, and acknowledged it at "+at+" with nothing sent in between. Ask them which holds.")
	q.say(f.Window > 0, "It goes out again under the same Message-ID; a correct AS2 receiver ignores the second copy.")
	q.say(f.Window > 0, "Their window: "+Span(f.Window)+", age: "+Span(f.Now.Sub(f.At))+".")
	q.say(f.Window > 0 && f.Now.Sub(f.At) > f.Window, "They no longer remember it: a second copy counts as new.")
	q.say(f.Window <= 0, "They do not recognise duplicates: a second copy counts as new.")
	return q
}

// Malformed asks before a document goes out that our own check found
// malformed. fault is what it found.
func Malformed(document, partner, fault string) Question {
	q := Question{Title: "Replay " + document + " to " + partner + "?", Safe: "Cancel", Actions: []string{"Send it as it is"}}
	q.say(true, "Our check found this malformed"+when(fault != "", ": "+fault)+". Send it as it is?")
	return q
}

// MalformedOf says how many of a set our own check found malformed. more tells
// that not all were looked at.
func MalformedOf(n int, more bool) string {
	text := Count(n, "is", "are")
	if more {
		text = "At least " + text
	}
	return text + " malformed, as our own check found: they go out as they are. Edit them first, or leave them out."
}

// Process asks before a refused message is opened again. async: a new receipt
// goes out by itself.
func Process(document, partner string, async bool) Question {
	q := Question{Title: "Process " + document + " from " + partner + " again?", Safe: "Cancel", Actions: []string{"Process again"}}
	q.say(true, "It is opened again as if it came now. If it is good today its document is handed on, and this letter is closed; if not, the letter stays, with the reason of today.")
	q.say(async, partner+" was told that it is refused. A new receipt goes out by itself and says that it was accepted.")
	q.say(!async, partner+" was told that it is refused, and learns otherwise only by sending it again: under the same Message-ID they get the new receipt, under another one you have the document twice. Ask them first whether they have sent it again.")
	return q
}

// LeftOut says that letters of received messages take no part in a replay.
func LeftOut(n int) string {
	return Count(n, "letter is of a received message and is left out: process it again instead.", "letters are of received messages and are left out: process them again instead.")
}

// ProcessMany asks before n letters of what partners sent are taken up; most
// is how many are at once.
func ProcessMany(partner string, n, most int) Question {
	q := Question{Title: "Process " + Number(int64(n)) + when(partner != "", " from "+partner) + " again?", Safe: "Cancel"}
	q.Actions = []string{"Process " + Number(int64(min(n, most))) + " again"}
	q.say(true, "Refused messages are opened again as if they came now; those that are good today are handed on and their letters closed. The others stay, with the reason of today. Documents that could not be handed on are handed on again.")
	q.say(true, "Whoever was told in the response that his message is refused learns otherwise only by sending it again: ask first whether they have sent them again.")
	q.say(n > most, "One by one, the newest first, at most "+Number(int64(most))+" at once; the rest stay, press it again.")
	return q
}

// NotProcessable says why a refused message cannot be opened again.
func NotProcessable(why string) string { return "It cannot be processed again: " + why + "." }

// StillDown asks what to do with a replay while the partner does not answer.
func StillDown() Question {
	return Question{
		Title:   "Partner still not answering.",
		Safe:    "Wait and send when it answers",
		Actions: []string{"Use this document as the test"},
	}
}

// Discard asks before n documents are given up.
func Discard(n int) Question {
	q := Question{Title: "Discard " + Count(n, "document", "documents") + "?", Safe: "Cancel", Reason: true}
	q.Actions = []string{"Discard " + Number(int64(n))}
	it, has := "They", "the partner has them"
	if n == 1 {
		it, has = "It", "the partner has it"
	}
	q.say(true, it+" will never be sent.")
	q.say(true, "If "+has+", use Close as delivered instead.")
	return q
}

// Stop asks before an operator stops a lane. deadline is the earliest one
// that waits, zero if none.
func Stop(partner string, deadline, now time.Time, zone *time.Location) Question {
	q := Question{Title: "Stop " + partner + "?", Safe: "Cancel", Actions: []string{"Stop"}, Reason: true}
	q.say(true, "Documents wait in line; nothing is lost.")
	q.say(!deadline.IsZero(), "Earliest deadline: "+Clock(deadline, now, zone)+".")
	return q
}

// AlreadyReplayed answers the second click.
func AlreadyReplayed(by string, at, now time.Time) string {
	if by == "" {
		by = "Somebody"
	}
	return by + " replayed this " + Ago(at, now) + ". Nothing was sent twice."
}

// Progress is the line of a running bulk replay.
func Progress(delivered, failed, total int) string {
	s := Number(int64(delivered)) + " of " + Number(int64(total)) + " delivered"
	return s + when(failed > 0, " · "+Number(int64(failed))+" failed again")
}
