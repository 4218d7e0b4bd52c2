package as4

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/wssec"
)

// TestReceiptClaims: a stranger is shown with the certificate that his signature
// verifies with, and with no other.
func TestReceiptClaims(t *testing.T) {
	t.Parallel()
	p, by, _, o := sent(t)
	by.Sign.Key, by.Sign.Certificate = acmeEd().key, acmeEd().cert // whom p does not know
	by.Sign.Algorithm = wssec.Ed25519
	claimsOf := func(a *Answer) []Claim {
		return ReceiptClaims(http.Header{"Content-Type": {a.ContentType}}, a.Body, p, testNow)
	}
	for token, carried := range map[wssec.Token]bool{
		wssec.TokenBST: true, wssec.TokenPKIPath: true, wssec.TokenPKCS7: true, wssec.TokenIssuerSerial: false, wssec.TokenThumbprint: false,
	} {
		by.Sign.Token = token
		a := o.receiptFor(t, by)
		got := claimsOf(a)
		if len(got) != 1 || got[0].Name == "" || carried != bytes.Equal(got[0].Certificate, acmeEd().cert.Raw) || !carried && got[0].Certificate != nil {
			t.Errorf("%s: %+v", token, got)
		}
		// Changed so that the value fits no more: nobody is shown.
		if carried {
			value := a.Body[bytes.Index(a.Body, []byte("SignatureValue>"))+len("SignatureValue>"):][:8]
			changed := replaced(t, a, string(value), strings.Repeat("A", 8))
			if got := claimsOf(changed); len(got) > 0 {
				t.Errorf("%s: a signature that fits no certificate claims %+v", token, got)
			}
		}
	}
	_, known, _, o := sent(t)
	if got := claimsOf(o.receiptFor(t, known)); got != nil {
		t.Errorf("the partner's own receipt claims %+v", got)
	}
	if got := ReceiptClaims(http.Header{}, []byte("<html/>"), p, testNow); got != nil {
		t.Errorf("a page claims %+v", got)
	}
}
