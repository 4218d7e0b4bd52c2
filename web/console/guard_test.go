package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/access"
)

// filled is a path of the table with something in place of its parameters.
func filled(path string) string {
	return strings.NewReplacer("{id}", "northwind", "{name}", kim).Replace(path)
}

// No action is done for a viewer, nor for nobody, nor for a page of somebody
// else, whatever is asked: what the table of actions holds is refused.
func TestEveryActionIsGuarded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	acted := 0
	for _, a := range d.actions() {
		path := filled(a.path)
		foreign := httptest.NewRequest(http.MethodPost, path, strings.NewReader("reason=x&sure=yes"))
		foreign.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, header := range map[string]map[string]string{
			"by its site":   {"Sec-Fetch-Site": "cross-site"},
			"by its origin": {"Origin": "https://evil.example"},
		} {
			r := foreign.Clone(t.Context())
			for k, v := range header {
				r.Header.Set(k, v)
			}
			if got := d.ask(admin, r); got.status != http.StatusForbidden {
				t.Errorf("%s from another site, told %s: %d, want 403", a.path, name, got.status)
			}
		}
		if a.public {
			continue
		}
		if got := d.post("", path, "reason", "x", "sure", "yes"); got.status != http.StatusUnauthorized && got.header.Get("Location") == "" {
			t.Errorf("%s signed out: %d, want 401 or the way to the sign-in", a.path, got.status)
		}
		if a.need == access.Read {
			continue // to sign out
		}
		acted++
		for _, who := range []string{viewer, reader} {
			if got := d.post(who, path, "reason", "x", "sure", "yes"); got.status != http.StatusForbidden {
				t.Errorf("%s by %s: %d, want 403", a.path, who, got.status)
			}
		}
		if a.need == access.Admin {
			if got := d.post(operator, path, "reason", "x", "sure", "yes"); got.status != http.StatusForbidden {
				t.Errorf("%s by an operator: %d, want 403", a.path, got.status)
			}
		}
	}
	if acted < 25 {
		t.Errorf("the table has %d actions that need a role", acted)
	}
	if len(d.lanes.done) > 0 || len(d.lanes.imports) > 0 {
		t.Errorf("something was done: %v, %v", d.lanes.done, d.lanes.imports)
	}
	if all, err := d.Access.Users(t.Context()); err != nil || len(all) != len(d.secrets) {
		t.Errorf("%d users are left, %v", len(all), err)
	}
}

// Every page but the public ones sends somebody who is not signed in to the
// sign-in, and what it answers cannot be framed or kept.
func TestEveryPageIsGuarded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, p := range d.pages() {
		got := d.get("", filled(p.path))
		if !p.public && got.status != http.StatusUnauthorized && !strings.HasPrefix(got.header.Get("Location"), "/sign-in") {
			t.Errorf("%s signed out: %d %s", p.path, got.status, got.header.Get("Location"))
		}
		if p.need == access.Admin {
			d.get(operator, filled(p.path)).want(http.StatusForbidden)
		}
		for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "Cache-Control": "no-store"} {
			if !strings.Contains(got.header.Get(name), want) {
				t.Errorf("%s: %s is %q", p.path, name, got.header.Get(name))
			}
		}
		if strings.Contains(got.header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s allows what is unsafe", p.path)
		}
	}
}
