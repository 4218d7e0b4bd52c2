package as2

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/as2/smime"
)

// micOver is the MIC that a partner would compute himself.
func micOver(h hash.Hash, name string, covered ...[]byte) MIC {
	for _, b := range covered {
		h.Write(b)
	}
	return MIC{Algorithm: name, Value: base64.StdEncoding.EncodeToString(h.Sum(nil))}
}

// TestMICRules: the MIC that we report of messages that are not signed, by the
// standards and by each rule that partners read differently.
func TestMICRules(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("LIN+1++4000862141404:SRV'\r\n", 40))
	header := "Content-Type: application/edi-x12\r\nContent-Transfer-Encoding: %\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\n"
	binaryPart, base64Part := []byte(strings.ReplaceAll(header, "%", "binary")), []byte(strings.ReplaceAll(header, "%", "base64"))
	encoded := []byte(wrapped(content))
	compress := func(a *Agreement) { a.Compress = CompressBeforeSign }
	for name, tc := range map[string]struct {
		send  func(*Agreement)
		asks  string // signed-receipt-micalg; empty: no options
		rules MICRules
		want  MIC
	}{
		"plain, nothing asked":            {want: micOver(sha1.New(), "sha1", content)},
		"plain, spelled as asked":         {asks: "SHA-256", want: micOver(sha256.New(), "SHA-256", content)},
		"plain, first that is supported":  {asks: "sha9, sha2_256, sha1", want: micOver(sha256.New(), "sha2_256", content)},
		"plain, SHA-1 whatever is asked":  {asks: "sha-256", rules: MICRules{Unsigned: crypto.SHA1}, want: micOver(sha1.New(), "sha1", content)},
		"plain, SHA-512 though none asks": {rules: MICRules{Unsigned: crypto.SHA512}, want: micOver(sha512.New(), "sha-512", content)},
		"plain base64":                    {send: func(a *Agreement) { a.TransferEncoding = Base64 }, want: micOver(sha1.New(), "sha1", content)},
		"plain base64, encoded":           {send: func(a *Agreement) { a.TransferEncoding = Base64 }, rules: MICRules{EncodedBody: true}, want: micOver(sha1.New(), "sha1", encoded)},
		"plain binary, encoded":           {rules: MICRules{EncodedBody: true}, want: micOver(sha1.New(), "sha1", content)},
		"compressed":                      {send: compress, want: micOver(sha1.New(), "sha1", binaryPart, content)},
		"compressed, body":                {send: compress, rules: MICRules{CompressedBody: true}, want: micOver(sha1.New(), "sha1", content)},
		"encrypted, body of compressed":   {send: func(a *Agreement) { a.Encrypt = smime.AES256CBC }, rules: MICRules{CompressedBody: true, EncodedBody: true}, want: micOver(sha1.New(), "sha1", binaryPart, content)},
		"encrypted(compressed), body":     {send: func(a *Agreement) { compress(a); a.Encrypt = smime.AES256CBC }, rules: MICRules{CompressedBody: true}, want: micOver(sha1.New(), "sha1", binaryPart, content)},
		"compressed base64, encoded body": {send: func(a *Agreement) { compress(a); a.TransferEncoding = Base64 }, rules: MICRules{EncodedBody: true}, want: micOver(sha1.New(), "sha1", base64Part, encoded)},
		"signed follows its signature":    {send: func(a *Agreement) { a.Sign = crypto.SHA256 }, rules: MICRules{Unsigned: crypto.SHA1, EncodedBody: true}, want: micOver(sha256.New(), "sha-256", binaryPart, content)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := toNorthwind()
			a.Sign, a.Encrypt = 0, ""
			if tc.send != nil {
				tc.send(&a)
			}
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive = Receive{MIC: tc.rules}
			r, wire := mustBuild(t, a, content)
			req := wireRequest(t, r, wire)
			req.Header.Del("Disposition-Notification-Options")
			if tc.asks != "" {
				req.Header.Set("Disposition-Notification-Options", "signed-receipt-protocol=optional,pkcs7-signature; signed-receipt-micalg=optional,"+tc.asks)
			}
			mdn, state := dispositionOf(t, serve(testHandler(t, m), req))
			if state != "processed" || mdn.MIC != tc.want {
				t.Errorf("%s, MIC %s, want %s", state, mdn.MIC, tc.want)
			}
		})
	}
}

