package as2

import (
	"bytes"
	"crypto/x509"
	"strings"
	"testing"
)

// TestReceiptClaims: who is said to have signed a receipt is told with his
// certificate only if it is inside, and the signature fits it.
func TestReceiptClaims(t *testing.T) {
	t.Parallel()
	build, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	receipt := func(change func(*Agreement)) Receipt {
		m := &memory{agreement: fromAcme()}
		change(&m.agreement)
		res := serve(testHandler(t, m), wireRequest(t, build, wire))
		return Receipt{Header: res.Header, Body: readBody(t, res)}
	}
	foreign := func(a *Agreement) { a.SigningKey, a.SigningCertificate = stranger().key, stranger().cert }
	changed := receipt(foreign)
	changed.Body = bytes.Replace(changed.Body, []byte("processed"), []byte("rejecting"), 1)
	pinned := []*x509.Certificate{northwind().cert}
	for _, test := range []struct {
		name    string
		receipt Receipt
		claims  int
		carries bool
	}{
		{"by a stranger", receipt(foreign), 1, true},
		{"without his certificate", receipt(func(a *Agreement) { foreign(a); a.OmitCertificate = true }), 1, false},
		{"changed on the way", changed, 1, false},
		{"by the partner", receipt(func(*Agreement) {}), 0, false},
		{"no receipt", Receipt{Body: []byte("<html>")}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ReceiptClaims(test.receipt, pinned)
			if len(got) != test.claims {
				t.Fatalf("%d claims", len(got))
			}
			for _, c := range got {
				if !strings.Contains(c.Name, "stranger.example") || (len(c.Certificate) > 0) != test.carries || test.carries && !bytes.Equal(c.Certificate, stranger().cert.Raw) {
					t.Errorf("%s with %d bytes of a certificate", c.Name, len(c.Certificate))
				}
			}
		})
	}
}

// TestClaimsOfARefusedMessage come with it into the inbox.
func TestClaimsOfARefusedMessage(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.SigningKey, a.SigningCertificate = stranger().key, stranger().cert
	build, wire := mustBuild(t, a, []byte("ISA~"))
	m := &memory{agreement: fromAcme()}
	serve(testHandler(t, m), wireRequest(t, build, wire))
	got, _ := m.last(t)
	if got.Accepted || len(got.Claims) != 1 || !bytes.Equal(got.Claims[0].Certificate, stranger().cert.Raw) {
		t.Errorf("accepted %t, %d claims", got.Accepted, len(got.Claims))
	}
}
