package alerts

import (
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/partner"
)

// drafts holds the text of every kind of incident.
var drafts = map[Kind]func(telling) draft{
	KindOutage:        draftOutage,
	KindLetters:       draftLetters,
	KindBlocked:       draftBlocked,
	KindOrphaned:      draftOrphaned,
	KindSettings:      draftSettings,
	KindDeadline:      draftDeadline,
	KindCertificate:   draftCertificate,
	KindIsolated:      draftIsolated,
	KindStore:         draftStore,
	KindChannel:       draftChannel,
	KindFetch:         draftFetch,
	KindHealth:        draftHealth,
	KindKeyReused:     noted(": key used twice with other content", "ours: the producer uses one key for two documents", "have the producer give each document its own key"),
	KindContradiction: noted(": receipts contradict each other", "theirs", "ask the partner what became of the document"),
	KindWarnBy:        noted(": later than it should be", "see the lane", "look why it waits"),
	KindOverdue:       noted(": past its due time, goes on", "see the lane", "ask whether they still want it"),
	KindDuplicate:     noted(": delivered, partner says it already has it", "theirs, nothing to repair", ""),
	KindDefect:        noted(": edigw has a defect", "ours: this program", "please report it with the log"),
	KindEvidence:      noted(": receipt came and could not be kept as evidence", "ours: the disk of the data folder", "make room there; ask the partner to send the receipt again if you may need the proof"),
	KindLockout:       draftLockout,
	KindRestored:      noted("restored from a backup, lanes stopped", "ours", "look at the uncertain ones, then edigw partner start --all-partners"),
}

// what names the kinds that end without words of their own.
var what = map[Kind]string{
	KindBlocked: "the lane's stop", KindOrphaned: "the missing settings file", KindSettings: "the settings file",
	KindLockout: "the lock-out", KindCertificate: "the certificate", KindHealth: "the dead-letter queue", KindDeadline: "the deadline",
	KindFetch: "fetching their messages",
}

// noted is the text of kinds that gather single facts.
func noted(news, side, do string) func(telling) draft {
	return func(t telling) draft {
		d := draft{news: news, do: trim(do)}
		if t.in.Partner == "" && news[0] == ':' {
			d.news = news[2:]
		}
		if t.in.Events > 1 {
			d.news += " (" + number(t.in.Events) + " times)"
		}
		d.line = trimColon(d.news)
		d.lines = []string{sentence(t.in.Detail), "Likely side: " + side + "."}
		return d
	}
}

func draftBlocked(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	d := draft{news: ": lane stands behind a dead letter, " + number(t.s.Depth.Lined) + " wait"}
	d.line = trimColon(d.news)
	d.lines = []string{"First in, first out: nothing goes out before that letter is settled.", "Likely side: see the letter.", sentence(t.in.Detail)}
	d.do = trim("settle the letter: replay, close as delivered, or discard it", t.call())
	return d
}

func draftOrphaned(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	return draft{news: ": its settings file is gone, " + number(t.s.Depth.Lined) + " wait", lines: []string{
		"Nothing is dropped, and nothing is sent: " + words.Count(t.s.Depth.Lined, "document waits", "documents wait") + ".",
		"Likely side: ours, the file partners/" + t.in.Partner + ".yaml.",
	}, do: []string{"put the file back and reload, or settle what waits"}}
}

func draftSettings(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	news := "settings file is bad"
	effect := "Its last good settings stay in force."
	side := "Likely side: ours, edigw.yaml."
	if t.in.Partner != "" {
		side = "Likely side: ours, the file partners/" + t.in.Partner + ".yaml."
		news = ": " + news
	}
	if p := t.s.Partner; p != nil {
		if n := len(p.Problems); n > 0 {
			news += " (" + words.Count(n, "mistake", "mistakes") + ")"
		}
		if p.Misconfigured {
			effect = "It was never good: documents are accepted and wait, nothing is sent."
		}
	}
	return draft{news: news, line: trimColon(news), lines: []string{effect, sentence(t.in.Detail), side},
		do: []string{"run edigw check, correct the file, reload"}}
}

