package alerts

import (
	"strings"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
)

// causes are what stopped a partner from answering, in words, and whose side
// that points to.
var causes = map[fault.Cause]struct{ text, short, side string }{
	fault.CauseDNS:            {"its name is not found", "name not found", ""},
	fault.CauseRefused:        {"connection refused", "refused", ""},
	fault.CauseUnreachable:    {"no route to it", "no route", ""},
	fault.CauseConnectTimeout: {"no connection in time", "no connection", ""},
	fault.CauseTLSTimeout:     {"no TLS handshake in time", "TLS time-out", ""},
	fault.CauseTLSTrust:       {"its TLS certificate is expired, wrong or not trusted", "TLS certificate", "theirs, or our setting tls.trust"},
	fault.CauseTLS:            {"TLS handshake fails", "TLS", ""},
	fault.CauseProxy:          {"our proxy refuses the connection", "our proxy", "ours: the proxy"},
	fault.CauseProxyAuth:      {"our proxy asks for a login", "our proxy", "ours: the proxy"},
	fault.CauseReset:          {"it breaks the connection", "reset", ""},
	fault.CauseTimeout:        {"no answer in time", "time-out", ""},
}

// cause is why the partner does not answer, long and short.
func (t telling) cause() (long, short string) {
	o := t.s.Outage
	c := causes[o.Cause]
	long, short = c.text, c.short
	if long == "" && o.Status != 0 {
		long, short = "it answers "+number(o.Status), number(o.Status)
	}
	detail := clip(clean(o.Detail), maxText)
	switch {
	case long == "":
		return detail, ""
	case detail != "" && detail != long:
		long += " (" + detail + ")"
	}
	return long, short
}

// side is the sentence on whose side it probably is, long and short.
func (t telling) side() (long, short string) {
	if t.hook() {
		return "ours: the system that inbox.webhook names", "our side"
	}
	if own := causes[t.s.Outage.Cause].side; own != "" {
		return own, strings.SplitN(own, ":", 2)[0]
	}
	fine := number(t.s.Fine)
	n := t.s.Others
	switch {
	case n <= 0:
		return "not known, it is the only partner", "side not known"
	case t.s.Fine == n:
		return "theirs (" + words.Count(n, "other partner", "other partners") + " fine)", "their side"
	case 2*t.s.Fine >= n:
		return "theirs (" + fine + " of " + number(n) + " other partners fine)", "their side"
	}
	return "perhaps ours (only " + fine + " of " + number(n) + " other partners fine)", "perhaps ours"
}

func draftOutage(t telling) draft {
	switch {
	case t.in.News == NewsOver:
		return t.outageOver()
	case t.in.Stage == Answering:
		return t.outageAnswers()
	}
	return t.outageDown()
}

func (t telling) outageDown() draft {
	o := t.s.Outage
	long, short := t.cause()
	side, shortSide := t.side()
	d := draft{news: "down since " + t.clock(o.Since) + when(short != "", ", "+short)}
	deadline := t.s.Depth.First
	if !deadline.IsZero() {
		d.news = "down, first deadline " + t.clock(deadline)
	}
	if t.in.Told > 0 {
		d.news = "still " + d.news
	}
	next, rest := t.tests()
	unsent := t.s.Depth.Lined + o.Open
	d.lines = []string{
		t.name() + " does not answer since " + t.moment(o.Since) + t.failures() + ".",
		when(long != "", "Cause: "+long),
		"Likely side: " + side + ".",
		"Now: " + words.Count(unsent, "document", "documents") + " not sent" + when(t.s.Letters.Uncertain > 0, "; "+number(t.s.Letters.Uncertain)+" unknown: partner may have it") + ".",
		t.newOnes() + when(next != "", " Next test "+next+rest+"."),
	}
	wait := "wait for the test"
	if t.s.Outage.Cause == fault.CauseTLSTrust {
		wait = "compare the certificate with the partner"
	}
	d.do = trim(wait, t.call(), "known maintenance? Stop until …")
	if t.hook() {
		d.do = []string{"see whether the system behind the webhook runs", wait}
	}
	d.line = join("down "+t.clock(o.Since)+when(short != "", ", "+short)+", "+shortSide,
		number(unsent)+" not sent"+when(t.s.Letters.Uncertain > 0, ", "+number(t.s.Letters.Uncertain)+" unknown"),
		when(!deadline.IsZero(), "first deadline "+t.clock(deadline)),
		when(next != "", "next test "+next))
	return d
}

// failures says how quickly it went wrong: " (5 failures in 8 s)".
func (t telling) failures() string {
	f := t.s.Lane.Breaker.Failures
	if len(f) < 2 {
		return ""
	}
	return " (" + number(len(f)) + " failures in " + words.Span(f[len(f)-1].Sub(f[0])) + ")"
}

