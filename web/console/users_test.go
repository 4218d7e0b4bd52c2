package console

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"edigw/queue"
	"edigw/web"
)

// breaking is a ledger whose audit can be read once.
type breaking struct {
	web.Ledger
	reads *int
}

func (b breaking) Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error) {
	if *b.reads++; *b.reads > 1 {
		return nil, "", errors.New("the disk is broken")
	}
	return b.Ledger.Audit(ctx, f, p)
}

func TestUsersAreForAdmins(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.get(admin, "/users").want(200).says("ada", "you", "kim", "operator", "may see it", "1 browser", "192.0.2.7", "Add a user", "No token.").holds(`<a href="/users" aria-current="page">Users</a>`)
	d.get(kim, "/users").want(403)
	d.get(kim, "/").want(200).hides(`href="/users"`)
	for _, path := range []string{"/users", "/users/vera/password", "/users/vera/remove", "/users/vera/sign-out", "/tokens", "/tokens/erp/revoke"} {
		d.post(kim, path, "sure", "yes", "name", "x", "scope", "admin", "password", "correct horse battery", "again", "correct horse battery", "role", "admin").want(403)
		d.post("", path).want(401)
	}
	d.get(viewer, "/").want(200)
}

func TestUsersAreAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.post(admin, "/users", "name", "noa", "role", "viewer", "payloads", "true", "password", "correct horse battery").want(http.StatusSeeOther)
	d.get(admin, "/users").says("User noa is added as viewer.", "noa")
	for field, fields := range map[string][]string{
		"password": {"name", "ned", "role", "viewer", "password", "short"},
		"role":     {"name", "ned", "role", "king", "password", "correct horse battery"},
		"name":     {"name", "n d", "role", "viewer", "password", "correct horse battery"},
		"noa":      {"name", "noa", "role", "viewer", "password", "correct horse battery"},
	} {
		page := d.post(admin, "/users", fields...)
		if page.status != 400 || !strings.Contains(page.text(), field) || !strings.Contains(page.text(), "Nothing was changed.") {
			t.Errorf("%s: %d %s", field, page.status, page.text())
		}
		page.hides("correct horse")
	}
	d.post(admin, "/users/vera/password", "password", "another horse battery", "again", "other").want(400).says("The two passwords differ.")
	d.post(admin, "/users/vera/password", "password", "another horse battery", "again", "another horse battery").want(http.StatusSeeOther)
	d.get(viewer, "/").want(http.StatusSeeOther) // signed out
	d.post(admin, "/users/nobody/password", "password", "another horse battery", "again", "another horse battery").want(404)
	d.post(admin, "/users/kim/sign-out").want(http.StatusSeeOther)
	d.get(kim, "/").want(http.StatusSeeOther)
	d.post(admin, "/users/kim/sign-out").want(409).says("kim is signed in nowhere.")
	d.post(admin, "/users/omar/remove").want(200).says("Remove omar?", "stays in the audit log").hides("Nobody else is an admin")
	d.get(operator, "/").want(200)
	d.post(admin, "/users/omar/remove", "sure", "yes").want(http.StatusSeeOther)
	d.get(operator, "/").want(http.StatusSeeOther)
	d.post(admin, "/users/omar/remove").want(404)
	d.post(admin, "/users/ada/remove").want(200).says("Nobody else is an admin")
	d.get(admin, "/audit?actor=ada").says("user noa added as viewer", "password of user vera changed", "user kim signed out everywhere", "user omar removed")
}

func TestATokensSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page := d.post(admin, "/tokens", "name", "erp", "scope", "send", "scope", "read").want(http.StatusCreated).says("Token erp is made", "It may: send, read", "never again")
	if got := page.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the secret may be kept: %q", got)
	}
	secret := regexp.MustCompile(`edigw_[A-Za-z0-9_-]{43}`).FindString(page.body)
	if tok, err := d.Access.Token(t.Context(), secret); err != nil || tok.Name != "erp" {
		t.Fatalf("token %+v, %v", tok, err)
	}
	d.get(admin, "/users").says("erp", "send, read", "by ada").hides(secret)
	if strings.Contains(d.log.String(), secret) {
		t.Error("the secret is in the log")
	}
	d.post(admin, "/tokens", "name", "erp", "scope", "send").want(400).says("erp")
	d.post(admin, "/tokens", "name", "web").want(400).says("name at least one")
	d.post(admin, "/tokens", "name", "web", "scope", "all").want(400)
	d.post(admin, "/tokens/erp/revoke").want(200).says("Revoke token erp?")
	if _, err := d.Access.Token(t.Context(), secret); err != nil {
		t.Error("revoked before the question was answered")
	}
	d.post(admin, "/tokens/erp/revoke", "sure", "yes").want(http.StatusSeeOther)
	if _, err := d.Access.Token(t.Context(), secret); err == nil {
		t.Error("a revoked token works")
	}
	d.post(admin, "/tokens/erp/revoke").want(404)
}
