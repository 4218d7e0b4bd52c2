package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"edigw/internal/testpki"
)

// From the page that an alert leads to: one click, one question, and all that
// an outage left is delivered, each document once.
func TestBrowserOutageReplayed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "breaker: {failures: 2, consecutive: 2, cooldown: 200ms, max_cooldown: 400ms, on_open: dead-letter}\n")
	c.play(func(v *visit) { v.read(); http.Error(v.w, "closed for today", http.StatusServiceUnavailable) })
	s.start()
	s.person("kim", "operator")
	var sent []messageView
	for n := range 5 {
		sent = append(sent, s.sent("northwind", "INV-"+strings.Repeat("I", n+1), invoice(n+1)))
	}
	dead := func() (n int) { return len(everything[letterView](s, "/letters", query("status", "open"))) }
	s.await("the outage has letters", func() bool { return dead() >= 3 })
	c.play(nil)
	outage := everything[outageView](s, "/outages", nil)[0].ID
	s.await("the partner answers", func() bool {
		var p struct{ State string }
		s.get("/partners/northwind", nil, &p)
		return p.State == "sending"
	})
	b := openBrowser(s)
	b.signIn("kim")
	b.visit("/outages/" + outage)
	b.reads("h1", "Northwind")
	b.click("form[action='/letters/replays'] button")
	b.reads("dialog", "Replay")
	b.click("dialog button.primary")
	b.reads("h1", "delivered")
	s.await("every letter is settled", func() bool { return dead() == 0 })
	for _, m := range sent {
		if got := s.end(m.ID); got.State != "delivered" {
			t.Errorf("document %s is %s", m.Key, got.State)
		}
		if n := c.booked()[m.MessageID]; n != 1 {
			t.Errorf("the partner booked %s %d times", m.Key, n)
		}
	}
	b.visit("/outages/" + outage)
	b.reads("h1", "settled")
}

// A malformed document is mended in the browser and delivered; another is
// discarded with a reason. A question gives the focus back.
func TestBrowserMends(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "check: envelope\n")
	s.start()
	s.person("kim", "operator")
	refused := letterOf(s, c, "INV-6")
	broken := s.end(s.sent("northwind", "INV-20931", []byte(strings.Replace(string(sampleDocument(s, "x12-810-invoice.edi")), "SE*24*", "SE*23*", 1))).ID)
	b := openBrowser(s)
	b.signIn("kim")
	b.visit("/letters/" + broken.Letter + "/edit")
	mended := strings.Replace(asks[string](b, "document.querySelector('textarea').value"), "SE*23*", "SE*24*", 1)
	b.do(chromedp.SetValue(chromedp.CSS("textarea"), mended))
	b.click("main button.primary")
	b.reads("main .diff", "SE*24*")
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=reason]"), "segment count was wrong"))
	b.click("button[name=sure]")
	b.reads("h1", "Delivered")
	if got := s.message(broken.ID); got.State != "superseded" {
		t.Errorf("the malformed one is %s", got.State)
	}
	next := everything[messageView](s, "/messages", query("state", "delivered"))
	if len(next) != 1 || c.booked()[next[0].MessageID] != 1 {
		t.Errorf("%d documents delivered, %v booked", len(next), c.booked())
	}

	b.visit("/messages/" + refused.ID)
	b.click("form[action$='/discard'] button")
	b.reads("dialog", "Discard")
	b.do(chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(chromedp.CSS("dialog .question")))
	if !asks[bool](b, "document.activeElement.matches(\"form[action$='/discard'] button\")") {
		t.Error("the focus is not back on the button that asked")
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("dialog input[name=reason]")), chromedp.SendKeys(chromedp.CSS("dialog input[name=reason]"), "a test file"))
	b.click("dialog button.danger")
	b.reads("#news", "Discarded")
	b.reads("main", "a test file")
	if got := s.message(refused.ID); got.State != "discarded" {
		t.Errorf("the document is %s", got.State)
	}
}

