package as2

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// TestFaultsOfOursMakeNoFlood: a disk that fails meets every request, also those
// that anybody can send.
func TestFaultsOfOursMakeNoFlood(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme(), fail: true}
	h, log, now := testHandler(t, m), &lines{}, testNow
	h.o.Log, h.o.Now = slog.New(log), func() time.Time { return now }
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	post := func(want int) {
		t.Helper()
		if res := serve(h, wireRequest(t, r, wire)); res.StatusCode != want {
			t.Errorf("status %d, want %d", res.StatusCode, want)
		}
	}
	for range 5 {
		post(http.StatusServiceUnavailable)
	}
	now = now.Add(time.Minute)
	post(http.StatusServiceUnavailable)
	m.agreement.Receive.Clients = []*x509.Certificate{stranger().cert}
	for range 5 {
		post(http.StatusForbidden)
	}
	if fmt.Sprint(log.n) != "[1 5 1]" {
		t.Errorf("%v requests in lines %q", log.n, log.text)
	}
}
