package as4

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/testfixture"
	"edigw/internal/xmltree"
)

// captureNow is when the captures were new; their certificates have expired since.
var captureNow = time.Date(2022, 3, 8, 0, 0, 0, 0, time.UTC)

// capture is a receipt as another product sent it.
type capture struct {
	header http.Header
	body   []byte
	cert   *x509.Certificate // of its token
	names  []ebms.Reference  // that it gives as what was received
}

func readCapture(t *testing.T, file string) capture {
	t.Helper()
	head, body, ok := bytes.Cut(testfixture.Read(t, testfixture.Path(t, "as4", file)), []byte("\n\n"))
	if !ok {
		t.Fatalf("%s: no blank line", file)
	}
	c := capture{header: http.Header{}, body: body}
	for _, line := range strings.Split(string(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		c.header.Add(name, strings.TrimSpace(value))
	}
	doc, err := xmltree.Parse(body, xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	env, err := ebms.ParseEnvelope(doc)
	if err != nil {
		t.Fatal(err)
	}
	token := env.Header.FindElement("./Security/BinarySecurityToken")
	der, err := base64.StdEncoding.DecodeString(token.Text())
	if err != nil {
		t.Fatal(err)
	}
	if c.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if c.names, err = env.Receipt().Receipt.References(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRow19CapturedReceipts reads the receipts of phase4 and Holodeck B2B, as if
// what they name had been sent. One stack changed its header after signing: the
// text says which reference failed, and both digests.
func TestRow19CapturedReceipts(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, row := range testfixture.Table(t, testfixture.Path(t, "as4", "manifest.tsv")) {
		if row["kind"] != "receipt-nrr" {
			continue
		}
		seen++
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			c := readCapture(t, row["file"])
			p := PMode{Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true}, Verify: []*x509.Certificate{c.cert}}
			sent := []Rendition{{MessageID: row["ref_to_message_id"], References: c.names}}
			ack, signal := VerifySignal(c.header, c.body, sent, p, captureNow)
			want := fault.AckTrusted
			if row["expect"] != "ok" {
				want = fault.AckBadSignature
				for _, says := range []string{"eb3:Messaging", "1VP+i4Bo", "6gEytSkL", "changed the header after it had signed it"} {
					if !strings.Contains(signal.Problem, says) {
						t.Errorf("%q is not told: %s", says, signal.Problem)
					}
				}
			}
			if ack.Verdict != want || !ack.Positive || ack.Ref != row["ref_to_message_id"] || signal.MessageID != row["message_id"] {
				t.Errorf("%+v: %s", ack, signal.Problem)
			}
			if len(signal.References) != 3 || len(signal.Report) != 2 || ack.Signer != Fingerprint(c.cert) {
				t.Errorf("%d references, report %q, signer %s", len(signal.References), signal.Report, ack.Signer)
			}
			checkCaptureDamage(t, c, sent, p, want)
		})
	}
	if seen != 2 {
		t.Errorf("%d receipts in the manifest", seen)
	}
}

// checkCaptureDamage: cut off, one letter changed, for another message, for other
// content, by another signer, at another time, it proves nothing.
func checkCaptureDamage(t *testing.T, c capture, sent []Rendition, p PMode, want fault.AckVerdict) {
	t.Helper()
	verdict := func(body []byte, sent []Rendition, p PMode, now time.Time) fault.AckVerdict {
		ack, _ := VerifySignal(c.header, body, sent, p, now)
		return ack.Verdict
	}
	for _, cut := range []int{len(c.body) - 1, len(c.body) - 20, len(c.body) / 2} {
		if got := verdict(c.body[:cut], sent, p, captureNow); got != fault.AckCutOff {
			t.Errorf("cut at %d of %d: %s", cut, len(c.body), got)
		}
	}
	flipped := bytes.Replace(c.body, []byte("RefToMessageId>"), []byte("RefToMessageId> "), 1)
	if got := verdict(flipped, sent, p, captureNow); got != fault.AckBadSignature {
		t.Errorf("with a blank more: %s", got)
	}
	if got := verdict(c.body, []Rendition{{MessageID: "other@x", References: c.names}}, p, captureNow); want == fault.AckTrusted && got != fault.AckOtherMessage {
		t.Errorf("another message was sent: %s", got)
	}
	if got := verdict(c.body, []Rendition{{MessageID: sent[0].MessageID, References: c.names[1:]}}, p, captureNow); want == fault.AckTrusted && got != fault.AckMICMismatch {
		t.Errorf("other content was sent: %s", got)
	}
	if got := verdict(c.body, sent, p, testNow); want == fault.AckTrusted && got != fault.AckWrongSigner {
		t.Errorf("after the certificate has ended: %s", got)
	}
	p.Verify = []*x509.Certificate{stranger().cert}
	if got := verdict(c.body, sent, p, captureNow); got != fault.AckWrongSigner {
		t.Errorf("pinned to somebody else: %s", got)
	}
}
