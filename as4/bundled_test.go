package as4

import (
	"bytes"
	"crypto/sha256"
	"io"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
)

// TestBundledReceipt: a receipt that comes along with a message of the partner's
// own is signed together with that one's attachments (ebMS 3.0 Core §5.2.4).
func TestBundledReceipt(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	p.Decrypt = []wssec.Opener{acme().opener()}
	for name, encrypt := range map[string]bool{"in the clear": false, "encrypted": true} {
		a := bundledReceipt(t, by, o, encrypt)
		ack, signal := judge(a, p, r)
		if ack.Verdict != fault.AckTrusted || !ack.Positive || len(signal.Report) != 3 {
			t.Errorf("%s: %+v: %s", name, ack, signal.Problem)
		}
		changed := *a
		changed.Body = bytes.Replace(a.Body, []byte("\r\n\r\n"), []byte("\r\n\r\n "), 2)
		if ack, _ := judge(&changed, p, r); ack.Verdict != fault.AckBadSignature {
			t.Errorf("%s, its attachment changed: %s", name, ack.Verdict)
		}
		stripped := *a
		stripped.ContentType, stripped.Body = envelopeType, rootOf(t, a)
		if ack, _ := judge(&stripped, p, r); ack.Verdict != fault.AckMalformed {
			t.Errorf("%s, without its attachment: %s", name, ack.Verdict)
		}
	}
}

// bundledReceipt is a message of northwind's with one attachment, and the receipt
// for ours beside it.
func bundledReceipt(t *testing.T, by PMode, o opened, encrypt bool) *Answer {
	t.Helper()
	content := []byte("RSP~")
	u := &ebms.UserMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "answer-1@northwind.example"}, From: northParty, To: acmeParty,
		Agreement: orders.Agreement, Service: orders.Service, Action: orders.Action, Parts: []ebms.PartInfo{{Href: "cid:answer@northwind.example"}},
	}
	receipt := ebms.NewReceipt(ebms.MessageInfo{Timestamp: testNow, MessageID: "r@northwind.example", RefToMessageID: o.env.User.MessageID}, o.references())
	env, security := ebms.NewEnvelope(receipt.Element(), u.Element()), wssec.NewSecurity()
	env.Header.InsertChildAt(0, security)
	part := wirePart{"answer@northwind.example", "application/edifact", func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}}
	sum := sha256.Sum256(content)
	if encrypt {
		x, err := wssec.NewEncrypter(wssec.Encrypting{Recipient: acme().cert, Cipher: wssec.AES128GCM})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := x.Part(&out, part.contentID, part.contentType)
		w.Write(content)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		x.Write(security)
		content = out.Bytes()
	}
	covered := wssec.Covered{Elements: elements(env), Parts: []wssec.Digested{{ContentID: part.contentID, Digest: sum[:]}}}
	if _, err := wssec.Sign(security, covered, by.Sign); err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if err := writeMultipart(&body, "x", "root@northwind.example", ebms.Serialise(env.Root), []wirePart{part}); err != nil {
		t.Fatal(err)
	}
	return &Answer{ContentType: multipartType("x", "root@northwind.example"), Body: body.Bytes()}
}

// rootOf is the envelope of a multipart.
func rootOf(t *testing.T, a *Answer) []byte {
	t.Helper()
	f, err := framingOf(a.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	root, err := f.readEnvelope(bytes.NewReader(a.Body), maxSignal)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func inMultipart(body []byte, boundary, header string) []byte {
	return []byte("--" + boundary + "\r\nContent-Type: application/soap+xml; charset=UTF-8\r\n" + header + "\r\n" + string(body) + "\r\n--" + boundary + "--\r\n")
}
