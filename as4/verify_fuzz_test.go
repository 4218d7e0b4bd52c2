package as4

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/testfixture"
)

// FuzzVerifySignal: whatever is answered, nothing that is not signed settles a
// message where a signature was asked for, and what is read is bounded and clean.
// The keys are stored ones, so that all processes of a run have the same.
func FuzzVerifySignal(f *testing.F) {
	seed := func(name string) []byte {
		_, body, ok := bytes.Cut(testfixture.Read(f, hostileFile("as4", name)), []byte("\r\n\r\n"))
		if !ok {
			f.Fatalf("%s: no header", name)
		}
		return body
	}
	good := seed("receipt-ok.http")
	env, err := readSignal(nil, good)
	if err != nil {
		f.Fatal(err)
	}
	references, err := env.Receipt().Receipt.References()
	if err != nil {
		f.Fatal(err)
	}
	partner := testfixture.Certificate(f, hostileFile("keys", "partner.crt.pem"))
	p := PMode{Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true}, Verify: []*x509.Certificate{partner}}
	sent := []Rendition{{MessageID: env.Receipt().RefToMessageID, References: references}}

	refusal, err := NewError(PMode{}, "e@x", []ebms.Error{ebms.NewError("EBMS:0101", "who?", "m@x")}, "m@x", hostileTime)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(envelopeType, good)
	f.Add(envelopeType, seed("receipt-stranger.http"))
	f.Add("text/plain", refusal.Body)
	f.Add("multipart/related; boundary=x", inMultipart(refusal.Body, "x", "Content-ID: <a@b>\r\n"))
	f.Add("", NewFault(&ebms.Fault{Code: ebms.Receiver, Reason: "no"}).Body)
	f.Add("text/html", []byte("--x\r\n\r\n<Envelope"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		ack, signal := VerifySignal(http.Header{"Content-Type": {contentType}}, body, sent, p, hostileTime)
		if ack.Verdict == fault.AckTrusted && (ack.Signer != Fingerprint(partner) || ack.Positive && ack.Ref != sent[0].MessageID) {
			t.Fatalf("believed: %+v", ack)
		}
		if ack.Verdict == fault.AckTrusted && ack.Positive && signal.Problem != "" || ack.Verdict != fault.AckTrusted && ack.Verdict != fault.AckNone && signal.Problem == "" {
			t.Fatalf("%s, and says %q", ack.Verdict, signal.Problem)
		}
		for _, s := range []string{signal.MessageID, signal.RefToMessageID, signal.Problem, ack.Detail, ack.Digest, ack.Ref, ack.EBMS} {
			if len(s) > 8<<10 || strings.ContainsAny(s, "\r\n\x00") {
				t.Fatalf("not clean: %.100q", s)
			}
		}
	})
}
