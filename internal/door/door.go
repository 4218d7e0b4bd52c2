// Package door is what every address that partners post to asks of a request
// before it is a message, whatever the protocol: that its header is of a bearable
// size, and that the client certificate that was agreed is shown.
package door

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// maxFields is the number of fields that an HTTP header may have.
const maxFields = 200

// TooLarge bounds the header again: a server in front may allow more.
func TooLarge(h http.Header, limit int) bool {
	size, count := 0, 0
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(v) + 4
			count++
		}
	}
	return size > limit || count > maxFields
}

// WithoutCredentials copies a header that is going to be kept.
func WithoutCredentials(h http.Header) http.Header {
	c := h.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		c.Del(name)
	}
	return c
}

// Shows reports whether the client of a connection proved to hold the key of
// one of these certificates. Certificates above his own prove nothing.
func Shows(state *tls.ConnectionState, want []*x509.Certificate) bool {
	if state == nil || len(state.PeerCertificates) == 0 {
		return false
	}
	for _, c := range want {
		if c.Equal(state.PeerCertificates[0]) {
			return true
		}
	}
	return false
}

// Shown says what a client proved to be; name tells a certificate.
func Shown(state *tls.ConnectionState, name func(*x509.Certificate) string) string {
	switch {
	case state == nil:
		return "without TLS"
	case len(state.PeerCertificates) == 0:
		return "without a client certificate"
	}
	return "with the client certificate " + name(state.PeerCertificates[0])
}
