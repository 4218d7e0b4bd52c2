package as2

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"edigw/as2/smime"
	"edigw/fault"
)

// hostileSent is as2/outbound.part as we would have sent it.
func hostileSent(t *testing.T) ([]Rendition, Agreement) {
	t.Helper()
	part := readFile(t, foreign(t, "hostile", "as2", "outbound.part"))
	sums := newDigester(crypto.SHA256)
	sums.Write(part)
	a := Agreement{
		From: "EDIGW", To: "PARTNER", MDN: MDNRequest{Mode: MDNSync, Signed: true},
		Verify: []*x509.Certificate{readCert(t, foreign(t, "hostile", "keys", "partner.crt.pem"))},
	}
	return []Rendition{{MessageID: "<order-1@edigw.test>", MICs: sums.mics(), Ack: fault.AckSync}}, a
}

// hostileVerdicts says which verdict each row must get; those that are not here
// are trusted.
var hostileVerdicts = map[string]fault.AckVerdict{
	"two-dispositions":        fault.AckContradictory,
	"two-notification-parts":  fault.AckContradictory,
	"original-id-crlf-inject": fault.AckContradictory,
	"mic-mismatch":            fault.AckMICMismatch,
	"mic-algorithm-mismatch":  fault.AckMICMismatch,
	"original-id-bare-cr":     fault.AckMalformed,
	"original-id-crlf-fold":   fault.AckOtherMessage,
	"original-id-other":       fault.AckOtherMessage,
	"signer-stranger":         fault.AckWrongSigner,
}

func TestHostileMDNs(t *testing.T) {
	t.Parallel()
	sent, a := hostileSent(t)
	rows := 0
	for _, row := range manifest(t, foreign(t, "hostile", "manifest.tsv")) {
		name, ok := strings.CutPrefix(row["file"], "mdn/")
		if !ok {
			continue
		}
		rows++
		name = strings.TrimSuffix(name, ".http")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row["mic"] != sent[0].MICs[0].Value {
				t.Fatalf("outbound.part has MIC %s, manifest says %s", sent[0].MICs[0].Value, row["mic"])
			}
			res := readResponse(t, readFile(t, foreign(t, "hostile", row["file"])))
			ack, mdn := VerifyMDN(res.Header, readBody(t, res), sent, a)
			want := hostileVerdicts[name]
			if want == "" {
				want = fault.AckTrusted
			}
			if ack.Verdict != want {
				t.Errorf("verdict %q, want %q: %s", ack.Verdict, want, mdn.Problem)
			}
			if settled := ack.Verdict == fault.AckTrusted && ack.Positive; settled != (row["expect"] == "ok") {
				t.Errorf("settles positively: %t, expected %s; says %q", settled, row["expect"], mdn.Disposition)
			}
			if ack.Verdict != fault.AckTrusted && mdn.Problem == "" {
				t.Error("no problem told")
			}
			if state, ok := strings.CutPrefix(row["expect"], "fail:disposition "); ok && mdn.Disposition.State() != state {
				t.Errorf("disposition %q, want %q", mdn.Disposition.State(), state)
			}
		})
	}
	if rows == 0 {
		t.Fatal("no MDN in the manifest")
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
	raw := readFile(t, foreign(t, "as2", name))
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

// TestCapturedMDNs reads MDNs of OpenAS2 and mendelson (as2.md §3 rows 5, 11,
// 45: preambles, joined folds, binary signatures, a Date inside the signed part).
func TestCapturedMDNs(t *testing.T) {
	t.Parallel()
	// What the two signed ones answer, as their README tells.
	content := []byte("This is a test message.")
	a := Agreement{
		From: "RUBYAS2", To: "OPENAS2", TransferEncoding: Base64,
		MDN:    MDNRequest{Mode: MDNSync, Signed: true},
		Verify: []*x509.Certificate{readCert(t, foreign(t, "as2", "keys", "client.crt"))},
	}
	sums := newDigester(crypto.SHA256)
	part := "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=test.txt\r\n\r\n" + wrapped(content)
	sums.Write([]byte(part))
	for _, tc := range []struct {
		file, id string
		verdict  fault.AckVerdict
		positive bool
		state    string
	}{
		{"mdn/binary_mdn.yml", "<RUBYAS2-20230224-133137-92068859-ef3c-4313-b164-a1b09851448e@localhost>", fault.AckTrusted, true, "processed"},
		{"mdn/signed_mdn.yml", "<SERVER-20220318-222842-b176dc1a-44fd-4f9c-ac61-813fbb0f579a@server.test-ruby-as2.com>", fault.AckTrusted, true, "processed"},
		{"mdn/unsigned_mdn.yml", "<SERVER-20220318-222924-774c8348-6372-4f7e-b84f-d7fced6daf58@server.test-ruby-as2.com>", fault.AckUnsigned, false, "processed/error: unknown-trading-partner"},
	} {
		c := readCapture(t, tc.file)
		sent := []Rendition{{MessageID: tc.id, MICs: sums.mics()}}
		ack, mdn := VerifyMDN(c.Header, c.Body, sent, a)
		if ack.Verdict != tc.verdict || ack.Positive != tc.positive || mdn.Disposition.State() != tc.state {
			t.Errorf("%s: verdict %q, positive %t, says %q: %s", tc.file, ack.Verdict, ack.Positive, mdn.Disposition.State(), mdn.Problem)
		}
		if tc.verdict != fault.AckTrusted {
			// The same where no signed receipt was asked for: their word counts.
			unsigned := a
			unsigned.MDN.Signed = false
			if ack, mdn := VerifyMDN(c.Header, c.Body, sent, unsigned); ack.Verdict != fault.AckTrusted || ack.Positive || !strings.Contains(mdn.Text, "Sender AS2 id SERVER is unknown") {
				t.Errorf("%s, unsigned asked: verdict %q, positive %t, text %q", tc.file, ack.Verdict, ack.Positive, mdn.Text)
			}
			continue
		}
		if ack.Signer != smime.Fingerprint(a.Verify[0]) {
			t.Errorf("%s: signer %s", tc.file, ack.Signer)
		}
		for _, cut := range []int{len(c.Body) - 20, len(c.Body) / 2, 300, 1} {
			if ack, _ := VerifyMDN(c.Header, c.Body[:cut], sent, a); ack.Verdict != fault.AckCutOff {
				t.Errorf("%s cut at %d of %d: verdict %q, want cut-off", tc.file, cut, len(c.Body), ack.Verdict)
			}
		}
		flipped := bytes.Replace(c.Body, []byte("Disposition: automatic"), []byte("Disposition: Automatic"), 1)
		if ack, _ := VerifyMDN(c.Header, flipped, sent, a); ack.Verdict != fault.AckBadSignature {
			t.Errorf("%s with one letter changed: verdict %q, want bad-signature", tc.file, ack.Verdict)
		}
	}
}