// TestMICIsSpelledAsTheSignatureSays: who asks for no algorithm gets the name
// that he gave his own.
func TestMICIsSpelledAsTheSignatureSays(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Encrypt = ""
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive = Receive{Signed: true}
	r, wire := mustBuild(t, a, []byte("ISA~"))
	req := wireRequest(t, r, wire)
	req.Header.Set("Content-Type", strings.Replace(req.Header.Get("Content-Type"), "micalg=sha-256", "micalg=SHA256", 1))
	req.Header.Del("Disposition-Notification-Options")
	if mdn, state := dispositionOf(t, serve(testHandler(t, m), req)); state != "processed" || mdn.MIC.Algorithm != "SHA256" {
		t.Errorf("%s, MIC %s", state, mdn.MIC)
	}
}

// TestVersionAndNamesOfTheReceipt are those of the agreement; a stranger gets
// what is always said.
func TestVersionAndNamesOfTheReceipt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ version, from, want, product string }{
		{"", "ACME-AS2", "1.2", ""}, {"1.1", "ACME-AS2", "1.1", ""}, {"1.3", "ACME-AS2", "1.3", "edigw:unknown"}, {"1.3", "SOMEBODY", "1.2", ""},
	} {
		a := toNorthwind()
		a.From, a.Sign, a.Encrypt = tc.from, 0, ""
		m := &memory{agreement: fromAcme()}
		m.agreement.Receive = Receive{MIC: MICRules{Unsigned: crypto.SHA256}}
		m.agreement.Version, m.agreement.DashlessNames = tc.version, true
		r, wire := mustBuild(t, a, []byte("ISA~"))
		req := wireRequest(t, r, wire)
		req.Header.Set("Disposition-Notification-Options", "signed-receipt-protocol=optional,pkcs7-signature")
		res := serve(testHandler(t, m), req)
		mdn, _ := dispositionOf(t, res)
		if res.Header.Get("AS2-Version") != tc.want || res.Header.Get("AS2-Product") != tc.product {
			t.Errorf("version %q of an agreement on %q, product %q", res.Header.Get("AS2-Version"), tc.version, res.Header.Get("AS2-Product"))
		}
		if tc.from == "ACME-AS2" && (mdn.MIC.Algorithm != "sha256" || !strings.Contains(res.Header.Get("Content-Type"), "micalg=sha256")) {
			t.Errorf("MIC %s, type %s", mdn.MIC, res.Header.Get("Content-Type"))
		}
	}
}

// TestAuthenticatedEncryption: AuthEnvelopedData is a layer like any other, also
// without smime-type, and a changed byte is a failure to decrypt.
func TestAuthenticatedEncryption(t *testing.T) {
	t.Parallel()
	content := contents()["usual"]
	for _, cipher := range []smime.Cipher{smime.AES128GCM, smime.AES256GCM} {
		a := toNorthwind()
		a.Encrypt = cipher
		r, wire := mustBuild(t, a, content)
		for name, change := range map[string]func(http.Header, []byte){
			"processed":                          func(http.Header, []byte) {},
			"processed, no type":                 func(h http.Header, _ []byte) { h.Set("Content-Type", "application/pkcs7-mime") },
			"processed/error: decryption-failed": func(_ http.Header, b []byte) { b[len(b)/2] ^= 1 },
		} {
			m := &memory{agreement: fromAcme()}
			sent := bytes.Clone(wire)
			req := wireRequest(t, r, nil)
			change(req.Header, sent)
			req.Body = io.NopCloser(bytes.NewReader(sent))
			want, _, _ := strings.Cut(name, ",")
			_, state := dispositionOf(t, serve(testHandler(t, m), req))
			got, payload := m.last(t)
			if state != want || got.Accepted != bytes.Equal(payload, content) || !got.Encrypted {
				t.Errorf("%s, %s: answered %q (%s)", cipher, name, state, got.Problem)
			}
		}
	}
}

