package alerts

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func berlin(t testing.TB) *time.Location {
	t.Helper()
	z, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func northwind(t testing.TB) *partner.Partner {
	return &partner.Partner{ID: "northwind", Name: "Northwind Retail DE", Zone: berlin(t), Stage: partner.StageLive, Notify: partner.Notify{Tier: 1},
		Owner:   partner.Owner{Team: "EDI DACH", Mail: "edi-dach@acme.example", Phone: "+49 89 5550100", Note: "24/7"},
		Breaker: breaker.Default(), Lane: partner.Lane{OnOpen: partner.OpenDeadLetter}}
}

// outageTelling is the outage of words.md.
func outageTelling(t testing.TB) telling {
	failures := []time.Time{t0.Add(-8 * time.Second), t0.Add(-6 * time.Second), t0.Add(-4 * time.Second), t0.Add(-2 * time.Second), t0}
	return telling{
		in: Incident{ID: "OUT-231", Kind: KindOutage, Partner: "northwind", Stage: Running, News: NewsOpened, Opened: t0},
		s: Situation{Found: true, Partner: northwind(t), Others: 211, Fine: 211,
			Outage:  queue.Outage{ID: "OUT-231", Partner: "northwind", Since: t0, Cause: fault.CauseRefused, Detail: "as2.northwind.example:443", Open: 13},
			Lane:    queue.Lane{Breaker: breaker.State{Phase: breaker.Open, ReopenAt: t0.Add(5 * time.Minute), Failures: failures}},
			Depth:   queue.Depth{Lined: 1, First: t0.Add(50 * time.Minute)},
			Letters: Letters{Open: 13, Uncertain: 1}},
		now: t0.Add(30 * time.Second), base: "https://edigw.acme.example", zone: berlin(t), sev: Page,
	}
}

func TestOutageReadsAsAgreed(t *testing.T) {
	t.Parallel()
	down := outageTelling(t)
	answers := outageTelling(t)
	answers.in.Stage, answers.in.News = Answering, NewsAnswers
	answers.s.Outage.Recovered = t0.Add(3*time.Hour + 52*time.Minute)
	answers.now = answers.s.Outage.Recovered.Add(30 * time.Second)
	answers.s.Outage.Open = 1240
	answers.s.Letters = Letters{Open: 1240, Untried: 1198, Tried: 39, Uncertain: 3, Overdue: 812}
	over := answers
	over.in.Stage, over.in.News, over.in.Told = Over, NewsOver, 2
	over.in.Ended = map[string]int{"delivered": 1238, "confirmed": 2}
	over.s.Outage.Open, over.s.Outage.Letters = 0, 1240
	over.sev = Info
	withdrawn := over
	withdrawn.s.Outage.Withdrawn = true
	for name, c := range map[string]struct {
		t    telling
		want Text
	}{
		"down": {down, Text{
			Subject: "[PAGE] Northwind Retail DE down, first deadline 03:00 [OUT-231]",
			Body: `Northwind Retail DE does not answer since 02:10:04 CET (5 failures in 8 s).
Cause: connection refused (as2.northwind.example:443)
Likely side: theirs (211 other partners fine).
Now: 14 documents not sent; 1 unknown: partner may have it.
New ones become dead letters (on_open: dead-letter). Next test 02:15, then 10, 20, 30 min.
Do: 1 wait for the test  2 call +49 89 5550100 (24/7)  3 known maintenance? Stop until …
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/OUT-231
`,
			Lead: "Northwind Retail DE", Line: "down 02:10, refused, their side · 14 not sent, 1 unknown · first deadline 03:00 · next test 02:15",
			Link: "https://edigw.acme.example/outages/OUT-231"}},
		"answers again": {answers, Text{
			Subject: "[PAGE] Northwind Retail DE answers again, 1,240 NOT delivered [OUT-231]",
			Body: `Down 02:10–06:02 (3 h 52 min). 1,198 never tried · 39 tried, did not arrive · 3 unknown · 812 past due.
Likely side: it was theirs.
Nothing moves until you decide: https://edigw.acme.example/outages/OUT-231
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/OUT-231
`,
			Lead: "Northwind Retail DE", Line: "answers again · 1,240 *NOT delivered* · 3 unknown", Link: "https://edigw.acme.example/outages/OUT-231"}},
		"over": {over, Text{
			Subject: "[OK] Northwind Retail DE: all 1,240 settled, 0 lost [OUT-231]",
			Body: `Down 02:10–06:02 (3 h 52 min).
Letters: 1,238 delivered · 2 closed on the partner's word.
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/OUT-231
`,
			Lead: "Northwind Retail DE", Line: "all 1,240 settled, 0 lost", Link: "https://edigw.acme.example/outages/OUT-231"}},
		"withdrawn": {withdrawn, Text{
			Subject: "[OK] Northwind Retail DE was not down: it was our own network [OUT-231]",
			Body: `The outage since 02:10 was our own network's; its documents are in line again, none is lost.
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/OUT-231
`,
			Lead: "Northwind Retail DE", Line: "was not down: it was our own network", Link: "https://edigw.acme.example/outages/OUT-231"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, compose(c.t)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestNeedsFixNamesTheSuspect(t *testing.T) {
	t.Parallel()
	c := telling{
		in: Incident{ID: "INC-88", Kind: KindLetters, Partner: "northwind", Cause: "decryption-failed", News: NewsOpened, Opened: t0},
		s: Situation{Partner: northwind(t), Lane: queue.Lane{Fix: &queue.Fix{Cause: "decryption-failed", Detail: "no key for serial 4F:22"}},
			Depth: queue.Depth{Lined: 47}, Letters: Letters{Open: 3, Detail: "no key for serial 4F:22"},
			Encrypts: &partner.CertificateInfo{Serial: "4F:22", Ends: time.Date(2026, 12, 14, 22, 59, 59, 0, time.UTC)}},
		now: t0.Add(time.Minute), base: "https://edigw.acme.example", zone: berlin(t), sev: Ticket,
	}
	got := compose(c)
	want := Text{
		Subject: "[TICKET] Northwind Retail DE: 3 rejected, lane stopped, 47 wait [INC-88]",
		Body: `All 3 since 02:10: decryption-failed (their words: "no key for serial 4F:22").
We encrypt to serial 4F:22, valid to 2026-12-14.
Likely side: theirs: they changed their certificate.
Not lost, not tried: 47.
Do: 1 ask for the new certificate, import it, press Replay 3 and start  2 call +49 89 5550100 (24/7)
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/INC-88
`,
		Lead: "Northwind Retail DE", Line: "3 rejected, lane stopped, 47 wait · side: theirs: they changed their certificate", Link: "https://edigw.acme.example/outages/INC-88",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// A message of theirs was refused by us, and no words of ours are called theirs.
func TestRefusedMessagesOfAPartnerAreOurRefusal(t *testing.T) {
	t.Parallel()
	for reason, want := range map[fault.Reason]string{fault.ReasonSignature: "received, and refused by us", fault.ReasonFormat: "received, and refused by us", fault.ReasonLocal: "received, and not handed on"} {
		in := Incident{ID: "INC-88", Kind: KindLetters, Partner: "northwind", Cause: string(reason), News: NewsOpened, Opened: t0, Facts: map[string]string{"direction": "in", "reason": string(reason)}}
		d := draftLetters(telling{in: in, s: Situation{Partner: northwind(t), Letters: Letters{Open: 1, Detail: "message is encrypted for serial 59"}}, now: t0, zone: berlin(t)})
		text := d.news + strings.Join(d.lines, "\n") + strings.Join(d.do, "\n")
		if !strings.Contains(text, want) || strings.Contains(text, "their words") || strings.Contains(text, "rejected") || strings.Contains(text, "eplay") {
			t.Errorf("%s: %s", reason, text)
		}
	}
}

func TestSubjectsReadAsAgreed(t *testing.T) {
	t.Parallel()
	p := northwind(t)
	ends := time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		in   Incident
		s    Situation
		sev  Severity
		want string
	}{
		"certificate": {Incident{Kind: KindCertificate, Partner: "northwind"}, Situation{Partner: p, Certificate: &partner.CertificateInfo{Use: "encrypt", Serial: "4F:22", Ends: t0.Add(14*24*time.Hour + time.Minute)}}, Ticket,
			"[TICKET] Northwind Retail DE encryption certificate ends in 14 days (15 Dec 01:11 UTC) [X-1]"},
		"own certificate has ended": {Incident{Kind: KindCertificate}, Situation{Certificate: &partner.CertificateInfo{Use: "sign", Ends: ends.AddDate(0, 0, -15)}}, Ticket,
			"[TICKET] edigw signing certificate has ended (29 Nov 23:59 UTC) [X-1]"},
		"our own network": {Incident{Kind: KindIsolated}, Situation{Isolation: queue.Isolation{Since: t0, Partners: 38, Of: 38}, Waiting: 412}, Page,
			"[PAGE] Our own network: 38 of 38 partners unreachable since 01:10 [X-1]"},
		"one letter": {Incident{Kind: KindLetters, Partner: "northwind", Cause: "format"}, Situation{Partner: p, Letters: Letters{Open: 1}}, Ticket,
			"[TICKET] Northwind Retail DE: 1 malformed [X-1]"},
		"a cause that nobody knows": {Incident{Kind: KindLetters, Partner: "northwind", Cause: "new"}, Situation{Partner: p, Letters: Letters{Open: 2}}, Ticket,
			"[TICKET] Northwind Retail DE: 2 not delivered [X-1]"},
		"channel": {Incident{Kind: KindChannel, Cause: "mail"}, Situation{}, Page, "[PAGE] Alert channel mail fails since 01:10 [X-1]"},
		"orphaned": {Incident{Kind: KindOrphaned, Partner: "northwind"}, Situation{Depth: queue.Depth{Lined: 12}}, Ticket,
			"[TICKET] northwind: its settings file is gone, 12 wait [X-1]"},
		"misconfigured": {Incident{Kind: KindSettings, Partner: "northwind"}, Situation{Partner: &partner.Partner{Name: "Northwind", Misconfigured: true, Problems: make([]partner.Problem, 2)}}, Ticket,
			"[TICKET] Northwind: settings file is bad (2 mistakes) [X-1]"},
		"edigw.yaml": {Incident{Kind: KindSettings}, Situation{}, Ticket, "[TICKET] edigw settings file is bad [X-1]"},
		"key reused": {Incident{Kind: KindKeyReused, Partner: "northwind", Events: 3}, Situation{Partner: p}, Ticket, "[TICKET] Northwind Retail DE: key used twice with other content (3 times) [X-1]"},
		"no room":    {Incident{Kind: KindStore, Cause: "room"}, Situation{}, Page, "[PAGE] No room for documents since 01:10 [X-1]"},
		"no files":   {Incident{Kind: KindStore, Cause: "files"}, Situation{}, Page, "[PAGE] No open file left for connections since 01:10 [X-1]"},
		"evidence":   {Incident{Kind: KindEvidence, Partner: "northwind"}, Situation{Partner: p}, Ticket, "[TICKET] Northwind Retail DE: receipt came and could not be kept as evidence [X-1]"},
		"fetching": {Incident{Kind: KindFetch, Partner: "northwind", Facts: map[string]string{"since": "2026-12-01T01:05:00Z", "why": "they answered EBMS:0101 FailedAuthentication", "do": "ask them"}}, Situation{Partner: p}, Ticket,
			"[TICKET] Northwind Retail DE: their messages cannot be fetched since 01:05 [X-1]"},
		"lock-out": {Incident{Kind: KindLockout, Events: 1, Facts: map[string]string{"user": "kim", "locked": "true"}}, Situation{}, Ticket, "[TICKET] edigw sign-in locked after wrong passwords: kim [X-1]"},
		"lock-outs": {Incident{Kind: KindLockout, Events: 3, Facts: map[string]string{"user": strings.Repeat("x", 80) + "\r\nBcc: all"}}, Situation{}, Ticket,
			"[TICKET] edigw sign-in locked after wrong passwords: " + strings.Repeat("x", 62) + "… (3 lock-outs) [X-1]"},
		"store":        {Incident{Kind: KindStore}, Situation{}, Page, "[PAGE] The store cannot commit since 01:10 [X-1]"},
		"deadline":     {Incident{Kind: KindDeadline, Partner: "northwind"}, Situation{Partner: p, Depth: queue.Depth{First: t0.Add(time.Hour)}}, Page, "[PAGE] Northwind Retail DE: first deadline 02:10, lane not sending [X-1]"},
		"dead letters": {Incident{Kind: KindHealth}, Situation{Health: Health{Letters: 140, Oldest: 5 * time.Hour}}, Ticket, "[TICKET] edigw 140 dead letters, oldest 5 h [X-1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := c.in
			in.ID, in.News, in.Stage, in.Opened = "X-1", NewsOpened, Running, t0
			got := compose(telling{in: in, s: c.s, now: t0, base: "https://edigw.acme.example", zone: time.UTC, sev: c.sev})
			if got.Subject != c.want {
				t.Errorf("subject\n%s, want\n%s", got.Subject, c.want)
			}
			if !strings.Contains(got.Body, "Likely side: ") {
				t.Errorf("the body does not say on whose side it is:\n%s", got.Body)
			}
		})
	}
}

func TestEveryTextKeepsTheRules(t *testing.T) {
	t.Parallel()
	p := northwind(t)
	rapid.Check(t, func(t *rapid.T) {
		kinds := slices.Sorted(maps.Keys(manners))
		name := rapid.String().Draw(t, "name")
		q := *p
		q.Name = name
		words := rapid.SampledFrom([]string{"their words", "two\r\nSubject: lines", "\u202eright to left", "\x00\xff", strings.Repeat("long ", 500)})
		c := telling{now: t0.Add(time.Hour), base: "https://edigw.acme.example", zone: time.UTC, sev: rapid.SampledFrom([]Severity{Page, Ticket, Info}).Draw(t, "severity")}
		c.in = Incident{ID: "INC-7", Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Partner: "northwind", Stage: rapid.SampledFrom([]Stage{Running, Answering, Over}).Draw(t, "stage"),
			News: rapid.SampledFrom([]News{NewsOpened, NewsChanged, NewsReminder, NewsAnswers, NewsOver}).Draw(t, "news"), Told: rapid.IntRange(0, 2).Draw(t, "told"),
			Opened: t0, Over: t0.Add(time.Minute), Events: 2, Cause: rapid.SampledFrom([]string{"decryption-failed", "rejected", "mail", ""}).Draw(t, "cause"),
			Detail: clip(clean(words.Draw(t, "detail")), maxText)}
		c.s = Situation{Partner: &q, Found: true, Outage: queue.Outage{ID: "INC-7", Since: t0, Detail: words.Draw(t, "outage"), Cause: rapid.SampledFrom([]fault.Cause{"", fault.CauseDNS, fault.CauseTLSTrust}).Draw(t, "fault"), Open: rapid.IntRange(0, 5000).Draw(t, "open")},
			Letters: Letters{Open: rapid.IntRange(0, 5000).Draw(t, "letters"), Detail: clean(words.Draw(t, "letter"))}, Others: rapid.IntRange(-1, 300).Draw(t, "others"),
			Certificate: &partner.CertificateInfo{Use: partner.UseVerify, Serial: "4F", Ends: t0},
			Settings:    Setting{At: t0, Text: words.Draw(t, "settings")}}
		if c.in.News == NewsOver {
			c.in.Stage = Over
		}
		got := compose(c)
		for what, s := range map[string]string{"subject": got.Subject, "lead": got.Lead, "line": got.Line} {
			if strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
				t.Fatalf("%s is more than a line: %q", what, s)
			}
		}
		if strings.ContainsFunc(strings.ReplaceAll(got.Body, "\n", ""), unicode.IsControl) {
			t.Fatalf("body with control characters: %q", got.Body)
		}
		if !strings.HasPrefix(got.Subject, "[") || !strings.HasSuffix(got.Subject, " [INC-7]") || utf8.RuneCountInString(got.Subject) > 160 {
			t.Fatalf("subject: %q", got.Subject)
		}
		if !strings.Contains(got.Body, "+49 89 5550100") || !strings.Contains(got.Body, "https://edigw.acme.example/outages/INC-7") {
			t.Fatalf("body without phone or link: %q", got.Body)
		}
		if c.in.News != NewsOver && c.in.Stage != Over && !strings.Contains(got.Body, "ikely side: ") {
			t.Fatalf("body does not say on whose side it is: %q", got.Body)
		}
	})
}

func TestLongNamesAreCutAndNotTheNews(t *testing.T) {
	t.Parallel()
	c := outageTelling(t)
	c.s.Partner.Name = "Northwind Retail International Procurement Holding Deutschland GmbH & Co. KG"
	got := compose(c).Subject
	if head := string([]rune(got)[:newsWidth]); !strings.Contains(head, "down, first deadline 03:00") {
		t.Errorf("the first %d characters do not carry the news: %q", newsWidth, head)
	}
}

func TestSideIsWeighed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others, fine int
		cause        fault.Cause
		want         string
	}{
		"all others fine":       {211, 211, "", "theirs (211 other partners fine)"},
		"some others not":       {211, 200, "", "theirs (200 of 211 other partners fine)"},
		"most others not":       {10, 3, "", "perhaps ours (only 3 of 10 other partners fine)"},
		"the only partner":      {0, 0, "", "not known, it is the only partner"},
		"our proxy":             {10, 10, fault.CauseProxy, "ours: the proxy"},
		"one other partner":     {1, 1, "", "theirs (1 other partner fine)"},
		"certificate not valid": {10, 10, fault.CauseTLSTrust, "theirs, or our setting tls.trust"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := telling{s: Situation{Others: c.others, Fine: c.fine, Outage: queue.Outage{Cause: c.cause}}}
			if got, _ := x.side(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestCertificateTextsSayWhatFollows: what stops, what is staged, and who has to
// do what; an end that has come has words of its own.
func TestCertificateTextsSayWhatFollows(t *testing.T) {
	t.Parallel()
	p := northwind(t)
	base := partner.CertificateInfo{Use: partner.UseEncrypt, Serial: "4F:22", SHA256: "9A:1C", File: "keys/northwind.pem", Ends: t0.Add(14*24*time.Hour + time.Minute)}
	for name, c := range map[string]struct {
		change  func(*partner.CertificateInfo)
		partner *partner.Partner
		want    []string
	}{
		"nothing staged": {func(*partner.CertificateInfo) {}, p,
			[]string{"What stops then: everything we send them.", "Successor staged: none. Serial 4F:22, SHA-256 9A:1C, file keys/northwind.pem.", "Likely side: theirs", "import it", "+49 89 5550100"}},
		"the next comes late": {func(c *partner.CertificateInfo) { c.Late, c.LateBegin = "5A:01", c.Ends.Add(72*time.Hour) }, p,
			[]string{"Successor staged: serial 5A:01, but it begins only", "none is in force for 3 d"}},
		"ended":     {func(c *partner.CertificateInfo) { c.Ends = t0.Add(-time.Hour) }, p, []string{"certificate has ended", "What stopped: everything we send them."}},
		"ours":      {func(c *partner.CertificateInfo) { c.Use = partner.UseSign }, nil, []string{"Likely side: ours", "send all partners its certificate, note who confirmed it", "edigw cert import edigw"}},
		"our login": {func(c *partner.CertificateInfo) { c.Use = partner.UseTLSClient }, p, []string{"Likely side: ours", "send the partner its certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := base
			c.change(&i)
			in := Incident{ID: "X-1", Kind: KindCertificate, News: NewsOpened, Stage: Running, Opened: t0}
			if c.partner != nil {
				in.Partner = "northwind"
			}
			got := compose(telling{in: in, s: Situation{Partner: c.partner, Certificate: &i}, now: t0, base: "https://edigw.acme.example", zone: time.UTC, sev: Ticket})
			all := got.Subject + "\n" + got.Body
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q is missing in\n%s", want, all)
				}
			}
		})
	}
}
