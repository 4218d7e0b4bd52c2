package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/internal/conf"
	"edigw/partner"
)

// TestForeignHostsAreRefused: a page whose name points at the gateway (DNS
// rebinding) reads nothing, and the local socket does not care.
func TestForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	console, local := b.ConsoleServer().Handler, b.Server().Handler
	for host, want := range map[string]int{
		"127.0.0.1:4000": http.StatusOK, "[::1]:4000": http.StatusOK, "192.0.2.7": http.StatusOK, "localhost:4000": http.StatusOK, "LOCALHOST": http.StatusOK,
		"edigw:4000": http.StatusOK, "": http.StatusOK,
		"rebound.example": http.StatusForbidden, "rebound.example:4000": http.StatusForbidden, "127.0.0.1.rebound.example": http.StatusForbidden,
		"localhost.rebound.example": http.StatusForbidden, ":4000": http.StatusForbidden,
	} {
		for _, path := range []string{"/metrics", "/healthz"} {
			ask := func(h http.Handler) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = host
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			if w := ask(console); w.Code != want {
				t.Errorf("%s under %q: %d, want %d", path, host, w.Code, want)
			}
			if w := ask(local); w.Code != http.StatusOK {
				t.Errorf("%s over the local socket under %q: %d", path, host, w.Code)
			}
		}
	}
	if log := b.log.String(); strings.Count(log, "foreign host name") != 1 || !strings.Contains(log, "rebound.example") && !strings.Contains(log, ":4000") {
		t.Errorf("log: %s", log)
	}
}

func TestOwnHostsAreThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	listen := partner.ConsoleListener{Address: conf.Address("edi.northwind.example:4000"), BaseURL: conf.URL("https://edigw.northwind.example")}
	for host, want := range map[string]bool{
		"edigw.northwind.example": true, "EDIGW.northwind.example.:443": true, "edi.northwind.example:4000": true, "northwind.example": false, "x.edigw.northwind.example": false,
	} {
		if got := ours(host, listen); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
	if ours("rebound.example", partner.ConsoleListener{}) {
		t.Error("without a base_url every name is ours")
	}
}
