package web

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edigw/access"

	"github.com/go-chi/chi/v5"
)

var parameter = regexp.MustCompile(`\{\w+\}`)

// TestEachRouteWantsItsScope asks every route without a token, with a wrong
// one, and with a token of each scope alone.
func TestEachRouteWantsItsScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, r := range b.routes() {
		path := Base + parameter.ReplaceAllString(r.path, "nothing")
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			p := b.as("", r.method, path, "").problem(Unauthorized)
			if b.as("", r.method, path, "").header.Get("WWW-Authenticate") == "" || strings.Contains(p.Detail, "nothing") {
				t.Errorf("a problem without challenge: %+v", p)
			}
			for name, header := range map[string]string{
				"an unknown token": "Bearer edigw_" + strings.Repeat("A", 43), "another scheme": "Basic a2ltOmtpbQ==", "no secret": "Bearer", "no scheme": b.tokens[access.Admin],
			} {
				if got := b.as("", r.method, path, "", "Authorization", header); got.status != http.StatusUnauthorized {
					t.Errorf("%s: status %d", name, got.status)
				}
			}
			for _, s := range access.Scopes {
				got := b.as(s, r.method, path, "")
				may := r.scope == "" || access.Grant([]access.Scope{s}, r.scope)
				switch {
				case !may:
					if p := got.problem(Forbidden); !strings.Contains(p.Detail, string(r.scope)) {
						t.Errorf("%s: %s does not name the scope", s, p.Detail)
					}
				case !r.local && (got.status == http.StatusUnauthorized || got.status == http.StatusForbidden):
					t.Errorf("%s: status %d, but it has the scope", s, got.status)
				}
			}
		})
	}
}

func TestEachRouteNeedsAScopeButTheDescription(t *testing.T) {
	t.Parallel()
	for _, r := range newBench(t).routes() {
		if r.scope == "" && r.path != "/openapi.json" {
			t.Errorf("%s %s needs no scope", r.method, r.path)
		}
		if r.method != http.MethodGet && r.scope == access.Read {
			t.Errorf("%s %s changes something with scope read", r.method, r.path)
		}
	}
}

// TestTheCallsOfInterfacesExist holds the routes against the table of calls
// that scripts rely on.
func TestTheCallsOfInterfacesExist(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, call := range []string{
		"POST /partners/p/messages", "GET /messages", "GET /messages/m", "GET /messages/m/payload", "GET /messages/m/evidence",
		"GET /letters", "GET /letters/groups", "GET /letters/l", "POST /letters/l/replay", "POST /letters/replays", "GET /letters/replays/r",
		"POST /letters/replays/r/pause", "POST /letters/replays/r/resume", "POST /letters/replays/r/cancel",
		"POST /letters/l/recheck", "POST /letters/l/settle", "POST /letters/l/discard", "POST /letters/l/undo",
		"POST /messages/m/cancel", "POST /messages/m/again", "GET /outages", "GET /outages/o", "GET /partners", "GET /partners/p",
		"POST /partners/p/stop", "POST /partners/p/start", "POST /partners/p/trip", "POST /partners/p/reset", "POST /partners/p/test", "POST /partners/p/certificates",
		"GET /alerts", "POST /alerts/a/acknowledge", "GET /audit", "GET /certificates", "POST /certificates", "GET /openapi.json", "POST /reload",
	} {
		method, path, _ := strings.Cut(call, " ")
		if !b.router.Match(chi.NewRouteContext(), method, Base+path) {
			t.Errorf("there is no %s", call)
		}
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/api/v1/nothing", "/nothing", "/api/v1", "/api/v1/messages/", "/api/v2/messages", "/metrics/x", "/api/v1/letters/a/b/c"} {
		b.as(access.Admin, http.MethodGet, path, "").problem(NotFound)
		b.as("", http.MethodPost, path, "").problem(NotFound)
	}
	for path, allow := range map[string]string{
		"/api/v1/messages": "GET", "/api/v1/letters/l1/replay": "POST", "/api/v1/letters/replays": "GET, POST", "/healthz": "GET, HEAD", "/api/v1/partners/p/stop": "POST",
	} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
			got := b.as(access.Admin, method, path, "")
			got.problem(MethodNotAllowed)
			if got.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow %q, want %q", method, path, got.header.Get("Allow"), allow)
			}
		}
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	for name, c := range map[string]struct{ body, field string }{
		"no JSON":                   {`confirm=x`, ""},
		"cut off":                   {`{"confirm": [`, ""},
		"two values":                {`{} {}`, ""},
		"a list":                    {`[]`, ""},
		"a slip in a name":          {`{"confrim": ["overdue"]}`, "confrim"},
		"a string for a list":       {`{"confirm": "overdue"}`, "confirm"},
		"a number for a string":     {`{"reason": 5}`, "reason"},
		"an unknown code":           {`{"confirm": ["everything"]}`, "confirm"},
		"a length of time that isn": {`{"undo_for": "soon"}`, "undo_for"},
	} {
		p := b.post("/letters/"+m.Letter+"/replay", c.body).problem(BadRequest)
		if p.Field != c.field {
			t.Errorf("%s: field %q, want %q (%s)", name, p.Field, c.field, p.Detail)
		}
	}
	if p := b.post("/letters/replays", `{"filter": {"partnr": "northwind"}}`).problem(BadRequest); p.Field != "filter.partnr" {
		t.Errorf("field %q", p.Field)
	}
	b.post("/letters/"+m.Letter+"/replay", `{"reason": "`+strings.Repeat("a", maxBody)+`"}`).problem(TooLarge)
	if l, err := b.store.Letter(t.Context(), m.Letter); err != nil || l.Status != "open" {
		t.Errorf("a refused request changed the letter: %+v, %v", l, err)
	}
}

func TestParametersAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, field := range map[string]string{
		"/messages?stat=dead":                             "stat",
		"/messages?state=lost":                            "state",
		"/messages?state=dead,lost":                       "state",
		"/messages?state=dead&state=queued":               "state",
		"/messages?direction=up":                          "direction",
		"/messages?uncertain=yes":                         "uncertain",
		"/messages?partner=North%20Wind":                  "partner",
		"/messages?from=yesterday":                        "from",
		"/messages?from=2026-12-02&to=2026-12-01":         "to",
		"/messages?limit=0":                               "limit",
		"/messages?limit=501":                             "limit",
		"/messages?limit=many":                            "limit",
		"/messages?cursor=abc":                            "cursor",
		"/messages?reference=" + strings.Repeat("a", 301): "reference",
		"/letters?reason=weather":                         "reason",
		"/letters?status=lost":                            "status",
		"/letters?cursor=bWVzc2FnZXM6NQ":                  "cursor",
		"/letters/groups?cursor=abc":                      "cursor",
		"/letters/replays?status=lost":                    "status",
		"/outages?running=1":                              "running",
		"/outages?cursor=x":                               "cursor",
		"/partners?state=closed":                          "state",
		"/partners?cursor=x":                              "cursor",
		"/alerts?active=maybe":                            "active",
		"/audit?from=x":                                   "from",
		"/certificates?cursor=bGV0dGVyczo1":               "cursor",
		"/messages/m1?verbose=1":                          "verbose",
		"/messages?%zz":                                   "",
	} {
		if p := b.get(query).problem(BadRequest); p.Field != field {
			t.Errorf("%s: field %q, want %q (%s)", query, p.Field, field, p.Detail)
		}
	}
}

// TestTheDescriptionListsEveryRoute walks the router.
func TestTheDescriptionListsEveryRoute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	got := b.as(access.Send, http.MethodGet, Base+"/openapi.json", "").want(http.StatusOK).json(&doc)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %q", doc.OpenAPI)
	}
	var routed, described []string
	err := chi.Walk(b.router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if below, ok := strings.CutPrefix(path, Base); ok {
			routed = append(routed, method+" "+below)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(routed)
	slices.Sort(described)
	equal(t, "routes", routed, described)
	for _, m := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllSubmatch(got.body, -1) {
		if doc.Components.Schemas[string(m[1])] == nil {
			t.Errorf("there is no schema %s", m[1])
		}
	}
	if strings.Contains(string(got.body), "http://") || strings.Contains(string(got.body), "https://") {
		t.Error("the description points elsewhere")
	}
	for _, name := range []string{"Message", "WholeMessage", "Letter", "LetterList", "PartnerState", "ProblemView"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

// TestOptionalRoutesComeWithTheirPart leaves out what nobody does.
func TestOptionalRoutesComeWithTheirPart(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Acknowledger, o.Importer, o.Backup = nil, nil, nil })
	for _, path := range []string{"/alerts/INC-1/acknowledge", "/partners/northwind/certificates", "/backup"} {
		b.post(path, "").problem(NotFound)
	}
}

func TestNewWantsItsOptions(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err == nil {
		t.Error("an API without parts")
	}
}
