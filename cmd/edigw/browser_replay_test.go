package main

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// One click takes a refused document out, and it arrives once; a second click
// in the same moment sends nothing.
func TestBrowserOneClickReplay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.person("kim", "operator")
	m := letterOf(s, c, "INV-1")
	b := openBrowser(s)
	b.signIn("kim")
	b.reads("h1", "1 of 1 partner needs you.")
	b.visit("/letters")
	b.do(chromedp.DoubleClick(chromedp.CSS("[data-list] .do button")))
	b.reads("#news", "Undo")
	s.end(m.ID)
	b.reads("main", "No letter here")
	if got := s.message(m.ID); got.State != "delivered" {
		t.Errorf("the document is %s", got.State)
	}
	if n := c.booked()[m.MessageID]; n != 1 {
		t.Errorf("the partner booked it %d times", n)
	}
	b.visit("/")
	b.reads("h1", "The one partner is fine.")
}

// What is taken back within five seconds was never sent.
func TestBrowserUndo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.person("kim", "operator")
	m := letterOf(s, c, "INV-2")
	b := openBrowser(s)
	b.signIn("kim")
	b.visit("/letters")
	b.click("[data-list] .do button")
	b.reads("#news", "Undo")
	b.click("#news form.act button")
	b.reads("#news", "Taken back")
	b.reads("tbody", "Replay")
	if got := s.message(m.ID); got.State != "dead" {
		t.Errorf("the document is %s", got.State)
	}
}

// The same without any script: forms and pages do it.
func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.person("kim", "operator")
	m := letterOf(s, c, "INV-3")
	b := openBrowser(s)
	b.scripts(false)
	b.signIn("kim")
	b.visit("/letters")
	b.click("[data-list] .do button")
	b.do(chromedp.WaitVisible(chromedp.CSS("#news .flash")))
	if got := s.end(m.ID); got.State != "delivered" {
		t.Errorf("the document is %s", got.State)
	}
}

// Nothing but keys: to the letters, down to the row, replay.
func TestBrowserKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.person("kim", "operator")
	m := letterOf(s, c, "INV-4")
	b := openBrowser(s)
	b.visit("/letters") // leads to the sign-in and back
	b.do(chromedp.KeyEvent("kim"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(password), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("[data-list]")))
	b.do(chromedp.KeyEvent("?"))
	b.reads("dialog", "Keyboard")
	b.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("k"), chromedp.KeyEvent("x"))
	b.reads("[data-selected]", "1 selected")
	b.do(chromedp.KeyEvent("r"))
	b.reads("#news", "Undo")
	if got := s.end(m.ID); got.State != "delivered" {
		t.Errorf("the document is %s", got.State)
	}
}

// A viewer has no button, and no request of his own making acts either.
func TestBrowserViewerCannotAct(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.person("lee", "viewer")
	m := letterOf(s, c, "INV-5")
	b := openBrowser(s)
	b.signIn("lee")
	b.visit("/letters")
	if buttons := b.text("main button"); buttons != "" {
		t.Errorf("a viewer has buttons: %s", buttons)
	}
	lee := newVisitor(s)
	lee.signIn(t, "lee", password)
	if code, _ := lee.post(t, "/letters/"+m.Letter+"/replay", nil); code != http.StatusForbidden {
		t.Errorf("a viewer's replay was answered with %d, want 403", code)
	}
	if got := s.message(m.ID); got.State != "dead" {
		t.Errorf("the document is %s", got.State)
	}
}
