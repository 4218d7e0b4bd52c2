package web

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

func TestOutagesAreShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := queue.Outage{ID: "OUT-231", Number: 231, Partner: "northwind", Lane: "northwind", Cause: fault.CauseRefused, Detail: "connection refused", Since: now}
	if err := b.store.Record(t.Context(), &queue.Result{Outage: &o}); err != nil {
		t.Fatal(err)
	}
	b.bury("northwind", "a")
	var got outage
	b.get("/outages/OUT-231").want(http.StatusOK).json(&got)
	if got.Partner != "northwind" || got.Cause != "refused" || got.Letters != 1 || got.Open != 1 || got.State != "running" || got.Since == nil || got.Alert != nil {
		t.Errorf("outage %+v", got)
	}
	b.incident("OUT-231")
	b.get("/outages/OUT-231").want(http.StatusOK).json(&got)
	if got.Alert == nil || got.Alert.Severity != "ticket" {
		t.Errorf("alert %+v", got.Alert)
	}
	if ids, _ := b.get("/outages?partner=northwind&running=true").ids(); len(ids) != 1 {
		t.Errorf("outages %v", ids)
	}
	if ids, _ := b.get("/outages?partner=contoso").ids(); len(ids) != 0 {
		t.Errorf("outages %v", ids)
	}
}

func TestTheStateOfAnOutage(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]queue.Outage{
		"running": {}, "answering": {Answering: now}, "recovered": {Answering: now, Recovered: now}, "ended": {Recovered: now, Ended: now}, "withdrawn": {Ended: now, Withdrawn: true},
	} {
		if got := viewOutage(o).State; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAnIncidentIsShownLikeAnOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bury("northwind", "a")
	b.incident("INC-88")
	var got outage
	b.get("/outages/INC-88").want(http.StatusOK).json(&got)
	if got.ID != "INC-88" || got.Partner != "northwind" || got.State != "running" || got.Alert == nil || got.Alert.Kind != "letters" || got.Detail != "3 rejected" || got.Open != 1 {
		t.Errorf("incident %+v", got)
	}
}

func TestAlertsAreShownAndAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.incident("INC-88")
	if ids, _ := b.get("/alerts?active=true").ids(); len(ids) != 1 {
		t.Errorf("alerts %v", ids)
	}
	var got alert
	b.get("/alerts/INC-88").want(http.StatusOK).json(&got)
	if got.Kind != "letters" || got.State != "running" || len(got.Deliveries) != 1 || got.Deliveries[0].Channel != "mail" || got.Deliveries[0].Problem != "refused" {
		t.Errorf("alert %+v", got)
	}
	b.post("/alerts/INC-88/acknowledge", `{"note": "on it"}`).want(http.StatusOK)
	b.post("/alerts/INC-88/acknowledge", ``).problem(Conflict)
	equal(t, "done", []string{"acknowledge INC-88 by only-admin: on it"}, b.lanes.done)
}

func TestTheAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	b.as(access.Operate, http.MethodPost, Base+"/letters/"+m.Letter+"/discard", `{"reason": "test file"}`).want(http.StatusAccepted)
	var l list[event]
	b.get("/audit?actor=only-operate").want(http.StatusOK).json(&l)
	if len(l.Items) != 1 || l.Items[0].Letter != m.Letter || l.Items[0].Actor != "only-operate" || l.Items[0].From != "192.0.2.1" || l.Items[0].At == nil || l.Items[0].Text == "" {
		t.Errorf("audit %+v", l.Items)
	}
	for query, want := range map[string]int{"partner=northwind": 1, "partner=contoso": 0, "actor=kim": 4, "actor=kim&limit=3": 3, "to=2026-11-30": 0, "from=2026-12-01&actor=kim": 4} {
		if b.get("/audit?" + query).json(&l); len(l.Items) != want {
			t.Errorf("%s: %d entries, want %d", query, len(l.Items), want)
		}
	}
}

func TestTokensAreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var made token
	b.post("/tokens", `{"name": "erp", "scopes": ["send", "read"]}`).want(http.StatusCreated).json(&made)
	ask := func() answer {
		return b.as("", http.MethodGet, Base+"/messages", "", "Authorization", "Bearer "+made.Token)
	}
	ask().want(http.StatusOK)
	got := b.get("/tokens").want(http.StatusOK)
	if text := string(got.body); strings.Contains(text, made.Token) || !strings.Contains(text, `"name":"erp","scopes":["send","read"]`) {
		t.Errorf("tokens: %s", text)
	}
	if p := b.post("/tokens", `{"name": "erp", "scopes": ["read"]}`).problem(Conflict); p.Field != "name" {
		t.Errorf("field %q", p.Field)
	}
	for body, field := range map[string]string{`{"name": "x"}`: "scopes", `{"name": "x", "scopes": ["root"]}`: "scopes", `{"name": "", "scopes": ["read"]}`: "name"} {
		if p := b.post("/tokens", body).problem(BadRequest); p.Field != field {
			t.Errorf("%s: field %q", body, p.Field)
		}
	}
	b.post("/tokens/erp/revoke", "").want(http.StatusNoContent)
	ask().problem(Unauthorized)
	if log := b.log.String(); strings.Contains(log, made.Token) || strings.Contains(log, b.tokens[access.Admin]) {
		t.Error("a token is in the log")
	}
}

func TestUsersAreManaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.post("/users", `{"name": "Ana", "role": "operator", "payloads": true, "password": "correct horse battery"}`).want(http.StatusCreated)
	if strings.Contains(string(got.body), "horse") || strings.Contains(string(got.body), "argon2id") {
		t.Errorf("user: %s", got.body)
	}
	b.post("/users", `{"name": "ana", "role": "viewer", "password": "correct horse battery"}`).problem(Conflict)
	if p := b.post("/users", `{"name": "bob", "role": "root", "password": "correct horse battery"}`).problem(BadRequest); p.Field != "role" {
		t.Errorf("field %q", p.Field)
	}
	if p := b.post("/users/Ana/password", `{"password": "short"}`).problem(BadRequest); p.Field != "password" {
		t.Errorf("field %q", p.Field)
	}
	b.post("/users/Ana/password", `{"password": "another horse battery"}`).want(http.StatusNoContent)
	var l list[user]
	b.get("/users").want(http.StatusOK).json(&l)
	if len(l.Items) != 1 || l.Items[0].Name != "Ana" || l.Items[0].Role != "operator" || !l.Items[0].Payloads {
		t.Errorf("users %+v", l.Items)
	}
	b.post("/users/Ana/remove", "").want(http.StatusNoContent)
	if strings.Contains(b.log.String(), "horse") {
		t.Error("a password is in the log")
	}
}

func TestCertificatesAreListedAndImported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get("/certificates").want(http.StatusOK)
	body := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----"))
	b.post("/partners/northwind/certificates", `{"certificate": "`+body+`", "use": ["verify"], "from": "2027-01-01"}`).want(http.StatusOK)
	b.post("/partners/northwind/certificates", `{"certificate": "`+body+`"}`).want(http.StatusOK)
	if len(b.lanes.imports) != 2 || b.lanes.imports[0].From != "2027-01-01" || string(b.lanes.imports[0].Certificate) != "-----BEGIN CERTIFICATE-----" ||
		len(b.lanes.imports[1].Uses) != 2 || b.lanes.imports[0].By.Name != "only-admin" {
		t.Errorf("imports %+v", b.lanes.imports)
	}
	for in, field := range map[string]string{
		`{}`: "certificate", `{"certificate": "` + body + `", "use": ["sign"]}`: "use", `{"certificate": "` + body + `", "from": "soon"}`: "from",
	} {
		if p := b.post("/partners/northwind/certificates", in).problem(BadRequest); p.Field != field {
			t.Errorf("%s: field %q", in, p.Field)
		}
	}
	b.post("/partners/northwind/certificates", `{"certificate": 5}`).problem(BadRequest)
	b.post("/partners/nobody/certificates", `{"certificate": "`+body+`"}`).problem(NotFound)
	b.lanes.fail = &Problem{Slug: BadRequest, Field: "certificate", Detail: "This is no certificate."}
	b.post("/partners/northwind/certificates", `{"certificate": "`+body+`"}`).problem(BadRequest)
}

func TestTimesOnTheWireAreUTC(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	if got := when(now.In(berlin)); got.Location() != time.UTC || !got.Equal(now) {
		t.Errorf("%v", got)
	}
	if when(time.Time{}) != nil {
		t.Error("no time is a time")
	}
}
