package exchange

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// trust decides whether a server is the partner.
type trust struct {
	pins  []*x509.Certificate
	roots *x509.CertPool // nil: the system's
	now   func() time.Time
}

func newTrust(certs []*x509.Certificate, now func() time.Time) trust {
	t := trust{pins: certs, now: now}
	if t.now == nil {
		t.now = time.Now
	}
	if len(certs) > 0 {
		t.roots = x509.NewCertPool()
		for _, c := range certs {
			t.roots.AddCert(c)
		}
	}
	return t
}

// verify checks what the server showed, for the host that was asked for. Every
// refusal is a *tls.CertificateVerificationError.
func (t trust) verify(cs tls.ConnectionState, host string) error {
	if len(cs.PeerCertificates) == 0 {
		return &tls.CertificateVerificationError{Err: errors.New("the server showed no certificate")}
	}
	leaf := cs.PeerCertificates[0]
	fail := func(err error) error {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	now := t.now()
	for _, pin := range t.pins {
		if !bytes.Equal(pin.Raw, leaf.Raw) {
			continue
		}
		// A pin is more than a name: what partners sign themselves often
		// bears none, or that of another machine.
		if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
			return fail(x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired})
		}
		return nil
	}
	intermediates := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName:       host,
		Roots:         t.roots,
		Intermediates: intermediates,
		CurrentTime:   now,
	})
	if err != nil {
		return fail(err)
	}
	return nil
}