// TestInvalidMessageID: the successor of RFC 4130 has a word for it, which
// partners get who claim to follow it.
func TestInvalidMessageID(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2": "processed/error: unexpected-processing-error", "": "processed/error: unexpected-processing-error", "one": "processed/error: unexpected-processing-error",
		"1.3": "processed/error: invalid-message-id", " 2.0": "processed/error: invalid-message-id",
	} {
		m := &memory{agreement: fromAcme()}
		r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
		req := wireRequest(t, r, wire)
		req.Header.Set("Message-ID", "<two words@edi.acme.example>")
		req.Header.Set("AS2-Version", version)
		mdn, state := dispositionOf(t, serve(testHandler(t, m), req))
		if got, _ := m.last(t); state != want || !mdn.Signed || mdn.OriginalMessageID != "" || !strings.Contains(got.Problem, "Message-ID") {
			t.Errorf("version %q: answered %q, signed %t, echoed %q: %s", version, state, mdn.Signed, mdn.OriginalMessageID, got.Problem)
		}
	}
}

// TestRow83EmptyReceiptURLIsAWarning: fault table row 83: synchronous, and told.
func TestRow83EmptyReceiptURLIsAWarning(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	for _, set := range []bool{false, true} {
		req := wireRequest(t, r, wire)
		if set {
			req.Header.Set("Receipt-Delivery-Option", " ")
			req.Header.Set("Message-ID", "<other@edi.acme.example>")
		}
		if _, state := dispositionOf(t, serve(testHandler(t, m), req)); state != "processed" {
			t.Errorf("answered %q", state)
		}
		if got, _ := m.last(t); strings.Contains(got.Warning, "Receipt-Delivery-Option") != set || got.Answer.URL != "" {
			t.Errorf("warning %q, receipt to %q", got.Warning, got.Answer.URL)
		}
	}
}

// TestSeveralAttachments: RFC 6362. The document is the multipart as it came;
// what its parts are is told, and which of them is the root.
func TestSeveralAttachments(t *testing.T) {
	t.Parallel()
	order, pdf := []byte("UNB+UNOC:3+ACME+NORTHWIND'"), []byte("%PDF-1.7 \x00\xff")
	body := []byte("preamble\r\n--b\r\nContent-Type: application/pdf; name=\"../drawing.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		base64.StdEncoding.EncodeToString(pdf) + "\r\n--b\r\nContent-ID: <root>\r\nContent-Type: application/edifact\r\n\r\n" + string(order) + "\r\n--b--\r\n")
	for _, layers := range []func(*Agreement){
		func(a *Agreement) {}, func(a *Agreement) { a.Encrypt = "" }, func(a *Agreement) { a.Sign, a.Encrypt = 0, "" }, func(a *Agreement) { a.Compress = CompressAfterSign },
	} {
		a := toNorthwind()
		layers(&a)
		d := orderDocument(body)
		d.ContentType, d.FileName = `multipart/related; type="application/edifact"; start="<root>"; boundary=b`, ""
		var wire bytes.Buffer
		r, err := Build(&wire, a, d, bytes.NewReader(body), testNow, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &memory{agreement: fromAcme()}
		m.agreement.Receive = Receive{}
		mdn, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire.Bytes())))
		got, payload := m.last(t)
		if state != "processed" || !bytes.Equal(payload, body) || !mdn.MIC.Equal(r.MICs[0]) {
			t.Fatalf("answered %q: %s; %q, MIC %s, want one of %v", state, got.Problem, payload, mdn.MIC, r.MICs)
		}
		sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
		want := []Attachment{
			{Name: "drawing.pdf", ContentType: `application/pdf; name="../drawing.pdf"`, Size: int64(len(pdf)), SHA256: sum(pdf)},
			{ContentType: "application/edifact", Size: int64(len(order)), SHA256: sum(order)},
		}
		if diff := cmp.Diff(want, got.Attachments); diff != "" {
			t.Errorf("attachments (-want +got):\n%s", diff)
		}
		if root := m.roots[len(m.roots)-1]; !bytes.Equal(root, order) {
			t.Errorf("root %q", root)
		}
	}
}

