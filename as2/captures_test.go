package as2

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/testfixture"
)

// captureTime is when the captures were new: their certificates end in 2026.
var captureTime = time.Date(2023, 3, 1, 0, 0, 0, 0, time.UTC)

// captures are the rows of the manifest whose file ends so. Every column of it
// is compared by one of these tests.
func captures(t *testing.T, suffix string) (rows []map[string]string) {
	t.Helper()
	for _, row := range testfixture.Table(t, testfixture.Path(t, "as2", "manifest.tsv")) {
		if strings.HasSuffix(row["file"], suffix) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no row for %s in the manifest", suffix)
	}
	return rows
}

// captureCert is a certificate of a row, in force when the capture was new.
func captureCert(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	cert := testfixture.Certificate(t, testfixture.Path(t, "as2", name))
	if captureTime.Before(cert.NotBefore) || captureTime.After(cert.NotAfter) {
		t.Errorf("%s is in force from %s to %s", name, cert.NotBefore, cert.NotAfter)
	}
	return cert
}

// captureAgreement is how the recorded receiver knew the recorded sender.
func captureAgreement(t *testing.T, row map[string]string) Agreement {
	t.Helper()
	cert, key := captureCert(t, "keys/server.crt"), readKey(t, testfixture.Path(t, "as2", "keys/server.key"))
	a := Agreement{
		From: "SERVER", To: "CLIENT", Receive: Receive{Signed: true, Encrypted: row["cipher"] != "-"},
		SigningKey: key, SigningCertificate: cert, Verify: []*x509.Certificate{captureCert(t, row["signer_cert"])},
	}
	if row["recipient_key"] != "-" {
		a.Decrypt = []smime.Recipient{{Certificate: cert, Key: readKey(t, testfixture.Path(t, "as2", row["recipient_key"]))}}
	}
	return a
}

// captureHeader is the HTTP header that a body came with.
func captureHeader(row map[string]string, raw []byte) (http.Header, []byte) {
	header := http.Header{
		"As2-From": {"CLIENT"}, "As2-To": {"SERVER"}, "Message-Id": {"<capture@client.example>"}, "Disposition-Notification-To": {"x"},
		"Disposition-Notification-Options": {"signed-receipt-protocol=optional,pkcs7-signature;signed-receipt-micalg=optional,sha256"},
	}
	if strings.HasSuffix(row["file"], ".pkcs7") {
		header.Set("Content-Type", `application/pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"`)
		return header, raw
	}
	head, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	for _, line := range strings.Split(strings.ReplaceAll(string(head), "\r\n\t", "\t"), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		header.Set(name, strings.TrimSpace(value))
	}
	return header, body
}

// TestCapturedMessages receives what OpenAS2 sent, encrypted and with the outer
// layer taken off: no line end may change.
func TestCapturedMessages(t *testing.T) {
	t.Parallel()
	for _, row := range append(captures(t, ".pkcs7"), captures(t, ".mime")...) {
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			header, raw := captureHeader(row, testfixture.Read(t, testfixture.Path(t, "as2", row["file"])))
			m := &memory{agreement: captureAgreement(t, row)}
			h := testHandler(t, m)
			h.o.Now = func() time.Time { return captureTime }
			req, err := http.NewRequest(http.MethodPost, "/as2", bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header
			mdn, state := dispositionOf(t, serve(h, req))
			got, payload := m.last(t)
			if row["expect"] != "ok" || state != "processed" || !got.Accepted || !got.At.Equal(captureTime) {
				t.Fatalf("%s, expected %s: %s", state, row["expect"], got.Problem)
			}
			if sum := sha256.Sum256(payload); hex.EncodeToString(sum[:]) != row["payload_sha256"] {
				t.Errorf("payload is %q", payload)
			}
			if !mdn.MIC.Equal(MIC{row["mic_alg"], row["mic"]}) || mdn.MIC.Algorithm != "sha256" {
				t.Errorf("MIC %s, want %s, spelled as they asked", mdn.MIC, row["mic"])
			}
			// The MIC is by the digest of the signature.
			if !got.MIC.Equal(MIC{row["digest"], row["mic"]}) {
				t.Errorf("signed with %s, want %s", got.MIC.Algorithm, row["digest"])
			}
			if got.Signer != smime.Fingerprint(m.agreement.Verify[0]) || got.Compressed != (row["compressed"] == "yes") ||
				got.Encrypted != (row["cipher"] != "-") || got.Signed != strings.HasSuffix(row["kind"], "signed") {
				t.Errorf("signed %t by %s, encrypted %t, compressed %t", got.Signed, got.Signer, got.Encrypted, got.Compressed)
			}
			if got.Encrypted {
				d, err := smime.NewDecrypter(bytes.NewReader(raw), m.agreement.Decrypt, smime.Limits{})
				if err != nil || string(d.Cipher()) != captureCiphers[row["cipher"]] {
					t.Errorf("not encrypted with %s: %v", row["cipher"], err)
				}
			}
		})
	}
}

