package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/internal/apiclient"
)

func TestHealthIsWhatTheGatewayAnswers(t *testing.T) {
	t.Parallel()
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			http.Error(w, "not ready: the disk is full", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(full.Close)
	for name, c := range map[string]struct {
		ready bool
		want  string // of the error; empty: fine
	}{
		"it lives":                 {false, ""},
		"it cannot take documents": {true, "/readyz answers 503 Service Unavailable: not ready: the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			e := &env{output: &output{out: &out}, ctx: t.Context(), url: full.URL + "/"}
			err := (&HealthCommand{Ready: c.ready}).Run(e)
			if c.want == "" {
				if err != nil || out.String() != "ok\n" {
					t.Errorf("%q, %v", out.String(), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestHealthOfAGatewayThatIsGone(t *testing.T) {
	t.Parallel()
	e := &env{output: &output{}, ctx: t.Context(), url: "http://" + freeAddress(t)}
	var down *apiclient.UnreachableError
	if err := (&HealthCommand{}).Run(e); !errors.As(err, &down) {
		t.Errorf("error %v, want that nobody answers", err)
	}
}
