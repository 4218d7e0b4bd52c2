package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/store/sqlite/meter"
)

// TestFigureConsole is B6: the pages of the console with very many letters. The
// queries of each page, what they give and what SQLite reads for them are
// counted with few letters and with ten times as many: they must not grow.
func TestFigureConsole(t *testing.T) {
	figureAlone(t)
	if err := meter.Watch(); err != nil {
		t.Fatal(err)
	}
	partners, letters := size(10, 10_000), size(40_000, 1_000_000)
	few, many := openCrowd(t, newCrowd(t, partners, letters/10)), openCrowd(t, newCrowd(t, partners, letters))
	t.Logf("%d letters seeded in %.1f s", many.letters, many.seeded.Seconds())
	var rows strings.Builder
	base := many.times(t, "/sign-in")
	for _, p := range many.pages(t) {
		less, more := few.costs(t, p), many.costs(t, p)
		bounded(t, p, less, more)
		if full() {
			took := many.times(t, p)
			fmt.Fprintf(&rows, "%-52s %8.1f %8.1f %8.1f   %7d %7d %9d\n", p, took.ms(0), took.ms(1), took.ms(1)/base.ms(1), more.Statements, more.Rows, more.Steps)
		}
	}
	bulk := many.bulk(t)
	if full() {
		t.Logf("\nB6: %d partners, %d letters; bar: p95 < 100 ms\n%-52s      p50      p95  sign-in×   queries    rows     steps\n%s%s", many.partners, many.letters, "page", rows.String(), bulk)
	}
}

// desk is the console of a crowd, and somebody who looks at it.
type desk struct {
	crowd
	g      *gateway
	base   string
	client *http.Client
	server *httptest.Server
}

// openCrowd opens an installation without starting it: nothing runs but what a
// page asks for.
func openCrowd(t *testing.T, c crowd) desk {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := desk{crowd: c, g: c.open(t), client: &http.Client{Jar: jar}}.fresh(t)
	t.Cleanup(d.server.Close)
	if _, err := d.g.access.AddUser(t.Context(), access.User{Name: "kim", Role: access.RoleAdmin, Payloads: true}, password, fault.Actor{Name: "figures"}); err != nil {
		t.Fatal(err)
	}
	d.post(t, "/sign-in", url.Values{"name": {"kim"}, "password": {password}})
	return d
}

// fresh is the same desk with a console that remembers nothing: what the board
// keeps for half a second must not hide what it costs. Whoever asks for it
// closes its server.
func (d desk) fresh(t *testing.T) desk {
	t.Helper()
	api, err := d.g.operatorSide()
	if err != nil {
		t.Fatal(err)
	}
	before := d.base
	d.server = httptest.NewServer(api.Handler())
	d.base = d.server.URL
	if before != "" { // the session goes on: its cookie is named by the port
		d.client.Jar.SetCookies(at(t, d.base), []*http.Cookie{{Name: sessionCookie(at(t, d.base)), Value: session(t, d.client, at(t, before)), Path: "/"}})
	}
	return d
}

// pages are all pages of the console, with the filters that lead through the
// most.
func (d desk) pages(t *testing.T) []string {
	t.Helper()
	id, partner := crowdMessage(d.letters/200*10+3), crowdPartner(0)
	day := time.Now().AddDate(0, 0, -8).Format(time.DateOnly)
	all := []string{
		"/", "/?show=letters", "/?q=partner-00017", "/?from=20",
		"/partners/" + partner, "/partners/" + crowdPartner(1), "/partners/" + partner + "/settings",
		"/messages", "/messages?q=INV-1717", "/messages?q=INV-1%2A", "/messages?show=failed", "/messages?show=unknown", "/messages?show=overdue", "/messages?show=refused", "/messages?show=line", "/messages?direction=in",
		"/messages?partner=" + partner, "/messages?show=failed&partner=" + partner, "/messages?show=refused&partner=" + partner, "/messages?direction=in&partner=" + partner, "/messages?show=unknown&partner=" + partner, "/messages?to=" + day, "/messages?from=" + day + "&to=" + day,
		"/messages/" + id, "/letters", "/letters?partner=" + partner, "/letters?reason=signature", "/letters?outage=OUT-1", "/letters?cause=decryption-failed", "/letters?partner=" + partner + "&cause=decryption-failed",
		"/letters?partner=" + partner + "&reason=circuit-open&outage=OUT-1", "/letters?status=closed", "/letters?status=all", "/letters?status=replaying", "/letters?status=closed&partner=" + partner, "/letters?status=closed&reason=format",
		"/outages/OUT-1", "/alerts", "/alerts?show=all", "/certificates", "/certificates?show=ending", "/certificates?owner=" + partner, "/audit", "/audit?actor=kim", "/audit?actor=lee", "/audit?partner=" + partner, "/audit?to=" + day, "/users",
	}
	if next := older.FindStringSubmatch(d.read(t, "/letters")); next != nil {
		all = append(all, strings.ReplaceAll(next[1], "&amp;", "&"))
	}
	return all
}

