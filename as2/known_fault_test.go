package as2

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/fault"
)

// TestKnownFaultsOfReceiving feeds the receiver what other products are known
// to have failed on; the numbers are the rows of the collection of faults that
// the tests are named after.
func TestKnownFaultsOfReceiving(t *testing.T) {
	t.Parallel()
	content := []byte("ISA*00*\nbinary\r\n\x00\xff~\n\n")
	plain := func(a *Agreement) { a.Encrypt, a.Sign = "", 0 }
	signed := func(a *Agreement) { a.Encrypt = "" }
	for name, tc := range map[string]struct {
		send  func(*Agreement)
		wire  func(http.Header, []byte) []byte
		state string
		check func(*testing.T, MDN, Received)
	}{
		"row 1: no Content-Transfer-Encoding is binary": {send: signed, wire: func(h http.Header, b []byte) []byte {
			h.Del("Content-Transfer-Encoding")
			return b
		}},
		"row 5: Content-Type wholly quoted": {send: signed, wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Type", `"`+strings.ReplaceAll(h.Get("Content-Type"), `"`, `\"`)+`"`)
			return b
		}},
		"row 6: joined fold": {send: signed, wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Type", strings.ReplaceAll(h.Get("Content-Type"), "; ", ";\t "))
			return b
		}},
		"row 13: names quoted needlessly": {wire: func(h http.Header, b []byte) []byte {
			h.Set("AS2-From", `"ACME-AS2"`)
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if m.To != "ACME-AS2" || m.From != "NORTHWIND" {
				t.Errorf("MDN from %q to %q", m.From, m.To)
			}
		}},
		"row 17: options without micalg, pkcs7-mime without smime-type": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Disposition-Notification-Options", "signed-receipt-protocol=optional,pkcs7-signature")
			h.Set("Content-Type", "application/x-pkcs7-mime")
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if !m.Signed || m.MIC.Algorithm != "sha-256" {
				t.Errorf("signed %t, MIC %s", m.Signed, m.MIC)
			}
		}},
		"row 29: file name in RFC 2047 words, with a folder": {send: plain, wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Disposition", `attachment; filename="=?utf-8?q?..=2F..=2Fo=C3=BC.edi?="`)
			return b
		}, check: func(t *testing.T, _ MDN, r Received) {
			if r.FileName != "oü.edi" {
				t.Errorf("file name %q", r.FileName)
			}
		}},
		"row 30: whole body base64, said in the HTTP header": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Transfer-Encoding", "Base64")
			return []byte(wrapped(b))
		}},
		"row 30: plain body base64": {send: plain, wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Transfer-Encoding", "base64")
			return []byte(base64.StdEncoding.EncodeToString(b))
		}},
		"as2-lib: base64 said above a binary body": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Transfer-Encoding", "base64")
			return b
		}},
		"as2-lib: base64 said above binary compressed data": {send: func(a *Agreement) { plain(a); a.Compress = CompressBeforeSign },
			wire: func(h http.Header, b []byte) []byte {
				h.Set("Content-Transfer-Encoding", "base64")
				return b
			}},
		"as2-lib: its name of PSS": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Disposition-Notification-Options", "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, rsassa-pss-sha-256")
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if m.MIC.Algorithm != "rsassa-pss-sha-256" {
				t.Errorf("MIC %s", m.MIC)
			}
		}},
		"Sterling: Message-ID without brackets": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Message-ID", "order-20931@edi.acme.example")
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if m.OriginalMessageID != "order-20931@edi.acme.example" {
				t.Errorf("echoed as %q", m.OriginalMessageID)
			}
		}},
		"row 61: stray characters behind Content-Type": {send: signed, wire: func(h http.Header, b []byte) []byte {
			h.Set("Content-Type", h.Get("Content-Type")+"; ,")
			return b
		}},
		"row 65: opaque policy breach": {send: plain, state: "processed/error: insufficient-message-security"},
		"row 66: undecodable": {wire: func(_ http.Header, b []byte) []byte {
			return b[:len(b)/2]
		}, state: "processed/error: decryption-failed"},
		"row 71: options alone ask for nothing": {wire: func(h http.Header, b []byte) []byte {
			h.Del("Disposition-Notification-To")
			return b
		}, state: "-"},
		"row 73: MIC follows the signature": {send: func(a *Agreement) { a.Sign, a.MDN.Algorithm = crypto.SHA512, crypto.SHA256 },
			check: func(t *testing.T, m MDN, r Received) {
				if m.MIC.Algorithm != "sha-512" {
					t.Errorf("MIC %s", m.MIC)
				}
			}},
		"row 74: no options at all": {wire: func(h http.Header, b []byte) []byte {
			h.Del("Disposition-Notification-Options")
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if m.Signed || m.MIC.Algorithm != "sha-256" {
				t.Errorf("signed %t, MIC %s", m.Signed, m.MIC)
			}
		}},
		"row 74: no options, unsigned: SHA-1": {send: plain, wire: func(h http.Header, b []byte) []byte {
			h.Del("Disposition-Notification-Options")
			return b
		}, check: func(t *testing.T, m MDN, _ Received) {
			if m.MIC.Algorithm != "sha1" {
				t.Errorf("MIC %s", m.MIC)
			}
		}},
		"row 83: empty Receipt-Delivery-Option is synchronous": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Receipt-Delivery-Option", "")
			return b
		}},
		"row 85: another certificate of the same name first": {},
		"unknown EDIINT features and no version": {wire: func(h http.Header, b []byte) []byte {
			h.Del("AS2-Version")
			h.Set("EDIINT-Features", "teleportation, multiple-attachments")
			return b
		}},
		"receipt protocol unknown but required": {wire: func(h http.Header, b []byte) []byte {
			h.Set("Disposition-Notification-Options", "signed-receipt-protocol=required, pgp-signature; signed-receipt-micalg=optional, sha1")
			return b
		}, state: "failed/failure: unsupported format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := toNorthwind()
			m := &memory{agreement: fromAcme()}
			m.agreement.Verify = []*x509.Certificate{newPair("acme.example", stranger().key, testNow, testNow).cert, acme().cert}
			if tc.send != nil {
				tc.send(&a)
				m.agreement.Receive = Receive{Signed: tc.state != "" && a.Sign == 0}
			}
			r, wire := mustBuild(t, a, content)
			req := wireRequest(t, r, wire)
			if tc.wire != nil {
				wire = tc.wire(req.Header, wire)
				req.Body = io.NopCloser(bytes.NewReader(wire))
			}
			res := serve(testHandler(t, m), req)
			got, payload := m.last(t)
			if tc.state == "-" {
				if body := readBody(t, res); len(body) > 0 || !got.Accepted || got.Answer != nil {
					t.Errorf("answered %q", body)
				}
				return
			}
			mdn, state := dispositionOf(t, res)
			want := tc.state
			if want == "" {
				want = "processed"
			}
			if state != want {
				t.Fatalf("answered %q, want %q: %s", state, want, got.Problem)
			}
			if want == "processed" && !bytes.Equal(payload, content) {
				t.Errorf("the document changed to %q", payload)
			}
			if tc.check != nil {
				tc.check(t, mdn, got)
			}
		})
	}
}

// TestRow2Row53ChunkedByBytes: chunks of one byte, with 100-continue.
func TestRow2Row53ChunkedByBytes(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	server := httptest.NewServer(testHandler(t, m))
	defer server.Close()
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	req := wireRequest(t, r, nil)
	req.URL.Host, req.Host = strings.TrimPrefix(server.URL, "http://"), ""
	req.Body, req.ContentLength = io.NopCloser(iotest.OneByteReader(bytes.NewReader(wire))), -1
	req.Header.Set("Expect", "100-continue")
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, state := dispositionOf(t, res); state != "processed" || res.ContentLength <= 0 {
		t.Errorf("answered %q, length %d", state, res.ContentLength)
	}
}

// TestRow54DefiniteLengths: Sterling cannot read indefinite ones.
func TestRow54DefiniteLengths(t *testing.T) {
	t.Parallel()
	_, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	if wire[0] != 0x30 || wire[1] == 0x80 {
		t.Errorf("message begins % x", wire[:4])
	}
}

// TestRow37Row62SignerIsPinned: a receipt with a good signature and its own
// certificate inside, by somebody else.
func TestRow37Row62SignerIsPinned(t *testing.T) {
	t.Parallel()
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	m := &memory{agreement: fromAcme()}
	m.agreement.SigningKey, m.agreement.SigningCertificate = stranger().key, stranger().cert
	res := serve(testHandler(t, m), wireRequest(t, r, wire))
	body := readBody(t, res)
	a := toNorthwind()
	if ack, _ := VerifyMDN(res.Header, body, []Rendition{r}, a); ack.Verdict != fault.AckWrongSigner || ack.Signer == "" {
		t.Errorf("verdict %q, signer %q", ack.Verdict, ack.Signer)
	}
	a.Verify = append(a.Verify, stranger().cert) // row 37: both certificates of a roll-over
	if ack, _ := VerifyMDN(res.Header, body, []Rendition{r}, a); ack.Verdict != fault.AckTrusted {
		t.Errorf("verdict %q after the certificate was added", ack.Verdict)
	}
}
