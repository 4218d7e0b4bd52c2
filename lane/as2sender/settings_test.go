package as2sender

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/testpki"
)

// TestSettingsReachTheWire: what the partner's file says of version, framing,
// signature and encryption is what the partner sees, and a positive receipt
// comes of it.
func TestSettingsReachTheWire(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.sender.Product = "edigw/1.4"
	var seen *http.Request
	old := h.server
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Clone(r.Context())
		h.partner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.server.Close)
	old.Close()
	for _, test := range []struct {
		name    string
		lines   []string
		header  map[string]string
		chunked bool
	}{
		{"built in", nil, map[string]string{"AS2-Version": "1.2", "AS2-Product": "", "EDIINT-Features": "multiple-attachments, AS2-Reliability", "Expect": ""}, false},
		{"1.3", []string{`version: "1.3"`, "encrypt: aes256-gcm", "signature: rsa-pss", "key_transport: rsa-oaep-sha256", "encrypt_to_self: true"}, map[string]string{
			"AS2-Version": "1.3", "AS2-Product": "edigw:1.4", "User-Agent": "edigw/1.4",
			"Content-Type": `application/pkcs7-mime; smime-type=authEnveloped-data; name="smime.p7m"`,
		}, false},
		{"old", []string{`version: "1.0"`, "digest_names: rfc3851", "transfer: chunked", "expect_continue: true"}, map[string]string{
			"AS2-Version": "1.0", "EDIINT-Features": "", "Expect": "100-continue",
			"Disposition-Notification-Options": "signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, sha256",
		}, true},
	} {
		h.configure(test.lines...)
		h.builds, h.partner.answers = nil, map[string]*as2.Answer{}
		m := h.accept(invoice)
		o, _ := h.attempt(m)
		if o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
			t.Fatalf("%s: %+v", test.name, o)
		}
		for name, want := range test.header {
			if got := seen.Header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", test.name, name, got, want)
			}
		}
		if got := slices.Equal(seen.TransferEncoding, []string{"chunked"}); got != test.chunked || !got && seen.ContentLength != h.builds[0].Size {
			t.Errorf("%s: %v, length %d", test.name, seen.TransferEncoding, seen.ContentLength)
		}
	}
}

// TestPartnerWithAnEllipticCurve: a certificate of one is encrypted to by key
// agreement, whatever as2.key_transport says of RSA.
func TestPartnerWithAnEllipticCurve(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	curve := testpki.SelfSigned(t, testpki.P256(t), "northwind.example", testpki.Valid())
	h.write("keys/northwind.pem", string(curve.CertPEM()))
	h.theirs = curve
	h.configure("key_transport: rsa-oaep-sha512")
	if o, _ := h.attempt(h.accept(invoice)); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
		t.Fatalf("%+v", o)
	}
}
