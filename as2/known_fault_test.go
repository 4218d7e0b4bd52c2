package as2

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
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
		"row 51: Message-ID without brackets": {wire: func(h http.Header, b []byte) []byte {
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
			if res.Header.Get("Content-Length") == "" {
				t.Error("row 26: MDN without Content-Length")
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
				t.Errorf("row 43, 59, 75: document changed to %q", payload)
			}
			if tc.check != nil {
				tc.check(t, mdn, got)
			}
		})
	}
}

// TestRow2ChunkedByBytes: chunks of one byte, with 100-continue (rows 2, 53).
func TestRow2ChunkedByBytes(t *testing.T) {
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

// report writes an MDN by hand.
func report(fields string) (http.Header, []byte) {
	return http.Header{"Content-Type": {`multipart/report; report-type=disposition-notification; boundary="r"`}},
		[]byte("--r\r\nContent-Type: text/plain\r\n\r\nwords\r\n--r\r\nContent-Type: message/disposition-notification\r\n\r\n" + fields + "\r\n--r--\r\n")
}

// TestKnownFaultsOfMDNs: what is tolerated in a receipt, and what never settles.
func TestKnownFaultsOfMDNs(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Signed = false
	r, _ := mustBuild(t, a, []byte("ISA~"))
	mic := r.MICs[0]
	usual := "Final-Recipient: rfc822; NORTHWIND\r\nOriginal-Message-ID: " + r.MessageID + "\r\nDisposition: automatic-action/MDN-sent-automatically; processed\r\nReceived-Content-MIC: " + mic.String() + "\r\n"
	replace := func(old, new string) string {
		if !strings.Contains(usual, old) {
			t.Fatalf("%q is not in the MDN", old)
		}
		return strings.Replace(usual, old, new, 1)
	}
	for name, tc := range map[string]struct {
		fields   string
		verdict  fault.AckVerdict
		positive bool
		text     string
	}{
		"usual":                         {usual, fault.AckTrusted, true, ""},
		"no blanks after separators":    {strings.NewReplacer(": ", ":", "; ", ";", ", ", ",").Replace(usual), fault.AckTrusted, true, ""},
		"LF line ends":                  {strings.ReplaceAll(usual, "\r\n", "\n"), fault.AckTrusted, true, ""},
		"no last line end":              {strings.TrimSuffix(usual, "\r\n"), fault.AckTrusted, true, ""},
		"lower-case field names":        {strings.NewReplacer("Original-Message-ID", "original-message-id", "Disposition", "disposition").Replace(usual), fault.AckTrusted, true, ""},
		"id without brackets":           {replace(r.MessageID, bare(r.MessageID)), fault.AckTrusted, true, ""},
		"folded":                        {replace("; processed", ";\r\n\tprocessed"), fault.AckTrusted, true, ""},
		"recipient without type":        {replace("rfc822; ", ""), fault.AckTrusted, true, ""},
		"no recipient":                  {replace("Final-Recipient: rfc822; NORTHWIND\r\n", ""), fault.AckTrusted, true, ""},
		"other spelling of SHA-256":     {replace("sha-256", "SHA256"), fault.AckTrusted, true, ""},
		"no mode":                       {replace("automatic-action/MDN-sent-automatically; ", ""), fault.AckTrusted, true, ""},
		"warning: duplicate":            {replace("processed\r\n", "processed/warning: duplicate-document\r\n"), fault.AckTrusted, true, "duplicate-document"},
		"row 9: refused with 200":       {replace("processed\r\n", "processed/error: decryption-failed\r\n"), fault.AckTrusted, false, "decryption-failed"},
		"misspelt refusal":              {replace("processed\r\n", "processed/error: decompresion-failed\r\n"), fault.AckTrusted, false, "decompresion-failed"},
		"refusal without MIC":           {replace("processed\r\nReceived-Content-MIC: "+mic.String(), "failed/Failure: sender-equals-receiver"), fault.AckTrusted, false, "sender-equals-receiver"},
		"error in a field of its own":   {usual + "Error: authentication-failed\r\n", fault.AckTrusted, false, "authentication-failed"},
		"warning in a field of its own": {usual + "Warning: seen before\r\n", fault.AckTrusted, true, "seen before"},
		"failure beside a blank line":   {usual + "\r\nFailure: later\r\n", fault.AckTrusted, false, "later"},
		"unsigned without MIC":          {replace("Received-Content-MIC: "+mic.String()+"\r\n", ""), fault.AckTrusted, true, ""},
		"other MIC":                     {replace(mic.Value, base64.StdEncoding.EncodeToString(make([]byte, 32))), fault.AckMICMismatch, true, ""},
		"MIC without algorithm":         {replace(", sha-256", ""), fault.AckMICMismatch, true, ""},
		"hidden second Disposition":     {usual + "\r\n\r\nDisposition: x; failed\r\n", fault.AckContradictory, false, ""},
		"two messages":                  {usual + "Original-Message-ID: <x@y>\r\n", fault.AckContradictory, false, ""},
		"two MICs":                      {usual + "Received-Content-MIC: x, sha1\r\n", fault.AckContradictory, false, ""},
		"no Disposition":                {replace("Disposition: automatic-action/MDN-sent-automatically; processed\r\n", ""), fault.AckMalformed, false, ""},
		"empty Disposition":             {replace("automatic-action/MDN-sent-automatically; processed", ""), fault.AckMalformed, false, ""},
		"names no message":              {replace("Original-Message-ID: "+r.MessageID+"\r\n", ""), fault.AckMalformed, true, ""},
		"other message":                 {replace(r.MessageID, "<other@x>"), fault.AckOtherMessage, true, ""},
		"id of other case":              {replace(r.MessageID, strings.ToUpper(r.MessageID)), fault.AckOtherMessage, true, ""},
		"no fields":                     {"", fault.AckMalformed, false, ""},
		"too many fields":               {usual + strings.Repeat("X: y\r\n", 300), fault.AckMalformed, false, ""},
	} {
		header, body := report(tc.fields)
		ack, mdn := VerifyMDN(header, body, []Rendition{r}, a)
		if ack.Verdict != tc.verdict || ack.Positive != tc.positive || ack.Text != tc.text {
			t.Errorf("%s: verdict %q, positive %t, text %q; want %q, %t, %q (%s)", name, ack.Verdict, ack.Positive, ack.Text, tc.verdict, tc.positive, tc.text, mdn.Problem)
		}
		signed := a
		signed.MDN.Signed = true
		if ack, _ := VerifyMDN(header, body, []Rendition{r}, signed); ack.Verdict == fault.AckTrusted {
			t.Errorf("%s: unsigned is trusted where signed was asked", name)
		}
	}
}

// TestMDNStructures: as2.md §2.3: nesting, encodings, missing pieces.
func TestMDNStructures(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Signed = false
	r, _ := mustBuild(t, a, []byte("ISA~"))
	fields := "Original-Message-ID: " + r.MessageID + "\r\nDisposition: x; processed\r\n"
	machine := "Content-Type: message/disposition-notification\r\n"
	nested := func(depth int) string {
		inner := machine + "\r\n" + fields
		for i := range depth {
			inner = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%s\r\n--b%d--", i, i, inner, i)
		}
		return inner
	}
	for name, tc := range map[string]struct {
		parts   []string
		verdict fault.AckVerdict
	}{
		"machine part alone":            {[]string{machine + "\r\n" + fields}, fault.AckTrusted},
		"text without header":           {[]string{"\r\nhello", machine + "\r\n" + fields}, fault.AckTrusted},
		"text of unknown charset":       {[]string{"Content-Type: text/plain; charset=klingon\r\n\r\n\xff\xfe", machine + "\r\n" + fields}, fault.AckTrusted},
		"text as broken base64":         {[]string{"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n%%%", machine + "\r\n" + fields}, fault.AckTrusted},
		"machine part in base64":        {[]string{machine + "Content-Transfer-Encoding: base64\r\n\r\n" + wrapped([]byte(fields))}, fault.AckTrusted},
		"machine part quoted":           {[]string{machine + "Content-Transfer-Encoding: quoted-printable\r\n\r\n" + strings.ReplaceAll(fields, "=", "=3D")}, fault.AckTrusted},
		"original message as third":     {[]string{"\r\nhello", machine + "\r\n" + fields, "Content-Type: text/rfc822-headers\r\n\r\nDisposition: x; failed"}, fault.AckTrusted},
		"row 11: nested multipart":      {[]string{"\r\nhello", nested(2)}, fault.AckTrusted},
		"nested too deep":               {[]string{nested(6)}, fault.AckMalformed},
		"machine part in broken base64": {[]string{machine + "Content-Transfer-Encoding: base64\r\n\r\n%%%"}, fault.AckMalformed},
		"unknown encoding":              {[]string{machine + "Content-Transfer-Encoding: rot13\r\n\r\n" + fields}, fault.AckMalformed},
		"two machine parts":             {[]string{machine + "\r\n" + fields, nested(1)}, fault.AckContradictory},
		"no machine part":               {[]string{"\r\nhello"}, fault.AckMalformed},
		"too many parts":                {[]string{"\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", machine + "\r\n" + fields}, fault.AckMalformed},
	} {
		body := "preamble\r\n"
		for _, part := range tc.parts {
			body += "--r\r\n" + part + "\r\n"
		}
		body += "--r--\r\n"
		header := http.Header{"Content-Type": {`multipart/report; boundary=r`}}
		ack, mdn := VerifyMDN(header, []byte(body), []Rendition{r}, a)
		if ack.Verdict != tc.verdict {
			t.Errorf("%s: verdict %q, want %q (%s)", name, ack.Verdict, tc.verdict, mdn.Problem)
		}
		if ack, _ := VerifyMDN(header, []byte(body[:len(body)-6]), []Rendition{r}, a); ack.Verdict == fault.AckTrusted {
			t.Errorf("%s: trusted without its end", name)
		}
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

// TestRow62SignerIsPinned: a receipt with a good signature and its own
// certificate inside, by somebody else.
func TestRow62SignerIsPinned(t *testing.T) {
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
