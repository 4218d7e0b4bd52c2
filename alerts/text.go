package alerts

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
)

// newsWidth is how much of a subject a phone shows: the news stands in it.
const newsWidth = 60

// Text is what people read of an incident. It never holds payload.
type Text struct {
	Subject string // "[PAGE] Northwind DE down, first deadline 03:00 [OUT-231]"
	Body    string // plain text, lines end in \n
	Lead    string // whom it is about, for one line of a chat
	Line    string // the rest of that line
	Link    string // page of the incident; opening it changes nothing
}

// telling is one incident about to be told, with all that its text may need.
type telling struct {
	in   Incident
	s    Situation
	now  time.Time
	base string // console, without a slash at the end
	zone *time.Location
	sev  Severity
}

// draft is what the text of one kind says; compose puts frame and owner to it.
type draft struct {
	news  string   // after the name: "down, first deadline 03:00"
	line  string   // chat; empty: as news
	lines []string // of the body
	do    []string // what to do, in order
	bare  bool     // news is the whole subject: no name before it
}

// compose writes the text of an incident's news. The sentence on whose side it
// probably is stands in every text of a running incident (words.md).
func compose(t telling) Text {
	d := t.draft()
	name := t.name()
	if d.bare {
		name = ""
	}
	text := Text{Subject: subject(t.tag(), name, d.news, t.in.ID), Lead: name, Line: d.line, Link: t.link()}
	if text.Line == "" {
		text.Line = d.news
	}
	if d.bare {
		text.Lead, text.Line = "edigw", d.news
	}
	var b strings.Builder
	for _, l := range d.lines {
		if l != "" {
			b.WriteString(l + "\n")
		}
	}
	if len(d.do) > 0 {
		b.WriteString("Do: " + steps(d.do) + "\n")
	}
	b.WriteString(strings.TrimSpace(t.owner()+"  "+text.Link) + "\n")
	text.Body = b.String()
	return text
}

// draft is what the incident's kind says.
func (t telling) draft() draft {
	d := drafts[t.in.Kind](t)
	if t.in.News == NewsOver && d.news == "" {
		return t.ended()
	}
	return d
}

// joined puts a name before its news.
func joined(name, news string) string {
	if !strings.HasPrefix(news, ":") && !strings.HasPrefix(news, ",") {
		name += " "
	}
	return name + clean(news)
}

// subject puts the news into the part that everybody sees: a long name is cut,
// not the news.
func subject(tag, name, news, id string) string {
	s := tag
	if name != "" {
		room := newsWidth - utf8.RuneCountInString(tag) - utf8.RuneCountInString(news) - 2
		s += " " + joined(clip(name, max(20, room)), news)
	} else {
		s += " " + clean(news)
	}
	if id != "" {
		s += " [" + id + "]"
	}
	return s
}

func steps(do []string) string {
	if len(do) == 1 {
		return do[0]
	}
	var b strings.Builder
	for i, s := range do {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(words.Number(int64(i+1)) + " " + s)
	}
	return b.String()
}

func (t telling) tag() string {
	if t.in.News == NewsOver {
		return "[OK]"
	}
	return "[" + strings.ToUpper(string(t.sev)) + "]"
}

// hook reports whether the incident is about the webhook that takes a partner's
// documents: a system of our own.
func (t telling) hook() bool {
	return t.in.Lane != "" && t.in.Lane == queue.LaneKey(t.in.Partner, queue.KindWebhook)
}

func (t telling) name() string {
	if t.hook() {
		return "webhook of " + t.partnerName()
	}
	return t.partnerName()
}

func (t telling) partnerName() string {
	switch {
	case t.s.Partner != nil && clean(t.s.Partner.Name) != "":
		return clean(t.s.Partner.Name)
	case t.in.Partner != "":
		return t.in.Partner
	}
	return "edigw"
}

func (t telling) link() string {
	if t.base == "" || t.in.ID == "" {
		return ""
	}
	return t.base + "/outages/" + t.in.ID
}

// owner is whom to call, always with the phone.
func (t telling) owner() string {
	if t.s.Partner == nil {
		return ""
	}
	return ownerLine(t.s.Partner.Owner)
}

func ownerLine(o partner.Owner) string {
	var parts []string
	for _, p := range []string{o.Team, o.Phone, o.Mail} {
		if p = clean(p); p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	s := "Owner: " + strings.Join(parts, ", ")
	if o.Note != "" {
		s += " (" + clean(o.Note) + ")"
	}
	return s + "."
}

// call is the step of calling the partner's owner, empty if nobody is known.
func (t telling) call() string {
	if t.s.Partner == nil {
		return ""
	}
	o := t.s.Partner.Owner
	who := clean(o.Phone)
	if who == "" {
		who = clean(o.Team)
	}
	if who == "" {
		who = clean(o.Mail)
	}
	if who == "" {
		return ""
	}
	if o.Note != "" {
		who += " (" + clean(o.Note) + ")"
	}
	return "call " + who
}

// clock is a time of day in the zone of the reader.
func (t telling) clock(at time.Time) string { return words.Clock(at, t.now, t.zone) }

// moment is a time with seconds and zone: "02:10:04 CET".
func (t telling) moment(at time.Time) string {
	s := words.Clock(at, t.now, t.zone)
	return s + at.In(t.zone).Format(":05 MST")
}

// ended is the text of an end that needs no words of its own.
func (t telling) ended() draft {
	d := draft{news: ": " + what[t.in.Kind] + " is settled", line: what[t.in.Kind] + " is settled"}
	d.lines = []string{"Since " + t.clock(t.in.Opened) + ", settled " + t.clock(t.in.Over) + " (" + words.Span(t.in.Over.Sub(t.in.Opened)) + ")."}
	if t.in.Told == 0 {
		d.lines = append(d.lines, "It was over before it was told. It was: "+t.in.Detail)
	}
	return d
}

// clean takes out what would break a line or a header.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	return strings.Join(strings.Fields(s), " ")
}

// clip shortens s to n runes, with an ellipsis.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

func join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " · ")
}

func when(holds bool, s string) string {
	if holds {
		return s
	}
	return ""
}

func number(n int) string { return words.Number(int64(n)) }