// captureCiphers are the manifest's names of ciphers in ours.
var captureCiphers = map[string]string{"des-ede3-cbc": string(smime.TripleDES)}

// TestCapturedParts: what MIC and signature cover stands in files of its own,
// behind one line end that does not belong to it.
func TestCapturedParts(t *testing.T) {
	t.Parallel()
	for _, row := range captures(t, ".txt") {
		raw := bytes.TrimPrefix(testfixture.Read(t, testfixture.Path(t, "as2", row["file"])), []byte("\r\n"))
		sums := newDigester(crypto.SHA256)
		sums.Write(raw)
		if got := sums.mics()[0]; !got.Equal(MIC{row["mic_alg"], row["mic"]}) {
			t.Errorf("%s: MIC %s, want %s", row["file"], got, row["mic"])
		}
		head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
		encoding := "binary"
		if strings.Contains(head, "base64") {
			encoding = "base64"
		}
		content, err := rawmime.DecodeTransfer(strings.NewReader(body), encoding)
		sum := sha256.Sum256([]byte(readAllString(t, content, err)))
		if hex.EncodeToString(sum[:]) != row["payload_sha256"] || row["expect"] != "ok" {
			t.Errorf("%s: payload %x, want %s", row["file"], sum, row["payload_sha256"])
		}
	}
}

// capture is an HTTP response as the recorder wrote it.
type capture struct {
	Header http.Header
	Body   []byte
}

