package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/internal/testfixture"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// password is test material.
const password = "correct horse battery"

// tab is a tab of a real browser in which one person works. Whatever the
// browser complains of on its way, a script's error or a breach of the page's
// policy, fails the test.
type tab struct {
	testing.TB
	ctx  context.Context
	base string

	mu         sync.Mutex
	complaints []string
}

// step is one thing that a person does.
type step = chromedp.Action[chromedp.Void]

// browsers is the one browser that all tests share, as long as one of them
// needs it. Nothing is shared but the program: each tab is of somebody else.
var browsers struct {
	sync.Mutex
	users int
	ctx   context.Context
	end   func()
}

// sharedBrowser gives the browser until the test ends; without one on this
// machine the test is skipped, unless EDIGW_REQUIRE=all.
func sharedBrowser(t testing.TB) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{os.Getenv("EDIGW_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			program = path
			break
		}
	}
	if program == "" {
		testfixture.Missing(t, "chromium")
	}
	browsers.Lock()
	defer browsers.Unlock()
	if browsers.users == 0 {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))
		allocated, endProgram := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, endFirst := chromedp.NewContext(allocated)
		browsers.ctx, browsers.end = ctx, func() { endFirst(); endProgram() }
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
			browsers.end()
			t.Fatalf("the browser does not start: %v", err)
		}
	}
	browsers.users++
	t.Cleanup(func() {
		browsers.Lock()
		defer browsers.Unlock()
		if browsers.users--; browsers.users == 0 {
			browsers.end()
		}
	})
	return browsers.ctx
}

// openBrowser opens a tab of somebody at a site.
func openBrowser(s *site) *tab {
	s.Helper()
	ctx, end := chromedp.NewContext(sharedBrowser(s), chromedp.WithNewBrowserContext())
	s.Cleanup(end)
	t := &tab{TB: s, ctx: ctx, base: "http://" + s.console()}
	t.watch(ctx)
	t.width(1440)
	return t
}

// width sets how wide the window is.
func (t *tab) width(pixels int64) {
	t.Helper()
	t.do(chromedp.EmulateViewport(pixels, 900))
}

// scheme sets what the person's system likes: light or dark.
func (t *tab) scheme(name string) {
	t.Helper()
	t.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// watch notes what the browser complains of, and judges at the end. An answer
// that is no 2xx is no complaint: pages say what happened.
func (t *tab) watch(ctx context.Context) {
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if (m.Type == chromedp.ConsoleError || m.IsException()) && !strings.HasPrefix(m.Text, "Failed to load resource") {
				t.mu.Lock()
				t.complaints = append(t.complaints, m.Text)
				t.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, c := range t.complaints {
			t.Errorf("the browser complains: %s", c)
		}
	})
}

// do does things in the tab, in order.
func (t *tab) do(steps ...step) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.shoot("failed")
		t.Fatalf("%v\nthe page says:\n%s", err, t.text("body"))
	}
}

// visit goes to a page.
func (t *tab) visit(path string) {
	t.Helper()
	t.do(chromedp.Navigate(t.base+path), chromedp.WaitReady(chromedp.CSS("#main")))
}

// signIn signs a person in.
func (t *tab) signIn(name string) {
	t.Helper()
	t.visit("/sign-in")
	t.do(chromedp.SendKeys(chromedp.CSS("input[name=name]"), name), chromedp.SendKeys(chromedp.CSS("input[name=password]"), password), chromedp.Submit(chromedp.CSS("input[name=password]")), chromedp.WaitVisible(chromedp.CSS(".who")))
}

// click clicks the one visible element of a selector.
func (t *tab) click(selector string) {
	t.Helper()
	t.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// asks evaluates an expression in the page, past its policy.
func asks[T any](t *tab, expression string) T {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v\n%.300s", err, expression)
	}
	return value
}

// text is what a person reads at a selector; empty if there is nothing.
func (t *tab) text(selector string) string {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	script := fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText).join("\n")`, selector)
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](script))
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return text
}

// reads waits until a person reads something at a selector.
func (t *tab) reads(selector, want string) {
	t.Helper()
	t.within(patience, selector, want)
}

// within is reads with a bound of its own.
func (t *tab) within(bound time.Duration, selector, want string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(bound); ; <-tick.C {
		have := t.text(selector)
		if strings.Contains(have, want) {
			return
		}
		if time.Now().After(end) {
			t.shoot("failed")
			t.Fatalf("after %v %s does not say %q, but:\n%s", bound, selector, want, have)
		}
	}
}

// scripts turns JavaScript on or off for the pages that follow.
func (t *tab) scripts(on bool) {
	t.Helper()
	t.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// shoot keeps a picture of the whole page in a folder that git ignores.
func (t *tab) shoot(name string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Logf("no picture: %v", err)
		return
	}
	file := filepath.Join("screenshots", strings.ReplaceAll(t.Name(), "/", "_")+"_"+name+".png")
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		t.Log(err)
	}
}

// console is where the pages are.
func (s *site) console() string {
	s.Helper()
	found := servesLine.FindStringSubmatch(s.log.String())
	if found == nil {
		s.Fatalf("the gateway does not say where its console is:\n%s", s.log)
	}
	return strings.TrimPrefix(found[2], "http://")
}

// person adds a user with the test password.
func (s *site) person(name, role string) {
	s.Helper()
	s.post("/users", map[string]any{"name": name, "role": role, "password": password, "payloads": role != "viewer"}, nil)
}

// letterOf sends a document that its partner refuses, and waits for the letter.
func letterOf(s *site, c *counterpart, key string) messageView {
	s.Helper()
	c.play(func(v *visit) { v.read(); http.Error(v.w, "we cannot take this", http.StatusBadRequest) })
	m := s.end(s.sent("northwind", key, invoice(len(key))).ID)
	if m.State != "dead" {
		s.Fatalf("the document is %s", m.State)
	}
	c.play(nil)
	return m
}
