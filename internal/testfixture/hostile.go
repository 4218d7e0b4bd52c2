package testfixture

import (
	"net/http"
	"regexp"
	"runtime"
	"testing"
)

// NoWayOut fails the test if anything asks the client of package http that
// everybody shares: what reads a hostile message is given no client of its own.
func NoWayOut(t *testing.T) {
	t.Helper()
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	http.DefaultTransport = roundTripper(func(r *http.Request) (*http.Response, error) {
		t.Errorf("a connection out, to %s", r.URL)
		return nil, http.ErrUseLastResponse
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hostileMemory bounds what a hostile message may have allocated.
const hostileMemory = 64 << 20

// Allocated is how many bytes do allocates, which bounds what it holds at once; 64
// MiB and more fail the test. No other may run beside it.
func Allocated(t *testing.T, do func()) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	used := after.TotalAlloc - before.TotalAlloc
	if used > hostileMemory {
		t.Errorf("allocated %d bytes", used)
	}
	return used
}

var fingerprints = regexp.MustCompile(`(SHA-256 [0-9A-F]{2}:[0-9A-F]{2})[0-9A-F:]+`)

// Short leaves the most of fingerprints out: they are too long for a table.
func Short(text string) string { return fingerprints.ReplaceAllString(text, "$1:…") }