func readCapture(t *testing.T, name string) capture {
	t.Helper()
	var file struct {
		Headers map[string]string `yaml:"headers"`
		Body    string            `yaml:"body"`
	}
	raw := testfixture.Read(t, testfixture.Path(t, "as2", name))
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	c := capture{Header: http.Header{}, Body: []byte(file.Body)}
	for k, v := range file.Headers {
		c.Header.Set(k, v)
	}
	if bytes.Contains(raw, []byte("body: !binary")) {
		var err error
		if c.Body, err = base64.StdEncoding.DecodeString(strings.TrimSpace(file.Body)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// captureSent is what each MDN answers, as their README tells.
var captureSent = map[string]string{
	"mdn/binary_mdn.yml":   "<RUBYAS2-20230224-133137-92068859-ef3c-4313-b164-a1b09851448e@localhost>",
	"mdn/signed_mdn.yml":   "<SERVER-20220318-222842-b176dc1a-44fd-4f9c-ac61-813fbb0f579a@server.test-ruby-as2.com>",
	"mdn/unsigned_mdn.yml": "<SERVER-20220318-222924-774c8348-6372-4f7e-b84f-d7fced6daf58@server.test-ruby-as2.com>",
}

// TestCapturedMDNs reads MDNs of OpenAS2 and mendelson: preambles, joined folds,
// binary signatures, a Date inside the signed part.
func TestCapturedMDNs(t *testing.T) {
	t.Parallel()
	part := "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=test.txt\r\n\r\n" + wrapped([]byte("This is a test message."))
	sums := newDigester(crypto.SHA256)
	sums.Write([]byte(part))
	for _, row := range captures(t, ".yml") {
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			c := readCapture(t, row["file"])
			sent := []Rendition{{MessageID: captureSent[row["file"]], MICs: sums.mics()}}
			a := Agreement{MDN: MDNRequest{Mode: MDNSync, Signed: true}, Verify: []*x509.Certificate{captureCert(t, "keys/client.crt")}}
			ack, mdn := VerifyMDN(c.Header, c.Body, sent, a)
			if state, refused := strings.CutPrefix(row["expect"], "fail:unsigned MDN with disposition "); refused {
				checkCapturedRefusal(t, c, sent, a, ack, mdn, state)
				checkCapturedSum(t, row, c.Body)
				return
			}
			if row["expect"] != "ok" || ack.Verdict != fault.AckTrusted || !ack.Positive || mdn.Disposition.State() != "processed" {
				t.Errorf("verdict %q, positive %t, says %q: %s", ack.Verdict, ack.Positive, mdn.Disposition.State(), mdn.Problem)
			}
			if digest, ok := smime.HashByName(row["digest"]); !ok || mdn.Digest != digest {
				t.Errorf("signed with %v, want %s", mdn.Digest, row["digest"])
			}
			if !mdn.MIC.Equal(MIC{row["mic_alg"], row["mic"]}) || ack.Signer != smime.Fingerprint(captureCert(t, row["signer_cert"])) {
				t.Errorf("MIC %s, want %s; signer %s", mdn.MIC, row["mic"], ack.Signer)
			}
			r, err := readMDN(c.Header, c.Body)
			if err != nil || !r.Signed || row["kind"] != "mdn-signed" {
				t.Errorf("signed %t, %v, want %s", r.Signed, err, row["kind"])
			}
			checkCapturedSum(t, row, r.part)
			checkCapturedDamage(t, c, sent, a)
		})
	}
}

func checkCapturedSum(t *testing.T, row map[string]string, covered []byte) {
	t.Helper()
	if sum := sha256.Sum256(covered); hex.EncodeToString(sum[:]) != row["payload_sha256"] {
		t.Errorf("the receipt is %x, want %s", sum, row["payload_sha256"])
	}
}

// checkCapturedRefusal: where no signed receipt was asked for, their word counts.
func checkCapturedRefusal(t *testing.T, c capture, sent []Rendition, a Agreement, ack fault.Acknowledgement, mdn MDN, state string) {
	t.Helper()
	if ack.Verdict != fault.AckUnsigned || ack.Positive || mdn.Disposition.State() != state || mdn.Signed || mdn.MIC != (MIC{}) {
		t.Errorf("verdict %q, positive %t, says %q, signed %t, MIC %s", ack.Verdict, ack.Positive, mdn.Disposition.State(), mdn.Signed, mdn.MIC)
	}
	a.MDN.Signed = false
	if ack, mdn := VerifyMDN(c.Header, c.Body, sent, a); ack.Verdict != fault.AckTrusted || ack.Positive || !strings.Contains(mdn.Text, "Sender AS2 id SERVER is unknown") {
		t.Errorf("unsigned asked: verdict %q, positive %t, text %q", ack.Verdict, ack.Positive, mdn.Text)
	}
}

// checkCapturedDamage: cut off, or one letter changed, it proves nothing.
func checkCapturedDamage(t *testing.T, c capture, sent []Rendition, a Agreement) {
	t.Helper()
	for _, cut := range []int{len(c.Body) - 20, len(c.Body) / 2, 300, 1} {
		if ack, _ := VerifyMDN(c.Header, c.Body[:cut], sent, a); ack.Verdict != fault.AckCutOff {
			t.Errorf("cut at %d of %d: verdict %q, want cut-off", cut, len(c.Body), ack.Verdict)
		}
	}
	flipped := bytes.Replace(c.Body, []byte("Disposition: automatic"), []byte("Disposition: Automatic"), 1)
	if ack, _ := VerifyMDN(c.Header, flipped, sent, a); ack.Verdict != fault.AckBadSignature {
		t.Errorf("with one letter changed: verdict %q, want bad-signature", ack.Verdict)
	}
}
