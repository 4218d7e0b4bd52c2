package as4

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/xmltree"
	"edigw/retry"
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
