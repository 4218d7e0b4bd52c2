package exchange_test

import (
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
)

// roundTrip is a transport in memory.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAnyTransportWillDo(t *testing.T) {
	t.Parallel()
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		c := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			got, _ := io.ReadAll(req.Body)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("got " + string(got)))}, nil
		})}
		res, out := send(t, c, "http://as2.northwind.example", "document")
		wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
		if res == nil || string(res.Body) != "got document" {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("breaks after it took everything", func(t *testing.T) {
		t.Parallel()
		c := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			io.Copy(io.Discard, req.Body)
			return nil, errors.New("gone")
		})}
		_, out := send(t, c, "http://as2.northwind.example", "document")
		wantOutcome(t, out, fault.PhaseSent, fault.CauseReset)
	})
	t.Run("of the standard library, untrusted", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		c := &http.Client{Transport: &http.Transport{}}
		_, out := send(t, c, server.URL, "document")
		wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLSTrust, "not trusted")
		pinned := client(t, exchange.Settings{Trust: []*x509.Certificate{server.Certificate()}})
		if _, out = send(t, pinned, server.URL, "document"); out.Status != 404 {
			t.Errorf("pinned: got %d (%s), want 404", out.Status, out.Detail)
		}
	})
}

func TestTimeOutsRunInFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
			return nil, req.Context().Err()
		})}
		began := time.Now()
		_, out := exchange.Do(t.Context(), c, post(t, "http://as2.northwind.example", strings.NewReader("x"), 1), exchange.Limits{})
		wantOutcome(t, out, fault.PhaseSent, fault.CauseTimeout, "no answer within 5m0s")
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("took %v, want the default of 5 min", took)
		}
	})
}

func TestRequestThatCannotBeSentIsOurFault(t *testing.T) {
	t.Parallel()
	req := post(t, "http://127.0.0.1:1", strings.NewReader("x"), 1)
	req.Header.Set("Subject", "two\nlines")
	_, out := exchange.Do(t.Context(), client(t, exchange.Settings{}), req, limits())
	wantOutcome(t, out, fault.PhaseNone, fault.CauseBuild)
	if strings.Contains(out.Detail, "lines") {
		t.Errorf("the header's value is in %q", out.Detail)
	}
}