func draftDeadline(t telling) draft {
	if t.in.News == NewsOver {
		return draft{news: ": first deadline no longer at risk", line: "first deadline no longer at risk", lines: []string{sentence(t.in.Detail)}}
	}
	at := t.s.Depth.First
	d := draft{news: ": first deadline " + t.clock(at) + ", lane not sending"}
	d.line = trimColon(d.news)
	d.lines = []string{
		"A document due " + t.moment(at) + " (in " + words.Span(at.Sub(t.now)) + ") waits in a lane that does not send; " + number(t.s.Depth.Lined) + " wait in all.",
		sentence(t.in.Detail),
		"Likely side: see the lane.",
	}
	d.do = trim("clear the lane, or tell the partner", t.call())
	return d
}

func draftCertificate(t telling) draft {
	c := t.s.Certificate
	if t.in.News == NewsOver || c == nil {
		return draft{}
	}
	use := uses[c.Use]
	left := c.DaysLeft(t.now)
	news := use.name + " ends in " + words.Count(left, "day", "days")
	if left < 0 {
		news = use.name + " has ended"
	}
	end := c.Ends.UTC().Add(-time.Second).Format("2 Jan 15:04 UTC") // the last minute of its use
	stops := "What stops then: "
	if left < 0 {
		stops = "What stopped: "
	}
	side, do := "theirs: ask for the new one.", trim("ask for the new certificate, import it", t.call())
	if partner.HoldsKey(c.Use) || c.Use == partner.UseTLSServer {
		side, do = "ours: a new key is needed.", renew(c.Use, t.call())
	}
	d := draft{news: news + " (" + end + ")"}
	d.line = d.news
	d.lines = []string{
		stops + use.stops + ".",
		"Successor staged: " + staged(*c) + ". Serial " + c.Serial + ", SHA-256 " + c.SHA256 + ", file " + clean(c.File) + ".",
		"Likely side: " + side,
	}
	d.do = do
	return d
}

// staged says what takes over from a certificate that nothing takes over from
// in time.
func staged(c partner.CertificateInfo) string {
	if c.Late == "" {
		return "none"
	}
	return "serial " + c.Late + ", but it begins only " + c.LateBegin.UTC().Format("2 Jan 15:04 UTC") + ": none is in force for " + words.Span(c.LateBegin.Sub(c.Ends))
}

// renew says how a key of ours is followed by the next.
func renew(use, call string) []string {
	switch use {
	case partner.UseTLSClient:
		return trim("make or order a new key", "send the partner its certificate, note who confirmed it", "edigw cert import with the day agreed", call)
	case partner.UseTLSServer:
		return trim("make or order a new key", "tell partners who pin the certificate", "put it into listen.partners.tls, edigw reload")
	}
	return trim("edigw cert new, or order one", "send all partners its certificate, note who confirmed it", "edigw cert import edigw with the day agreed")
}

func draftIsolated(t telling) draft {
	if t.in.News == NewsOver {
		return draft{bare: true, news: "Our own network works again, after " + words.Span(t.in.Over.Sub(t.in.Opened)), lines: []string{
			"Lanes send again; what was blamed on partners meanwhile is taken back.",
		}}
	}
	i := t.s.Isolation
	change := "none"
	if s := t.s.Settings; !s.At.IsZero() && t.now.Sub(s.At) < 24*time.Hour {
		change = t.clock(s.At) + ", " + s.Text
	}
	return draft{bare: true, news: "Our own network: " + number(i.Partners) + " of " + number(i.Of) + " partners unreachable since " + t.clock(i.Since), lines: []string{
		"Nothing dead-lettered; " + number(t.s.Waiting) + " wait. Check firewall, proxy, DNS. Last settings change: " + clean(change) + ".",
		"Likely side: ours, " + number(i.Partners) + " partners do not fail together.",
	}}
}

// What lacks while the ledger still commits: the fact "what" of
// queue.EventStoreBroken, and the cause of the incident.
const (
	RoomShort    = "room"   // the disk has no room for documents
	BodiesBroken = "bodies" // the database of small documents cannot commit
	FilesShort   = "files"  // no descriptor is left for connections
)

func draftStore(t telling) draft {
	switch t.in.Cause {
	case RoomShort:
		return draftRoom(t)
	case FilesShort:
		return draftFiles(t)
	}
	if t.in.News == NewsOver {
		return draft{bare: true, news: "The store works again, after " + words.Span(t.in.Over.Sub(t.in.Opened)), lines: []string{"Nothing accepted was lost."}}
	}
	return draft{bare: true, news: "The store cannot commit since " + t.clock(t.in.Opened), lines: []string{
		sentence(t.in.Detail),
		"New documents are refused (507 or 503); what was accepted is safe.",
		"Likely side: ours, the disk of the data folder.",
	}, do: []string{"make room on the disk, look at its health"}}
}

