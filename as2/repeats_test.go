package as2

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// TestRepeatsAreForgotten: a flood of names that each came twice does not fill
// the table for ever, and nothing that came goes untold.
func TestRepeatsAreForgotten(t *testing.T) {
	t.Parallel()
	var r repeats
	told := 0
	come := func(name string, now time.Time) {
		n, _ := r.comes(name, "to", now)
		told += n
	}
	for i := range maxRepeats {
		come(fmt.Sprint(i), testNow)
		come(fmt.Sprint(i), testNow)
	}
	if told != maxRepeats {
		t.Fatalf("told of %d", told)
	}
	come("new", testNow.Add(repeatPause))
	if r.pairs[[2]string{"new", "to"}] == nil {
		t.Error("a new pair is not told apart")
	}
	n, tell := r.comes("", "", testNow.Add(repeatPause))
	if told += n; !tell || told != 2*maxRepeats+2 {
		t.Errorf("told of %d, came %d", told, 2*maxRepeats+2)
	}
}

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
	now = now.Add(repeatPause)
	post(http.StatusServiceUnavailable)
	m.agreement.Receive.Clients = []*x509.Certificate{stranger().cert}
	for range 5 {
		post(http.StatusForbidden)
	}
	if fmt.Sprint(log.n) != "[1 5 1]" {
		t.Errorf("%v requests in lines %q", log.n, log.text)
	}
}
