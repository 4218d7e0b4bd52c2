package queue

import (
	"slices"
	"strings"
	"time"

	"edigw/edi"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/retry"
)

// Arrival is a document whose bytes are durable in the spool, before its
// message exists.
type Arrival struct {
	Message  Message      // all but Seq, Edition, MessageID, State and Letter
	Identity Identity     //
	Problem  *edi.Problem // the envelope check failed: a letter `format` at once
	Backlog  Backlog      // limits of the partner; zero fields do not limit
	Now      time.Time
	LetterID string // for the letter that the arrival may become at once
}

// Backlog bounds what may be lined up for one partner.
type Backlog struct {
	Messages int
	Bytes    int64
}

// Admitted says what became of an arrival.
type Admitted string

// Ends of an arrival (delivery.md §3).
const (
	AdmitNew      Admitted = "new"      // a message was made; also a letter at once
	AdmitReplayed Admitted = "replayed" // same key, content and properties: the stored message
	AdmitReused   Admitted = "reused"   // same given key, other content or properties: nothing was made
	AdmitParked   Admitted = "parked"   // same derived key, other content or properties: a letter, which asks `changed-content`
	AdmitFull     Admitted = "full"     // over the backlog limit: nothing was made
)

// sameContent reports whether a message has the bytes of the arrival.
func (a Arrival) sameContent(m Message) bool {
	return m.Payload.SHA256 == a.Message.Payload.SHA256 && m.Payload.Size == a.Message.Payload.Size
}

// differs says what of the arrival none of the editions has.
func (a Arrival) differs(editions []Edition) string {
	if slices.ContainsFunc(editions, func(e Edition) bool { return a.sameContent(e.Message) }) {
		return "other properties"
	}
	return "other content"
}

// Admission is the decision on an arrival.
type Admission struct {
	Outcome    Admitted
	Message    Message  // the new message, or the stored one
	Supersedes []string // earlier editions that are not sent any more, newest first
	Results    []Result // to be recorded together; also events of an arrival that made nothing
}

// Edition is an earlier message of the same key with its letter, if one is
// open or replaying.
type Edition struct {
	Message Message
	Letter  *Letter
}

// Admit decides on an arrival: the idempotency rules of delivery.md §3, whole.
// editions are the messages of the same partner and key, oldest first, without
// the refused ones; waiting is what the partner has lined up now.
// It fails only if an edition and its letter contradict each other.
func Admit(a Arrival, editions []Edition, waiting Backlog) (Admission, error) {
	for i := len(editions) - 1; i >= 0; i-- {
		if m := editions[i].Message; a.sameContent(m) && m.Properties.Equal(a.Message.Properties) {
			return replayed(a, m), nil
		}
	}
	if len(editions) > 0 && a.Message.KeyGiven {
		return reused(a, editions), nil
	}
	if b := a.Backlog; b.Messages > 0 && waiting.Messages >= b.Messages || b.Bytes > 0 && waiting.Bytes+a.Message.Payload.Size > b.Bytes {
		return Admission{Outcome: AdmitFull}, nil
	}
	m := a.Message
	m.Edition = 0
	if n := len(editions); n > 0 {
		m.Edition = editions[n-1].Message.Edition + 1
		m.Previous = editions[n-1].Message.ID
	}
	m.MessageID = a.Identity.MessageID(m.Key, m.Edition)
	m.Accepted, m.Round, m.State, m.NextAt = a.Now, 1, Queued, a.Now
	replaced, park := Succeed(editions)
	if a.Problem != nil { // dead on arrival: what can still be delivered stays where it is
		replaced, park = nil, park || len(replaced) > 0
	}
	ad := Admission{Outcome: AdmitNew}
	for _, e := range replaced {
		step, err := Next(e.Message, e.Replaced(m.ID, a.Now), Rules{})
		if err != nil {
			return Admission{}, err
		}
		ad.Results = append(ad.Results, step)
		ad.Supersedes = append(ad.Supersedes, e.Message.ID)
	}
	res := admitted(a, m, ad.Supersedes, park, a.differs(editions))
	if park {
		ad.Outcome = AdmitParked
	}
	ad.Message = *res.Message
	ad.Results = append(ad.Results, res)
	return ad, nil
}

// Replaced is the input that ends an edition because a newer one takes its
// place.
func (e Edition) Replaced(by string, at time.Time) Input {
	return Input{Trigger: OnSupersede, At: at, Letter: e.Letter, Next: by, Note: "replaced by edition " + by}
}

// Succeed walks back from the newest edition: what content that comes after
// them replaces, and whether an earlier one was sent or may have been.
func Succeed(editions []Edition) (replaced []Edition, park bool) {
	for i := len(editions) - 1; i >= 0; i-- {
		e := editions[i]
		m := e.Message
		switch {
		case m.State == Discarded || m.State == Superseded:
			return replaced, false
		case m.Parked:
			replaced = append(replaced, e) // never sent: judge by the one before it
		case (m.State == Dead || m.State.Lined()) && !m.Uncertain:
			return append(replaced, e), false
		default:
			return replaced, true
		}
	}
	return replaced, false
}

func replayed(a Arrival, m Message) Admission {
	e := m.event(EventReplayedKey, a.Now)
	e.Text = "the same document came again under key " + m.Key
	e.Facts = map[string]string{"by": a.Message.Actor.String(), "key": m.Key}
	return Admission{Outcome: AdmitReplayed, Message: m, Results: []Result{{Events: []Event{e}}}}
}

func reused(a Arrival, editions []Edition) Admission {
	m := editions[len(editions)-1].Message
	e := m.event(EventKeyReused, a.Now)
	e.Text = "key " + m.Key + " came again with " + a.differs(editions) + ": the producer uses one key for two documents"
	e.Facts = map[string]string{"by": a.Message.Actor.String(), "key": m.Key}
	return Admission{Outcome: AdmitReused, Message: m, Results: []Result{{Events: []Event{e}}}}
}

// admitted makes the message, or the letter that stands for it at once.
func admitted(a Arrival, m Message, replaced []string, park bool, differs string) Result {
	accepted := m.event(EventAccepted, a.Now)
	accepted.Text = "accepted"
	accepted.Facts = map[string]string{"by": a.Message.Actor.String(), "source": m.Source}
	if len(replaced) > 0 {
		accepted.Text += ", " + words.Replaces(replaced)
		accepted.Facts["supersedes"] = strings.Join(replaced, " ")
	}
	res := Result{Message: &m, Events: []Event{accepted}}
	m.Parked = park
	switch {
	case a.Problem != nil:
		m.bury(&res, Input{At: a.Now, LetterID: a.LetterID}, ending{reason: fault.ReasonFormat, class: retry.Permanent, detail: a.Problem.Text})
	case park:
		m.bury(&res, Input{At: a.Now, LetterID: a.LetterID}, ending{reason: fault.ReasonChangedContent, class: retry.Permanent,
			detail: "an earlier edition with " + differs + " was sent or may have been sent"})
	}
	return res
}
