package wssec

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"edigw/internal/testfixture"
	"encoding/pem"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// foreignReceipt reads a captured receipt and the certificate in its token.
func foreignReceipt(t *testing.T, name string) (message, *x509.Certificate) {
	t.Helper()
	_, text, ok := bytes.Cut(testfixture.Foreign(t, "as4", "receipts", name), []byte("\n\n"))
	if !ok {
		t.Fatal("no header lines in front of the receipt")
	}
	m := parseMessage(t, text)
	all := claimed(m.security)
	if len(all) != 1 {
		t.Fatalf("%d certificates", len(all))
	}
	return m, all[0]
}

var receiptTime = time.Date(2022, 3, 8, 0, 0, 0, 0, time.UTC)

func TestForeignReceiptVerifies(t *testing.T) {
	t.Parallel()
	m, leaf := foreignReceipt(t, "helger.as4in")
	r, err := m.verify(Trust{Pinned: []*x509.Certificate{leaf}, Now: receiptTime})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Covers(m.messaging) || !r.Covers(m.body) || r.Algorithm != RSASHA256 || !r.Signer.Equal(leaf) {
		t.Errorf("%+v", r)
	}
	if _, err := m.verify(Trust{Pinned: []*x509.Certificate{leaf}, Now: signedAt}); !errors.Is(err, ErrSigner) || !strings.Contains(err.Error(), "expired at 2023-05-14") {
		t.Errorf("three years later: %v", err)
	}
	if _, err := m.verify(Trust{Pinned: []*x509.Certificate{leaf}, Now: receiptTime.AddDate(-1, 0, 0)}); !errors.Is(err, ErrSigner) || !strings.Contains(err.Error(), "not valid before 2021-05-24") {
		t.Errorf("a year before: %v", err)
	}
	if _, err := m.verify(Trust{Pinned: rsaSigner().trust().Pinned, Now: receiptTime}); !errors.Is(err, ErrSigner) {
		t.Errorf("pinned to somebody else: %v", err)
	}
}

// A peer that changed its header after signing: the text says which reference
// failed, and both digests.
func TestForeignReceiptThatWasChanged(t *testing.T) {
	t.Parallel()
	m, leaf := foreignReceipt(t, "dataport1.as4in")
	r, err := m.verify(Trust{Pinned: []*x509.Certificate{leaf}, Now: receiptTime})
	if !errors.Is(err, ErrSignature) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"#id-4b28412d2948bca-f4a2-48fe-8503-d3693f501057", "eb3:Messaging", "was changed after it was signed",
		"the signature has 1VP+i4BoSXRYzcZqvAh+rOlU5Q3VcXWQQKAXxafpq1A=", "SHA-256 digest is 6gEytSkL",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if len(r.References) != 2 || r.References[0].Problem == "" || r.References[1].Problem != "" || !r.Signer.Equal(leaf) {
		t.Errorf("%+v", r)
	}
	if r.Covers(m.messaging) || r.Covers(m.body) {
		t.Error("a signature that fails covers something")
	}
}

// hostileMessage reads a message of the hostile set as far as this package
// needs it.
func hostileMessage(t *testing.T, name string) (message, error) {
	t.Helper()
	raw := testfixture.Foreign(t, "hostile", "as4", name)
	var header http.Header
	var body io.Reader
	if bytes.HasPrefix(raw, []byte("HTTP/")) {
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
		if err != nil {
			t.Fatal(err)
		}
		header, body = response.Header, response.Body
	} else {
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatal(err)
		}
		header, body = request.Header, request.Body
	}
	mediaType, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "multipart/related" {
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return readMessage(text)
	}
	var root []byte
	var parts []Part
	for r := multipart.NewReader(body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if root == nil {
			root = content
			continue
		}
		parts = append(parts, part(strings.Trim(p.Header.Get("Content-ID"), "<>"), p.Header.Get("Content-Type"), string(content)))
	}
	m, err := readMessage(root)
	m.parts = parts
	return m, err
}

func hostileCertificate(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(testfixture.Foreign(t, "hostile", "keys", name+".crt.pem"))
	if block == nil {
		t.Fatal("not PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a signature proves about each message of the hostile set. Whether that
// is enough is decided above.
func TestHostile(t *testing.T) {
	t.Parallel()
	const (
		good     = "good"     // Messaging, Body and all parts covered
		wrapped  = "wrapped"  // verifies, but not over this Messaging
		body     = "body"     // verifies, but not over this Body
		uncovers = "uncovers" // verifies, but not over a part
	)
	for name, want := range map[string]string{
		"control-ok": good, "receipt-ok": good, "attachment-extra": uncovers, "attachment-not-signed": uncovers,
		"body-ok": good, "cid-percent-encoded": good, "xml-attribute-newline": good, "xml-comment-in-partyid": good,
		"mustunderstand-false": good, "gzip-bomb": good, "gzip-bad-crc": good, "receipt-reordered": good,
		"wrap-messaging-moved": wrapped, "wrap-messaging-in-security": wrapped, "wrap-body-moved": body,
		"wrap-id-duplicated":         "wsu:Id msg occurs twice",
		"wrap-id-duplicated-reverse": "wsu:Id msg occurs twice",
		"attachment-changed":         "reference cid:order@partner.edigw.test (part application/gzip) was changed after it was signed",
		"attachment-cid-twice":       "leads to two parts with this Content-ID",
		"no-content-id":              "leads to no part of the message",
		"part-missing":               "leads to no part of the message",
		"signer-stranger":            "the signer is not the partner",
		"receipt-stranger":           "the signer is not the partner",
		"unsigned":                   "there is no signature",
		"xml-dtd-harmless":           "DTD",
		"xml-billion-laughs":         "DTD",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := hostileMessage(t, name+".http")
			var r *Report
			if err == nil {
				r, err = m.verify(Trust{Pinned: []*x509.Certificate{hostileCertificate(t, "partner")}, Now: signedAt})
			}
			var got string
			switch {
			case err != nil:
				got = err.Error()
			case !r.Covers(m.messaging):
				got = wrapped
			case !r.Covers(m.body):
				got = body
			default:
				got = good
				for _, p := range m.parts {
					if !r.CoversPart(p.ContentID) {
						got = uncovers
					}
				}
			}
			if err == nil && got != want || err != nil && !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The lookalike has the partner's name and serial number: it is no stranger by
// name, and its signature is not the partner's.
func TestHostileLookalike(t *testing.T) {
	t.Parallel()
	m, err := hostileMessage(t, "control-ok.http")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.verify(Trust{Pinned: []*x509.Certificate{hostileCertificate(t, "lookalike")}, Now: signedAt}); !errors.Is(err, ErrSigner) {
		t.Errorf("got %v", err)
	}
}