// TestAttachmentThatCannotBeRead: what is acknowledged is whole.
func TestAttachmentThatCannotBeRead(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	body := []byte("--b\r\nContent-Transfer-Encoding: base64\r\n\r\n?? no base64 ??\r\n--b--\r\n")
	d := orderDocument(body)
	d.ContentType = `multipart/related; boundary=b`
	var wire bytes.Buffer
	r, err := Build(&wire, a, d, bytes.NewReader(body), testNow, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{agreement: fromAcme()}
	if _, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire.Bytes()))); state != "processed/error: unexpected-processing-error" {
		t.Errorf("answered %q", state)
	}
}

// TestWhoSignedInstead: the operator reads who signed beside whom it should have
// been, and for whom it is encrypted beside what we hold.
func TestWhoSignedInstead(t *testing.T) {
	t.Parallel()
	old := newRSA("acme.example, old")
	for name, tc := range map[string]struct {
		send func(*Agreement)
		take func(*Agreement)
		want []string
	}{
		"signer": {send: func(a *Agreement) { a.SigningKey, a.SigningCertificate = stranger().key, stranger().cert },
			want: []string{"signed by serial ", smime.CertificateID(stranger().cert).Serial, smime.Fingerprint(stranger().cert),
				"on file and in force: serial ", smime.CertificateID(acme().cert).Serial, smime.Fingerprint(acme().cert)}},
		"signer whose certificate ended": {send: func(a *Agreement) { a.SigningKey, a.SigningCertificate = old.key, old.cert },
			take: func(a *Agreement) { a.Verify, a.Lapsed = nil, []*x509.Certificate{old.cert} },
			want: []string{"signed by serial " + smime.CertificateID(old.cert).Serial, "on file and in force: none", "not in force now: serial " + smime.CertificateID(old.cert).Serial}},
		"recipient": {send: func(a *Agreement) { a.Recipients = []*x509.Certificate{stranger().cert} },
			want: []string{"encrypted for serial " + smime.CertificateID(stranger().cert).Serial, "we hold serial " + smime.CertificateID(northwind().cert).Serial}},
	} {
		a, m := toNorthwind(), &memory{agreement: fromAcme()}
		tc.send(&a)
		if tc.take != nil {
			tc.take(&m.agreement)
		}
		r, wire := mustBuild(t, a, []byte("ISA~"))
		mdn, _ := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire)))
		got, _ := m.last(t)
		for _, part := range tc.want {
			if !strings.Contains(got.Problem, part) {
				t.Errorf("%s: %q lacks %q", name, got.Problem, part)
			}
		}
		if len(got.Problem) > 900 || strings.Contains(mdn.Text, "serial") {
			t.Errorf("%s: %d bytes; the partner reads %q", name, len(got.Problem), mdn.Text)
		}
	}
}

// TestEmptyDocument: 0 bytes are a document, in every shape.
func TestEmptyDocument(t *testing.T) {
	t.Parallel()
	for _, layers := range []func(*Agreement){func(*Agreement) {}, func(a *Agreement) { a.Sign, a.Encrypt = 0, "" }, func(a *Agreement) { a.TransferEncoding = Base64 }} {
		a := toNorthwind()
		layers(&a)
		m := &memory{agreement: fromAcme()}
		m.agreement.Receive = Receive{}
		r, wire := mustBuild(t, a, nil)
		_, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire)))
		if got, payload := m.last(t); state != "processed" || !got.Accepted || got.Size != 0 || len(payload) != 0 {
			t.Errorf("answered %q, %d bytes: %s", state, got.Size, got.Problem)
		}
	}
}