var older = regexp.MustCompile(`href="([^"]*cursor=[^"]*)"`)

// read fetches a page.
func (d desk) read(t *testing.T, path string) string {
	t.Helper()
	resp, err := d.client.Get(d.base + path)
	if err != nil {
		t.Fatal(err)
	}
	return d.answer(t, path, resp)
}

func (d desk) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	resp, err := d.client.PostForm(d.base+path, form)
	if err != nil {
		t.Fatal(err)
	}
	return d.answer(t, path, resp)
}

func (d desk) answer(t *testing.T, path string, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Request.URL.Path == "/sign-in" && path != "/sign-in" {
		t.Fatalf("%s was answered with %d:\n%.2000s", path, resp.StatusCode, body.Bytes())
	}
	return body.String()
}

// costs is what the store did for a page.
func (d desk) costs(t *testing.T, path string) meter.Work {
	t.Helper()
	d = d.fresh(t)
	defer d.server.Close()
	before := meter.Done()
	d.read(t, path)
	return meter.Done().Since(before)
}

// most is what pages with a bound of their own may read beyond what they read
// with few letters: an outage's page counts up to 1,000 of its letters, and for
// the beginning of a reference up to 50,000 messages are looked at.
var most = map[string]meter.Work{"/outages/OUT-1": {Rows: 1000, Steps: 80_000}, "/messages?q=INV-1%2A": {Rows: 20, Steps: 1_600_000}}

// anHour is most of a page that looks for a day: what arrived within an hour of
// its ends.
var anHour = meter.Work{Steps: 100_000}

// bounded holds that a page costs about the same with ten times the letters.
func bounded(t *testing.T, path string, few, many meter.Work) {
	t.Helper()
	spare := most[path]
	if strings.Contains(path, "to=") {
		spare = anHour
	}
	for _, c := range []struct {
		what      string
		few, many int64
		full      int64 // of a list of 50 whose page is full
		most      int64
	}{{"queries", few.Statements, many.Statements, 160, 0}, {"rows", few.Rows, many.Rows, 120, spare.Rows}, {"steps of SQLite", few.Steps, many.Steps, 9000, spare.Steps}} {
		if c.many > max(c.few, c.full)*5/4+c.most {
			t.Errorf("%s: %d %s with few letters, %d with ten times as many", path, c.few, c.what, c.many)
		}
	}
}

// span is how long a page takes: p50 and p95.
type span [2]time.Duration

func (s span) ms(i int) float64 { return float64(s[i].Microseconds()) / 1000 }

func (d desk) times(t *testing.T, path string) span {
	t.Helper()
	var took []time.Duration
	board := path == "/" || strings.HasPrefix(path, "/?")
	for range size(1, 40) {
		here := d
		if board {
			here = d.fresh(t)
			here.read(t, "/certificates") // a list that is kept for a minute
		}
		begin := time.Now()
		here.read(t, path)
		took = append(took, time.Since(begin))
		if board {
			here.server.Close()
		}
	}
	slices.Sort(took)
	return span{took[len(took)/2], took[len(took)*95/100]}
}

// bulk asks for the replay of the largest outage, confirms it, and waits for
// the first letters that go out.
func (d desk) bulk(t *testing.T) string {
	t.Helper()
	form := url.Values{"outage": {"OUT-1"}, "status": {"open"}}
	begin := time.Now()
	question := d.post(t, "/letters/replays", form)
	asked := time.Since(begin)
	for _, f := range hiddenField.FindAllStringSubmatch(question, -1) {
		if f[1] != "back" && f[1] != "outage" && f[1] != "status" {
			form.Add(f[1], f[2])
		}
	}
	begin = time.Now()
	page := d.post(t, "/letters/replays", form)
	frozen := time.Since(begin)
	if !strings.Contains(page, "Stop here") {
		t.Fatalf("no bulk replay runs:\n%s", page)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.g.letters.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	jobs, err := d.g.store.ReplayJobs(t.Context(), "running")
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d bulk replays run, %v", len(jobs), err)
	}
	until(t, time.Minute, "the first letter is replayed", func() bool {
		j, err := d.g.store.ReplayJob(t.Context(), jobs[0].ID)
		return err == nil && j.Counts.Replayed > 0
	})
	started := time.Since(begin)
	if got, want := jobs[0].Counts.Total, d.letters/10+2; got != want {
		t.Errorf("%d letters are replayed, the outage has %d", got, want)
	}
	return fmt.Sprintf("a bulk replay of %d: counted and asked %.2f s, frozen %.2f s, the first letter in line after %.2f s\n", jobs[0].Counts.Total, asked.Seconds(), frozen.Seconds(), started.Seconds())
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