// A partner is stopped, started and tested, and its next certificate is taken
// into use.
func TestBrowserMindsAPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.start()
	s.person("kim", "operator")
	s.person("lee", "viewer")
	b := openBrowser(s)
	b.signIn("kim")
	watching := openBrowser(s)
	watching.signIn("lee")
	watching.reads("main", "Sending")
	b.visit("/partners/northwind")
	b.click("form[action$='/stop'] button")
	b.do(chromedp.WaitVisible(chromedp.CSS("dialog input[name=reason]")), chromedp.SendKeys(chromedp.CSS("dialog input[name=reason]"), "their maintenance"))
	b.click("dialog button.primary, dialog button.danger")
	b.reads("main", "Stopped by kim")
	watching.within(2*time.Second, "main", "their maintenance")
	b.click("form[action$='/start'] button")
	b.reads("main", "Sending")
	b.click("form[action$='/test'] button")
	b.reads("dialog", "No document was sent.")
	b.click("dialog [data-close]")

	next := testpki.SelfSigned(s, testpki.RSA(s, 2), "NORTHWIND 2027", testpki.Valid())
	s.write("next.crt", string(next.CertPEM()))
	b.visit("/partners/northwind/settings")
	b.do(chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{s.path("next.crt")}))
	b.click("#import button.primary")
	b.reads(".question", "SHA-256")
	b.do(chromedp.Click(chromedp.CSS(".question input[name=checked]")))
	b.click(".question button.primary")
	b.reads("#news", "in the settings")
	if !strings.Contains(asks[string](b, "document.querySelector('main table').textContent"), "NORTHWIND 2027") {
		t.Error("the new certificate is not on the page")
	}
}

// A page says that it is old when the gateway is gone.
func TestBrowserSaysThatItIsOld(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.start()
	s.person("lee", "viewer")
	b := openBrowser(s)
	b.signIn("lee")
	b.reads("main", "Sending")
	s.kill()
	b.reads("#stale", "Not updated since")
}

// visitor is somebody with a browser of which only the cookies count.
type visitor struct {
	*http.Client
	base string
}

func newVisitor(s *site) visitor {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return visitor{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, "http://" + s.console()}
}

// post sends a form and gives the answer's status and header.
func (v visitor) post(t *testing.T, path string, form url.Values) (int, http.Header) {
	t.Helper()
	resp, err := v.PostForm(v.base+path, form)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func (v visitor) signIn(t *testing.T, name, secret string) (int, http.Header) {
	t.Helper()
	return v.post(t, "/sign-in", url.Values{"name": {name}, "password": {secret}})
}

// inside reports whether the board is shown.
func (v visitor) inside(t *testing.T) bool {
	t.Helper()
	resp, err := v.Get(v.base + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func at(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// sessionCookie is the name of the session's cookie at an address.
func sessionCookie(home *url.URL) string { return "edigw-" + home.Port() }

// session is the secret that a browser has for an address.
func session(t *testing.T, c *http.Client, home *url.URL) string {
	t.Helper()
	for _, k := range c.Jar.Cookies(home) {
		if k.Name == sessionCookie(home) {
			return k.Value
		}
	}
	t.Fatalf("no session for %s", home)
	return ""
}

// Sessions cannot be planted, end everywhere at once, and ten wrong passwords
// lock a name.
func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.start()
	s.person("kim", "operator")
	home := at(t, "http://"+s.console())
	name := sessionCookie(home)
	planted := newVisitor(s)
	planted.Jar.SetCookies(home, []*http.Cookie{{Name: name, Value: "planted-by-somebody-else", Path: "/"}})
	if code, _ := planted.signIn(t, "kim", password); code != http.StatusSeeOther || !planted.inside(t) {
		t.Fatalf("no sign-in: %d", code)
	}
	first := session(t, planted.Client, home)
	if first == "planted-by-somebody-else" {
		t.Error("the planted session is in use")
	}
	second := newVisitor(s)
	second.Jar.SetCookies(home, []*http.Cookie{{Name: name, Value: first, Path: "/"}})
	if code, _ := second.signIn(t, "kim", password); code != http.StatusSeeOther || planted.inside(t) {
		t.Error("a sign-in over an older session leaves that one open")
	}
	third := newVisitor(s)
	third.signIn(t, "kim", password)
	if code, _ := third.post(t, "/sign-out-everywhere", nil); code != http.StatusSeeOther || second.inside(t) || third.inside(t) {
		t.Error("signed out everywhere, and still inside")
	}
	guest := newVisitor(s)
	for n := range 10 {
		if code, _ := guest.signIn(t, "kim", "wrong password"); code != http.StatusUnauthorized {
			t.Fatalf("wrong password %d: %d", n+1, code)
		}
	}
	if code, h := guest.signIn(t, "kim", password); code != http.StatusTooManyRequests || h.Get("Retry-After") == "" {
		t.Errorf("after ten wrong passwords: %d, Retry-After %q", code, h.Get("Retry-After"))
	}
}
