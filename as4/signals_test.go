package as4

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/xmltree"
	"edigw/retry"

	"github.com/beevik/etree"
)

// sent is a message as it went out and as northwind opened it.
func sent(t testing.TB) (PMode, PMode, Rendition, opened) {
	t.Helper()
	p, by := toNorthwind(), fromAcme()
	r, wire := mustBuild(t, p, orderDocument(payload("application/EDI-X12", "order.edi", []byte("ISA~"))))
	return p, by, r, open(t, r.ContentType, wire, by)
}

func mustError(t testing.TB, p PMode, refTo string, errs ...ebms.Error) *Answer {
	t.Helper()
	a, err := NewError(p, NewSignalID("northwind.example"), errs, refTo, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func replaced(t testing.TB, a *Answer, old, new string) *Answer {
	t.Helper()
	if !bytes.Contains(a.Body, []byte(old)) {
		t.Fatalf("no %q in\n%s", old, a.Body)
	}
	b := *a
	b.Body = bytes.ReplaceAll(a.Body, []byte(old), []byte(new))
	return &b
}

// TestReceipt: what the receiver makes is what the sender believes, and covers
// eb:Messaging and the Body alone.
func TestRow1ReceiptCoversItselfAlone(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	a := o.receiptFor(t, by)
	if a.Status != 200 || a.ContentType != "application/soap+xml; charset=UTF-8" || a.URL != "" || a.Signal != "receipt" || a.MessageID == "" {
		t.Errorf("answer %+v", a)
	}
	ack, signal := judge(a, p, r)
	if ack.Verdict != fault.AckTrusted || !ack.Positive || ack.Signer != Fingerprint(northwind().cert) || ack.Ref != r.MessageID || signal.Problem != "" {
		t.Errorf("%+v: %s", ack, signal.Problem)
	}
	if signal.Kind != KindReceipt || signal.MessageID != a.MessageID || signal.RefToMessageID != r.MessageID || !signal.Signed || len(signal.References) != 3 {
		t.Errorf("signal %+v", signal)
	}
	if len(signal.Report) != 2 || strings.Contains(strings.Join(signal.Report, ""), "cid:") {
		t.Errorf("signed are %q", signal.Report)
	}
	for _, ref := range r.References {
		if !strings.Contains(ack.Digest, base64.StdEncoding.EncodeToString(ref.Value)) {
			t.Errorf("the digests are given as %s", ack.Digest)
		}
	}
	by.Receive.Receipt.Mode = ReceiptAsync
	if a := o.receiptFor(t, by); a.URL != by.URL || a.Status != 0 {
		t.Errorf("owed: %+v", a)
	}
	by.Receive.Receipt.Mode = ReceiptNone
	if a := o.receiptFor(t, by); a != nil {
		t.Errorf("not settled: %+v", a)
	}
	by.Receive.Receipt.Mode, by.Sign.Key = ReceiptSync, stranger().key
	if _, err := NewReceipt(by, "a@b", o.env.User, o.env.UserElement, o.references(), testNow); err == nil {
		t.Error("signed with a key that is not the certificate's")
	}
}

// TestRow13ReceiptHasTheLegsAlgorithms: not those that are built in.
func TestRow13ReceiptHasTheLegsAlgorithms(t *testing.T) {
	t.Parallel()
	_, by, _, o := sent(t)
	by.Sign = wssec.Signing{Key: northEC().key, Certificate: northEC().cert, Algorithm: wssec.ECDSASHA256, Digest: crypto.SHA512, Token: wssec.TokenSKI}
	for _, a := range []*Answer{o.receiptFor(t, by), mustError(t, by, "a@b", ebms.NewError("EBMS:0101", "", "a@b"))} {
		for _, want := range []string{"#ecdsa-sha256", "xmlenc#sha512", "#X509SubjectKeyIdentifier"} {
			if !bytes.Contains(a.Body, []byte(want)) {
				t.Errorf("%s is not in\n%s", want, a.Body)
			}
		}
	}
}

// TestReceiptsThatProveNothing: each defect gives its verdict, and what is
// certain of it is told. Known faults 1, 19, 34, 61 and 65 are among them.
func TestReceiptsThatProveNothing(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	good := o.receiptFor(t, by)
	other := by
	other.Sign = wssec.Signing{Key: stranger().key, Certificate: stranger().cert, Algorithm: wssec.RSASHA256}
	unsigned := by
	unsigned.Receive.Receipt.Signed = false
	copied := by
	copied.Receive.Receipt.NonRepudiation = false
	for name, tc := range map[string]struct {
		answer  *Answer
		change  func(*PMode, *Rendition)
		verdict fault.AckVerdict
		says    string
	}{
		"row 1: signed with the part list of the message": {withSignedPart(t, by, o), nil, fault.AckMalformed, "attachment that the answer does not have: cid:part1-"},
		"row 19: header changed after signing": {replaced(t, good, "<eb:Timestamp>2026", "<eb:Timestamp>2027"), nil, fault.AckBadSignature,
			"changed the header after it had signed it"},
		"row 34: not signed":              {o.receiptFor(t, unsigned), nil, fault.AckUnsigned, "not signed"},
		"row 61: signed by somebody else": {o.receiptFor(t, other), nil, fault.AckWrongSigner, "stranger.example"},
		"row 61: signed by ourselves":     {o.receiptFor(t, asOurselves(by)), nil, fault.AckWrongSigner, "acme.example"},
		"row 65: signature beside wsse:Security": {
			withSignatureOutside(t, good), nil, fault.AckUnsigned, "outside of the security header"},
		"signature over the Body alone": {signedOver(t, by, o.receiptFor(t, unsigned), 1), nil, fault.AckBadSignature, "does not cover the eb:Messaging"},
		"row 65: namespace of the digests is wrong": {
			resigned(t, by, replaced(t, o.receiptFor(t, unsigned), ebms.EBBP, "urn:n42:signals")), nil, fault.AckMICMismatch, "names no digest"},
		"signature value is wrong": {replaced(t, good, "<ds:SignatureValue>", "<ds:SignatureValue>AAAA"), nil, fault.AckBadSignature, ""},
		"copy of the header alone": {o.receiptFor(t, copied), nil, fault.AckMICMismatch, "names no digest"},
		"another message":          {good, func(_ *PMode, r *Rendition) { r.MessageID = "other@edi.acme.example" }, fault.AckOtherMessage, r.MessageID},
		"digest of other content":  {good, func(_ *PMode, r *Rendition) { r.References[2].Value = make([]byte, 32) }, fault.AckMICMismatch, "the digest of cid:part1-"},
		"other digest method":      {good, func(_ *PMode, r *Rendition) { r.References[0].DigestMethod = "urn:other" }, fault.AckMICMismatch, "sent was urn:other"},
		"a part is not named": {good, func(_ *PMode, r *Rendition) {
			r.References = append(r.References, ebms.Reference{URI: "cid:more@x", DigestMethod: "m", Value: []byte{1}})
		}, fault.AckMICMismatch, "does not name cid:more@x"},
		"a part is named that was not sent":   {good, func(_ *PMode, r *Rendition) { r.References = r.References[:2] }, fault.AckMICMismatch, "was not sent"},
		"cut off":                             {&Answer{ContentType: good.ContentType, Body: good.Body[:len(good.Body)/2]}, nil, fault.AckCutOff, "end is missing"},
		"cut off at the last tag":             {&Answer{ContentType: good.ContentType, Body: good.Body[:len(good.Body)-3]}, nil, fault.AckCutOff, ""},
		"cut off in a multipart":              {cutMultipart(good), nil, fault.AckCutOff, "end is missing"},
		"in a multipart, start names nothing": {&Answer{ContentType: `multipart/related; boundary=x; start="<other@x>"`, Body: inMultipart(good.Body, "x", "")}, nil, fault.AckMalformed, "other@x"},
		"not well-formed":                     {replaced(t, good, "</eb:Receipt>", "</eb:Receip>"), nil, fault.AckMalformed, "cannot be read"},
		"with a document type":                {replaced(t, good, `encoding="UTF-8"?>`, `encoding="UTF-8"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>`), nil, fault.AckMalformed, ""},
		"a header that must be understood":    {replaced(t, good, "<env:Header>", `<env:Header><x:y xmlns:x="urn:x" env:mustUnderstand="true"/>`), nil, fault.AckMalformed, "urn:x"},
		"two receipts":                        {resigned(t, by, twice(t, o.receiptFor(t, unsigned))), nil, fault.AckMalformed, "more than one signal"},
		"two security headers":                {withSecondSecurity(t, good), nil, fault.AckMalformed, "two wsse:Security"},
		"a weaker digest than is accepted":    {good, func(p *PMode, _ *Rendition) { p.Receive.Digest = crypto.SHA512 }, fault.AckBadSignature, ""},
		"an algorithm that is not accepted":   {good, func(p *PMode, _ *Rendition) { p.Receive.Algorithms = []wssec.SignatureAlgorithm{wssec.Ed25519} }, fault.AckBadSignature, "rsa-sha256"},
		"a certificate of the same authority": {o.receiptFor(t, below(by, "OTHER")), peppol, fault.AckWrongSigner, `for "OTHER"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := p, r
			r.References = append([]ebms.Reference(nil), r.References...)
			if tc.change != nil {
				tc.change(&p, &r)
			}
			ack, signal := judge(tc.answer, p, r)
			if ack.Verdict != tc.verdict || signal.Problem == "" || !strings.Contains(signal.Problem, tc.says) {
				t.Errorf("%s, want %s: %s", ack.Verdict, tc.verdict, signal.Problem)
			}
			out := fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckSync, Ack: &ack, Protocol: true}
			if v := retry.Classify(out, retry.History{}); !v.Uncertain || v.Class == retry.Success || v.Class == retry.Transient || v.Class == retry.Limited {
				t.Errorf("classified as %s (%s), uncertain %t", v.Class, v.Rule, v.Uncertain)
			}
		})
	}
}

// withSignedPart is a receipt whose signature covers the attachment that came.
func withSignedPart(t *testing.T, by PMode, o opened) *Answer {
	t.Helper()
	s := ebms.NewReceipt(ebms.MessageInfo{Timestamp: testNow, MessageID: "r@x", RefToMessageID: o.env.User.MessageID}, o.references())
	env := ebms.NewEnvelope(s.Element())
	security := wssec.NewSecurity()
	env.Header.InsertChildAt(0, security)
	id, _ := wssec.ContentID(o.env.User.Parts[0].Href)
	covered := wssec.Covered{Elements: elements(env), Parts: []wssec.Digested{{ContentID: id, Digest: make([]byte, 32)}}}
	if _, err := wssec.Sign(security, covered, by.Sign); err != nil {
		t.Fatal(err)
	}
	return &Answer{ContentType: envelopeType, Body: ebms.Serialise(env.Root)}
}

// resigned signs an answer that is not signed, as it stands.
func resigned(t *testing.T, by PMode, a *Answer) *Answer {
	t.Helper()
	return signedAgain(t, by, a, elements)
}

func signedAgain(t *testing.T, by PMode, a *Answer, what func(*ebms.Envelope) []*etree.Element) *Answer {
	t.Helper()
	doc, err := xmltree.Parse(a.Body, xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	env, _ := ebms.ParseEnvelope(doc)
	security := wssec.NewSecurity()
	env.Header.InsertChildAt(0, security)
	if _, err := wssec.Sign(security, wssec.Covered{Elements: what(env)}, by.Sign); err != nil {
		t.Fatal(err)
	}
	b := *a
	b.Body = ebms.Serialise(env.Root)
	return &b
}

func asOurselves(by PMode) PMode {
	by.Sign = wssec.Signing{Key: acme().key, Certificate: acme().cert, Algorithm: wssec.RSASHA256}
	return by
}

// withSignatureOutside moves ds:Signature out of wsse:Security.
func withSignatureOutside(t *testing.T, a *Answer) *Answer {
	t.Helper()
	_, rest, _ := strings.Cut(string(a.Body), "<ds:Signature ")
	signature, _, ok := strings.Cut(rest, "</ds:Signature>")
	if !ok {
		t.Fatal("no signature")
	}
	signature = "<ds:Signature " + signature + "</ds:Signature>"
	declared := strings.Replace(signature, "<ds:Signature ", `<ds:Signature xmlns:wsse="`+ebms.WSSE+`" xmlns:wsu="`+ebms.WSU+`" `, 1)
	return replaced(t, replaced(t, a, signature, ""), "</env:Header>", declared+"</env:Header>")
}

func withSecondSecurity(t *testing.T, a *Answer) *Answer {
	return replaced(t, a, "<env:Header>", `<env:Header><wsse:Security xmlns:wsse="`+ebms.WSSE+`"/>`)
}

func cutMultipart(a *Answer) *Answer {
	whole := inMultipart(a.Body, "x", "")
	return &Answer{ContentType: "multipart/related; boundary=x", Body: whole[:len(whole)-len(a.Body)/2]}
}

func twice(t *testing.T, a *Answer) *Answer {
	t.Helper()
	_, rest, _ := strings.Cut(string(a.Body), "<eb:SignalMessage>")
	one, _, _ := strings.Cut(rest, "</eb:Messaging>")
	return replaced(t, a, "</eb:Messaging>", "<eb:SignalMessage>"+one+"</eb:Messaging>")
}

// peppol trusts the authority of these tests, bound to the party.
func peppol(p *PMode, _ *Rendition) {
	p.Verify, p.SubjectIsParty, p.Authorities = nil, true, x509.NewCertPool()
	p.Authorities.AddCert(northEC().cert)
}

// below signs with a certificate of the test authority for a name.
func below(by PMode, name string) PMode {
	ca := northEC()
	of := newPair(name, mustP256(), testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0), &ca)
	by.Sign = wssec.Signing{Key: of.key, Certificate: of.cert, Algorithm: wssec.ECDSASHA256}
	return by
}

// TestReceiptsThatProve: as they come from products that write them otherwise.
func TestReceiptsThatProve(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	unsigned := by
	unsigned.Receive.Receipt.Signed = false
	plain := o.receiptFor(t, unsigned)
	good := o.receiptFor(t, by)
	second := r
	second.References = []ebms.Reference{{URI: "#x", DigestMethod: "m", Value: []byte{1}}}
	for name, tc := range map[string]struct {
		contentType string
		body        []byte
		change      func(*PMode)
		sent        []Rendition
	}{
		"as made":                   {good.ContentType, good.Body, nil, []Rendition{r}},
		"for an earlier build":      {good.ContentType, good.Body, nil, []Rendition{second, r}},
		"byte order mark":           {good.ContentType, append([]byte("\ufeff"), good.Body...), nil, []Rendition{r}},
		"blank line in front":       {good.ContentType, append([]byte("\r\n "), good.Body...), nil, []Rendition{r}},
		"called text/plain":         {"text/plain", good.Body, nil, []Rendition{r}},
		"without a type":            {"", good.Body, nil, []Rendition{r}},
		"in a multipart":            {`multipart/related; boundary=x; type="application/soap+xml"`, inMultipart(good.Body, "x", ""), nil, []Rendition{r}},
		"in a multipart, its start": {`multipart/related; boundary=x; start="<root@x>"`, inMultipart(good.Body, "x", "Content-ID: <root@x>\r\n"), nil, []Rendition{r}},
		"in a multipart called HTML": {
			"text/html", inMultipart(good.Body, "x", ""), nil, []Rendition{r}},
		"without ds:Transforms":          {good.ContentType, resigned(t, by, withoutTransforms(t, plain)).Body, nil, []Rendition{r}},
		"Body not covered":               {good.ContentType, signedOver(t, by, plain, 0).Body, nil, []Rendition{r}},
		"unsigned where that was agreed": {plain.ContentType, plain.Body, func(p *PMode) { p.Receipt.Signed = false }, []Rendition{r}},
		"signed where nobody asked, nothing on file": {
			good.ContentType, good.Body, func(p *PMode) { p.Receipt.Signed, p.Verify = false, nil }, []Rendition{r}},
		"copy of the header where no digests were asked for": {
			good.ContentType, awareness(t, by, o).Body, func(p *PMode) { p.Receipt.NonRepudiation = false }, []Rendition{r}},
		"Peppol: the party's certificate below the authority": {
			good.ContentType, o.receiptFor(t, below(by, "NORTHWIND")).Body, func(p *PMode) { peppol(p, nil) }, []Rendition{r}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := p
			if tc.change != nil {
				tc.change(&p)
			}
			ack, signal := VerifySignal(http.Header{"Content-Type": {tc.contentType}}, tc.body, tc.sent, p, testNow)
			if ack.Verdict != fault.AckTrusted || !ack.Positive {
				t.Errorf("%s: %s", ack.Verdict, signal.Problem)
			}
		})
	}
}

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

func withoutTransforms(t *testing.T, a *Answer) *Answer {
	t.Helper()
	for _, algorithm := range []string{"http://www.w3.org/2001/10/xml-exc-c14n#", "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform"} {
		a = replaced(t, a, `<ds:Transforms><ds:Transform Algorithm="`+algorithm+`"/></ds:Transforms>`, "")
	}
	return a
}

func awareness(t *testing.T, by PMode, o opened) *Answer {
	by.Receive.Receipt.NonRepudiation = false
	return o.receiptFor(t, by)
}

// signedOver signs one of eb:Messaging and Body alone.
func signedOver(t *testing.T, by PMode, a *Answer, which int) *Answer {
	t.Helper()
	return signedAgain(t, by, a, func(env *ebms.Envelope) []*etree.Element { return elements(env)[which : which+1] })
}

// TestReceptionAwareness: of a message that is not signed the receipt has a copy
// of the header, which must be that message's.
func TestReceptionAwareness(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	p.Sign, p.Receipt = wssec.Signing{}, ReceiptRequest{Mode: ReceiptSync, Signed: true}
	by.Receive.Signed = false
	r, wire := mustBuild(t, p, orderDocument(payload("a/b", "", []byte("x"))))
	o := open(t, r.ContentType, wire, by)
	a := o.receiptFor(t, by)
	if !bytes.Contains(a.Body, []byte("<eb:Action>Deliver</eb:Action>")) || bytes.Contains(a.Body, []byte("NonRepudiationInformation")) {
		t.Errorf("%s", a.Body)
	}
	if ack, signal := judge(a, p, r); ack.Verdict != fault.AckTrusted || !ack.Positive || ack.Signer == "" || ack.Digest != "" {
		t.Errorf("%+v: %s", ack, signal.Problem)
	}
	o.env.UserElement.FindElement("./MessageInfo/MessageId").SetText("other@x")
	if ack, signal := judge(o.receiptFor(t, by), p, r); ack.Verdict != fault.AckOtherMessage || !strings.Contains(signal.Problem, "other@x") {
		t.Errorf("copy of another: %s, %s", ack.Verdict, signal.Problem)
	}
}

// TestErrors: what a partner refuses is classified by its code, whether it is
// signed or not, with his words. Known faults 3, 33 and 55 are among them.
func TestErrors(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	unsigned, other := by, asOurselves(by)
	unsigned.Sign = wssec.Signing{}
	duplicate := ebms.Error{Code: "EBMS:0004", Severity: ebms.Failure, ShortDescription: "Other", Detail: "Another message with the same Message ID '" + r.MessageID + "' was already received!"}
	refusal := func(code, detail string) ebms.Error { return ebms.NewError(code, detail, r.MessageID) }
	for name, tc := range map[string]struct {
		answer  *Answer
		verdict fault.AckVerdict
		ebms    string
		says    string // ack.Detail
		rule    string
		history retry.History
	}{
		"signed": {mustError(t, by, r.MessageID, refusal("EBMS:0101", "no certificate of ACME on file")), fault.AckTrusted, "EBMS:0101",
			"no certificate of ACME on file", "ebms-0101", retry.History{}},
		"row 3: not signed": {mustError(t, unsigned, r.MessageID, refusal("EBMS:0010", "agreement not known")), fault.AckUnsigned, "EBMS:0010",
			"(unsigned) ProcessingModeMismatch", "ebms-0010", retry.History{}},
		"row 3: signed by somebody else": {mustError(t, other, r.MessageID, refusal("EBMS:0103", "")), fault.AckUnsigned, "EBMS:0103", "(unsigned) PolicyNoncompliance", "ebms-0103", retry.History{}},
		"row 3: changed after signing": {replaced(t, mustError(t, by, r.MessageID, refusal("EBMS:0303", "")), "EBMS:0303", "EBMS:0202"),
			fault.AckUnsigned, "EBMS:0202", "(unsigned)", "ebms-limited", retry.History{}},
		"row 33: severity in capitals": {replaced(t, mustError(t, unsigned, r.MessageID, refusal("EBMS:0009", "")), `severity="failure"`, `severity="FAILURE"`),
			fault.AckUnsigned, "EBMS:0009", "InvalidHeader", "ebms-format", retry.History{}},
		"severity of the examples in the standard": {replaced(t, mustError(t, unsigned, r.MessageID, refusal("EBMS:0009", "")), `severity="failure"`, `severity="fatal"`),
			fault.AckUnsigned, "EBMS:0009", "", "ebms-format", retry.History{}},
		"row 55: no reason at all": {replaced(t, mustError(t, unsigned, r.MessageID, ebms.Error{Code: "EBMS:0004", Severity: ebms.Failure}), "EBMS:0004", ""),
			fault.AckUnsigned, "EBMS:0004", "", "ebms-0004", retry.History{}},
		"no reference to a message":   {mustError(t, by, "", ebms.NewError("EBMS:0102", "", "")), fault.AckTrusted, "EBMS:0102", "FailedDecryption", "ebms-0102", retry.History{}},
		"reference in the error only": {mustError(t, by, "", refusal("EBMS:0102", "")), fault.AckTrusted, "EBMS:0102", "", "ebms-0102", retry.History{}},
		"about another message":       {mustError(t, by, "other@x", ebms.NewError("EBMS:0102", "", "other@x")), fault.AckOtherMessage, "EBMS:0102", "", "receipt-other", retry.History{}},
		"Peppol not serviced": {mustError(t, by, r.MessageID, refusal("EBMS:0004", "PEPPOL:NOT_SERVICED")), fault.AckTrusted, "EBMS:0004",
			"PEPPOL:NOT_SERVICED", "ebms-not-serviced", retry.History{}},
		"row 5: phase4 has it already": {mustError(t, by, r.MessageID, duplicate), fault.AckTrusted, "EBMS:0004", "already received", "duplicate-answer", retry.History{Uncertain: true}},
		"row 5: phase4's own code":     {mustError(t, by, r.MessageID, refusal("EBMS:4001", "")), fault.AckTrusted, "EBMS:4001", "", "duplicate-answer", retry.History{Uncertain: true}},
		"code without its prefix":      {replaced(t, mustError(t, unsigned, r.MessageID, refusal("EBMS:0103", "")), "EBMS:0103", "0103"), fault.AckUnsigned, "EBMS:0103", "", "ebms-0103", retry.History{}},
		"several": {mustError(t, by, r.MessageID, refusal("EBMS:0001", "service"), refusal("EBMS:0003", "role")), fault.AckTrusted, "EBMS:0001",
			"EBMS:0003 ValueInconsistent", "ebms-0001", retry.History{}},
		"failure behind a warning": {mustError(t, by, r.MessageID, refusal("EBMS:0002", ""), refusal("EBMS:0303", "")), fault.AckTrusted, "EBMS:0303",
			"DecompressionFailure", "ebms-format", retry.History{}},
		"InvalidReceipt": {mustError(t, by, r.MessageID, refusal("EBMS:0302", "")), fault.AckTrusted, "EBMS:0302", "", "receipt-digest", retry.History{}},
		"empty channel":  {mustError(t, by, r.MessageID, refusal("EBMS:0006", "")), fault.AckTrusted, "EBMS:0006", "", "ebms-elsewhere", retry.History{}},
		"beside a receipt": {resigned(t, by, replaced(t, unsignedReceipt(t, by, o), "</eb:Messaging>", errorElement(t, refusal("EBMS:0202", ""))+"</eb:Messaging>")),
			fault.AckContradictory, "", "", "receipt-malformed", retry.History{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ack, signal := judge(tc.answer, p, r)
			if ack.Verdict != tc.verdict || ack.EBMS != tc.ebms || ack.Positive || !strings.Contains(ack.Detail, tc.says) || len(ack.Detail) > maxWords {
				t.Errorf("%+v: %s", ack, signal.Problem)
			}
			if want := map[string]string{"no reference to a message": "", "about another message": "other@x"}; ack.Ref != r.MessageID && ack.Ref != want[name] {
				t.Errorf("about %q", ack.Ref)
			}
			if tc.verdict == fault.AckUnsigned && (ack.Signer != "" || signal.Problem == "" || !strings.HasPrefix(ack.Detail, "(unsigned)")) {
				t.Errorf("believed: %+v, %s", ack, signal.Problem)
			}
			out := fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckSync, Ack: &ack, Protocol: true}
			if v := retry.Classify(out, tc.history); v.Rule != tc.rule {
				t.Errorf("classified by %s, want %s", v.Rule, tc.rule)
			}
		})
	}
	t.Run("a warning beside a receipt", func(t *testing.T) {
		t.Parallel()
		a := resigned(t, by, replaced(t, unsignedReceipt(t, by, o), "</eb:Messaging>", errorElement(t, refusal("EBMS:0002", ""))+"</eb:Messaging>"))
		if ack, signal := judge(a, p, r); ack.Verdict != fault.AckTrusted || !ack.Positive || ack.EBMS != "" || len(signal.Errors) != 1 {
			t.Errorf("%+v: %s", ack, signal.Problem)
		}
	})
	t.Run("an error about another message beside a receipt", func(t *testing.T) {
		t.Parallel()
		other := errorElement(t, ebms.NewError("EBMS:0303", "", "other@x"))
		a := resigned(t, by, replaced(t, unsignedReceipt(t, by, o), "</eb:Messaging>", other+"</eb:Messaging>"))
		if ack, signal := judge(a, p, r); ack.Verdict != fault.AckTrusted || !ack.Positive || signal.Kind != KindReceipt {
			t.Errorf("%+v: %s", ack, signal.Problem)
		}
	})
	t.Run("a warning alone", func(t *testing.T) {
		t.Parallel()
		ack, signal := judge(mustError(t, by, r.MessageID, refusal("EBMS:0002", "no priority here")), p, r)
		if ack.Verdict != fault.AckNone || !strings.Contains(signal.Problem, "no priority here") {
			t.Errorf("%+v: %s", ack, signal.Problem)
		}
	})
}

func unsignedReceipt(t *testing.T, by PMode, o opened) *Answer {
	t.Helper()
	by.Receive.Receipt.Signed = false
	return o.receiptFor(t, by)
}

func errorElement(t *testing.T, e ebms.Error) string {
	t.Helper()
	s := &ebms.SignalMessage{MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "e@x"}, Errors: []ebms.Error{e}}
	text := string(ebms.Serialise(s.Element()))
	return text[strings.Index(text, "?>")+2:]
}

// TestRow9SOAPFaults: an answer that is nothing but a fault is put into a class.
func TestRow9SOAPFaults(t *testing.T) {
	t.Parallel()
	p, _, r, _ := sent(t)
	for name, tc := range map[string]struct {
		body  []byte
		ebms  string
		says  string
		rule  string
		class retry.Class
	}{
		"Sender":   {NewFault(&ebms.Fault{Code: ebms.Sender, Reason: "no such thing"}).Body, "env:Sender", "no such thing", "soap-sender", retry.Permanent},
		"Receiver": {NewFault(&ebms.Fault{Code: ebms.Receiver, Reason: "database is down"}).Body, "env:Receiver", "database is down", "soap-receiver", retry.Limited},
		"MustUnderstand": {NewFault(&ebms.Fault{Code: ebms.MustUnderstand, Reason: "Security"}).Body, "env:MustUnderstand", "Security",
			"soap-sender", retry.Permanent},
		"SOAP 1.1 Server": {[]byte(`<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault><faultcode>S:Server</faultcode><faultstring>boom</faultstring></S:Fault></S:Body></S:Envelope>`),
			"env:Receiver", "boom", "soap-receiver", retry.Limited},
		"without a code": {[]byte(`<S:Envelope xmlns:S="http://www.w3.org/2003/05/soap-envelope"><S:Body><S:Fault/></S:Body></S:Envelope>`),
			"env:Receiver", "", "soap-receiver", retry.Limited},
	} {
		for _, status := range []int{200, 400, 500} {
			ack, signal := VerifySignal(http.Header{"Content-Type": {"text/xml"}}, tc.body, []Rendition{r}, p, testNow)
			if ack.Verdict != fault.AckUnsigned || ack.EBMS != tc.ebms || !strings.Contains(ack.Detail, tc.says) || signal.Kind != KindFault || signal.Fault == nil {
				t.Errorf("%s: %+v, %s", name, ack, signal.Problem)
			}
			out := fault.Outcome{Phase: fault.PhaseDone, Status: status, AckAsked: fault.AckSync, Ack: &ack, Protocol: true}
			if v := retry.Classify(out, retry.History{}); v.Rule != tc.rule || v.Class != tc.class {
				t.Errorf("%s on %d: %s by %s", name, status, v.Class, v.Rule)
			}
		}
	}
}

// TestRow6Row53AnswersThatAreNoSignal: pages and silence are never taken for an
// acknowledgement; SOAP that acknowledges nothing says what it is.
func TestRow6Row53AnswersThatAreNoSignal(t *testing.T) {
	t.Parallel()
	p, _, r, _ := sent(t)
	_, message := mustBuild(t, p, orderDocument())
	for name, tc := range map[string]struct{ contentType, body, says string }{
		"nothing":                      {"", "", ""},
		"HTML":                         {"text/html", "<!DOCTYPE html><html><body>Envelope http://www.w3.org/2003/05/soap-envelope</body></html>", ""},
		"XHTML called SOAP":            {"application/soap+xml", "<?xml version='1.0'?><html/>", ""},
		"plain text":                   {"text/plain", "Internal error", ""},
		"broken type":                  {";;", "x", ""},
		"dashes":                       {"text/plain", "--\r\n--\r\n", ""},
		"text that begins with dashes": {"text/plain", "-- error --\r\nbad\r\n", ""},
		"multipart of something else":  {"multipart/related; boundary=x", "--x\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n", ""},
		"one letter":                   {"application/soap+xml", "<", ""},
		"empty envelope":               {"application/soap+xml", `<S:Envelope xmlns:S="http://www.w3.org/2003/05/soap-envelope"><S:Header/><S:Body/></S:Envelope>`, "no acknowledgement"},
		"SOAP 1.1":                     {"text/xml", `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body/></S:Envelope>`, "SOAP 1.1"},
		"a message":                    {envelopeType, string(message), "a message and no receipt"},
	} {
		ack, signal := VerifySignal(http.Header{"Content-Type": {tc.contentType}}, []byte(tc.body), []Rendition{r}, p, testNow)
		if ack != (fault.Acknowledgement{}) || !strings.Contains(signal.Problem, tc.says) || (signal.Problem == "") != (tc.says == "") {
			t.Errorf("%s: %+v, %q", name, ack, signal.Problem)
		}
	}
}

// TestRow37Faults: with the status of their code, and never signed.
func TestRow37Faults(t *testing.T) {
	t.Parallel()
	for code, status := range map[ebms.FaultCode]int{ebms.Sender: 400, ebms.Receiver: 500, ebms.MustUnderstand: 500, ebms.VersionMismatch: 500} {
		a := NewFault(&ebms.Fault{Code: code, Reason: "because"})
		if a.Status != status || a.Signal != "env:"+string(code) || a.ContentType != envelopeType || a.MessageID != "" || bytes.Contains(a.Body, []byte("Signature")) {
			t.Errorf("%s: %+v", code, a)
		}
	}
}

// TestPullRequest: signed, or with a login that does not show the password.
func TestPullRequest(t *testing.T) {
	t.Parallel()
	p := toNorthwind()
	p.MPC, p.PullUser, p.PullPassword = "urn:example:mpc:acme", "acme", "s3cret"
	r, err := NewPullRequest(p, "pull-1@edi.acme.example", testNow)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(r.Body, []byte("s3cret")) || r.ContentType != envelopeType || r.MessageID != "pull-1@edi.acme.example" {
		t.Errorf("%s: %s", r.ContentType, r.Body)
	}
	doc, err := xmltree.Parse(r.Body, xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	env, err := ebms.ParseEnvelope(doc)
	if err != nil || env.PullRequest() == nil || env.PullRequest().PullRequest.MPC != p.MPC {
		t.Fatalf("%v: %s", err, r.Body)
	}
	by := fromAcme()
	report, err := by.verify(env, nil, testNow)
	login, loginErr := wssec.Security(env.Header, "ebms")
	if err != nil || loginErr != nil || login == nil || !report.Covers(env.Messaging) || !report.Covers(env.Body) || !report.Covers(login) {
		t.Fatalf("%v, %v: %s", err, loginErr, r.Body)
	}
	token := login.FindElement("./UsernameToken")
	nonce, err := base64.StdEncoding.DecodeString(token.FindElement("./Nonce").Text())
	if err != nil || len(nonce) != 16 {
		t.Fatalf("nonce %x, %v", nonce, err)
	}
	sum := sha1.Sum([]byte(string(nonce) + token.FindElement("./Created").Text() + "s3cret"))
	if got := token.FindElement("./Password").Text(); got != base64.StdEncoding.EncodeToString(sum[:]) || token.FindElement("./Username").Text() != "acme" {
		t.Errorf("password digest %s", got)
	}
	p.Sign, p.PullUser = wssec.Signing{}, ""
	if r, err = NewPullRequest(p, "pull-2@edi.acme.example", testNow); err != nil || bytes.Contains(r.Body, []byte("Security")) {
		t.Errorf("%v: %s", err, r.Body)
	}
	if _, err = NewPullRequest(p, "<pull>", testNow); err == nil {
		t.Error("a MessageId in angle brackets was taken")
	}
	p.Sign = wssec.Signing{Algorithm: wssec.RSASHA256}
	if _, err = NewPullRequest(p, "pull-3@edi.acme.example", testNow); err == nil {
		t.Error("signed without a key")
	}
}
