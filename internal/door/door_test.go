package door

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
)

func TestTooLarge(t *testing.T) {
	t.Parallel()
	many := http.Header{}
	for range maxFields {
		many.Add("X", "")
	}
	for name, tc := range map[string]struct {
		header http.Header
		want   bool
	}{
		"none":            {nil, false},
		"as many bytes":   {http.Header{"A": {strings.Repeat("x", 95)}}, false},
		"one byte more":   {http.Header{"A": {strings.Repeat("x", 96)}}, true},
		"in two fields":   {http.Header{"A": {strings.Repeat("x", 50), strings.Repeat("x", 50)}}, true},
		"too many fields": {http.Header{"X": append(many["X"], "")}, true},
	} {
		if got := TooLarge(tc.header, 100); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if TooLarge(many, 1<<20) {
		t.Error("as many fields as may be are too many")
	}
}

func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	h := http.Header{"Authorization": {"Basic x"}, "Proxy-Authorization": {"x"}, "Cookie": {"x"}, "Host": {"x"}}
	if got := WithoutCredentials(h); len(got) != 1 || got.Get("Host") != "x" || len(h) != 4 {
		t.Errorf("kept %v of %v", got, h)
	}
}

// TestShows: what is above the client's own certificate proves nothing.
func TestShows(t *testing.T) {
	t.Parallel()
	right, other := &x509.Certificate{Raw: []byte("right")}, &x509.Certificate{Raw: []byte("other")}
	name := func(c *x509.Certificate) string { return string(c.Raw) }
	for text, tc := range map[string]struct {
		state *tls.ConnectionState
		want  bool
	}{
		"without TLS":                       {nil, false},
		"without a client certificate":      {&tls.ConnectionState{}, false},
		"with the client certificate right": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{right, other}}, true},
		"with the client certificate other": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{other, right}}, false},
	} {
		if got := Shows(tc.state, []*x509.Certificate{right}); got != tc.want {
			t.Errorf("%s: %t", text, got)
		}
		if got := Shown(tc.state, name); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}
