package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A flood of strangers is bounded by address and in all, and leaves places
// when it goes.
func TestThePorchIsBounded(t *testing.T) {
	t.Parallel()
	var p porch
	var leave []func()
	for range porchOne {
		l, ok := p.enter("192.0.2.1")
		if !ok {
			t.Fatal("no place for the first of an address")
		}
		leave = append(leave, l)
	}
	if _, ok := p.enter("192.0.2.1"); ok {
		t.Error("one address has more than its places")
	}
	for i := 0; p.in < porchAll; i++ {
		if _, ok := p.enter(string(rune('a' + i))); !ok {
			t.Fatal("others have no place")
		}
	}
	if _, ok := p.enter("192.0.2.2"); ok {
		t.Error("there is no bound in all")
	}
	for _, l := range leave {
		l()
	}
	if _, ok := p.enter("192.0.2.1"); !ok {
		t.Error("a place that was left is not free")
	}
}

// Who is not signed in cannot make the gateway keep much.
func TestAStrangersFormIsSmall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	got := d.post("", "/sign-in", "name", "kim", "password", "x", "junk", strings.Repeat("x", maxPublic)).want(http.StatusBadRequest)
	if strings.Contains(got.header.Get("Set-Cookie"), "edigw") {
		t.Error("a session began")
	}
}

// Two gateways on one machine do not sign each other's people out: browsers
// keep cookies by host, not by port.
func TestTheCookieIsOfItsPort(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	names := map[string]bool{}
	for _, host := range []string{"127.0.0.1:4000", "127.0.0.1:4200", "edigw.acme.example"} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil)
		names[d.cookie(r)] = true
	}
	if len(names) != 3 {
		t.Errorf("cookies are named %v", names)
	}
}

// What an action said is for the next page of the same session, once, and not
// for one that comes much later.
func TestWhatWasSaidIsForTheNextPage(t *testing.T) {
	t.Parallel()
	var f flashes
	f.put("kim", flash{Text: "taken back"}, start)
	if f.take("lee", start) != nil {
		t.Error("another session got it")
	}
	if said := f.take("kim", start); said == nil || said.Text != "taken back" {
		t.Errorf("got %v", said)
	}
	if f.take("kim", start) != nil {
		t.Error("it was said twice")
	}
	f.put("kim", flash{Text: "old"}, start)
	if f.take("kim", start.Add(2*time.Minute)) != nil {
		t.Error("it was said two minutes later")
	}
	for i := range mostFlash + 10 {
		f.put(string(rune(i)), flash{Text: "x"}, start.Add(time.Hour))
	}
	if n := len(f.all); n > mostFlash {
		t.Errorf("%d are kept", n)
	}
}

// A spreadsheet takes no cell for a formula, whatever it splits lines at.
func TestCellsAreHarmless(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "INV-1": "INV-1", "=1+1": "'=1+1", "@x": "'@x", "x;=cmd": "x;'=cmd", "x; =cmd": "x; '=cmd", "a\t-1": "a\t'-1", `a"=1`: `a"'=1`, "a=b": "a=b", "2026-12-01": "2026-12-01",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("%q is written as %q, want %q", cell, got, want)
		}
	}
}