func draftRoom(t telling) draft {
	if t.in.News == NewsOver {
		return draft{bare: true, news: "There is room for documents again, after " + words.Span(t.in.Over.Sub(t.in.Opened)), lines: []string{"Nothing accepted was lost."}}
	}
	return draft{bare: true, news: "No room for documents since " + t.clock(t.in.Opened), lines: []string{
		sentence(t.in.Detail),
		"New documents are refused (507 or 503); what was accepted goes out, and its results are recorded.",
		"Likely side: ours, the disk of the data folder.",
	}, do: []string{"make room on the disk"}}
}

func draftFiles(t telling) draft {
	if t.in.News == NewsOver {
		return draft{bare: true, news: "There are open files for connections again, after " + words.Span(t.in.Over.Sub(t.in.Opened)), lines: []string{"No attempt was used up, no partner was blamed."}}
	}
	return draft{bare: true, news: "No open file left for connections since " + t.clock(t.in.Opened), lines: []string{
		sentence(t.in.Detail),
		"Documents wait, no attempt is used up; partners may be turned away.",
		"Likely side: ours, the limit on open files of this machine or service.",
	}, do: []string{"raise LimitNOFILE, or lower limits.sockets", "see who holds connections"}}
}

func draftChannel(t telling) draft {
	if t.in.News == NewsOver {
		return draft{bare: true, news: "Alert channel " + t.in.Cause + " works again", lines: []string{
			"It failed since " + t.clock(t.in.Opened) + "; what it could not take follows.",
		}}
	}
	return draft{bare: true, news: "Alert channel " + t.in.Cause + " fails since " + t.clock(t.in.Opened), lines: []string{
		sentence(t.in.Detail),
		"Its alerts are kept and tried again. This one comes over another channel.",
		"Likely side: ours, alerts." + t.in.Cause + " in edigw.yaml or its server.",
	}, do: []string{"look at the server and at the settings"}}
}

// maxName bounds the name that somebody typed; access bounds it too.
const maxName = 63

// draftLockout names what was locked last. Of what was typed nothing else is
// told: it may be a password in the wrong field.
func draftLockout(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	news := "sign-in locked after wrong passwords: " + clip(clean(t.in.Facts["user"]), maxName)
	if t.in.Events > 1 {
		news += " (" + number(t.in.Events) + " lock-outs)"
	}
	return draft{news: news, line: news, lines: []string{
		"Ten wrong passwords for a name lock it for 15 min, also for the right one.",
		"Likely side: somebody forgot a password, or somebody tries passwords. The audit page shows from where.",
	}, do: []string{"ask that person", "edigw user passwd lifts the lock", "keep the console away from networks that need not reach it"}}
}

// draftFetch tells what keeps from us what a partner holds for us: nobody else
// notices that nothing comes.
func draftFetch(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	f, since := t.in.Facts, t.in.Opened
	if at, err := time.Parse(time.RFC3339, f["since"]); err == nil {
		since = at
	}
	side := "theirs"
	if f["side"] == "ours" {
		side = "ours"
	}
	d := draft{news: ": their messages cannot be fetched since " + t.clock(since)}
	d.line = trimColon(d.news) + " · side: " + side
	d.lines = []string{
		sentence(upper(f["why"])),
		"What they hold for us stays there: nothing is lost, and nothing arrives. It is tried again by itself.",
		"Likely side: " + side + ".",
	}
	call := t.call()
	if side == "ours" {
		call = ""
	}
	d.do = trim(f["do"], call)
	return d
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func draftHealth(t telling) draft {
	if t.in.News == NewsOver {
		return draft{}
	}
	h := t.s.Health
	news := words.Count(h.Letters, "dead letter", "dead letters") + ", oldest " + words.Span(h.Oldest)
	if t.in.Partner != "" {
		news = ": " + news
	}
	return draft{news: news, line: trimColon(news), lines: []string{sentence(t.in.Detail), "Likely side: see the letters; they wait for a decision."},
		do: []string{"replay, settle or discard them"}}
}

func sentence(s string) string {
	if s = clean(s); s == "" {
		return ""
	}
	if last := s[len(s)-1]; last != '.' && last != '!' && last != '?' {
		s += "."
	}
	return s
}

func trimColon(s string) string {
	if len(s) > 1 && s[:2] == ": " {
		return s[2:]
	}
	return s
}