// newOnes says what becomes of documents that arrive now.
func (t telling) newOnes() string {
	if t.s.Partner == nil {
		return ""
	}
	if t.hook() {
		return "New ones wait."
	}
	if t.s.Partner.Lane.OnOpen == partner.OpenHold {
		return "New ones wait (on_open: hold)."
	}
	return "New ones become dead letters (on_open: dead-letter)."
}

// tests are the next test and the waits after it.
func (t telling) tests() (next, rest string) {
	b := t.s.Lane.Breaker
	if b.Now() != breaker.Open || b.ReopenAt.IsZero() {
		return "", ""
	}
	next = t.clock(b.ReopenAt)
	if t.s.Partner == nil {
		return next, ""
	}
	policy := t.s.Partner.Breaker
	if t.hook() {
		policy = breaker.Default()
	}
	var waits []string
	wait := policy.Cooldown
	for range b.Trips {
		wait = min(2*wait, policy.MaxCooldown)
	}
	for len(waits) < 3 && wait > 0 && wait < policy.MaxCooldown {
		wait = min(2*wait, policy.MaxCooldown)
		waits = append(waits, number(int(wait/time.Minute)))
	}
	if len(waits) == 0 || policy.Cooldown < time.Minute {
		return next, ""
	}
	return next, ", then " + strings.Join(waits, ", ") + " min"
}

func (t telling) outageAnswers() draft {
	o := t.s.Outage
	l := t.s.Letters
	if o.Open == 0 {
		return draft{news: "answers again, nothing sent yet", lines: []string{
			t.down(),
			"No document of this outage is open. It is over when the next document is delivered.",
			t.was(),
		}}
	}
	still := when(t.in.News != NewsAnswers, ", still")
	d := draft{news: "answers again" + still + ", " + number(o.Open) + " NOT delivered"}
	d.lines = []string{
		t.down() + " " + join(
			when(l.Untried > 0, number(l.Untried)+" never tried"),
			when(l.Tried > 0, number(l.Tried)+" tried, did not arrive"),
			when(l.Uncertain > 0, number(l.Uncertain)+" unknown"),
			when(l.Overdue > 0, number(l.Overdue)+" past due")) + when(l.More, " (of the newest "+number(l.Read)+")") + ".",
		t.was(),
		"Nothing moves until you decide" + t.where(),
	}
	if t.s.Partner != nil && t.s.Partner.Lane.AutoReplay != nil {
		d.lines[2] = "auto_replay takes what it may; the rest waits until you decide" + t.where()
	}
	d.line = join("answers again", number(o.Open)+" *NOT delivered*", when(l.Uncertain > 0, number(l.Uncertain)+" unknown"))
	return d
}

// was is whose side it was.
func (t telling) was() string {
	if t.hook() {
		return "Likely side: it was ours, the system that inbox.webhook names."
	}
	return "Likely side: it was theirs."
}

// where is where somebody decides; a page need not say it of itself.
func (t telling) where() string {
	if t.link() == "" {
		return "."
	}
	return ": " + t.link()
}

// down says how long the partner was down.
func (t telling) down() string {
	o := t.s.Outage
	until := o.Recovered
	if until.IsZero() || !o.Answering.IsZero() && o.Answering.Before(until) {
		until = o.Answering
	}
	if until.IsZero() {
		until = o.Ended
	}
	if until.IsZero() {
		return "Down since " + t.clock(o.Since) + "."
	}
	return "Down " + t.clock(o.Since) + "–" + t.clock(until) + " (" + words.Span(until.Sub(o.Since)) + ")."
}

func (t telling) outageOver() draft {
	o := t.s.Outage
	if o.Withdrawn {
		return draft{news: "was not down: it was our own network", lines: []string{
			"The outage since " + t.clock(o.Since) + " was our own network's; its documents are in line again, none is lost.",
		}}
	}
	d := draft{news: ": all " + number(o.Letters) + " settled, 0 lost"}
	switch {
	case o.Letters == 0:
		d.news = "delivers again, 0 lost"
	case o.Letters == 1:
		d.news = ": the 1 letter settled, 0 lost"
	}
	d.line = strings.TrimPrefix(d.news, ": ")
	d.lines = []string{t.down(), t.ends()}
	return d
}

// ends counts how letters ended: "1,235 delivered · 3 discarded".
func (t telling) ends() string {
	var parts []string
	for _, as := range closings {
		if n := t.in.Ended[as.name]; n > 0 {
			parts = append(parts, number(n)+" "+as.text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Letters: " + join(parts...) + "."
}

// closings are the ends of letters as a text counts them.
var closings = []struct{ name, text string }{
	{"delivered", "delivered"},
	{"delivered-late", "delivered, receipt late"},
	{"confirmed", "closed on the partner's word"},
	{"superseded", "replaced"},
	{"discarded", "discarded by an operator"},
	{"withdrawn", "back in line"},
	{"failed-again", "replays that failed again"},
}

func trim(steps ...string) []string {
	var kept []string
	for _, s := range steps {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
