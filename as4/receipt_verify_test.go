package as4

import (
	"crypto"
	"crypto/x509"
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

func unsignedReceipt(t *testing.T, by PMode, o opened) *Answer {
	t.Helper()
	by.Receive.Receipt.Signed = false
	return o.receiptFor(t, by)
}
