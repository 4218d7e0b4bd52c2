package as4

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// TestMessagesAsTheyCome: what differs in how peers put a message into MIME
// changes nothing of what it says; the numbers are rows of the collection of
// faults that the tests are named after.
func TestMessagesAsTheyCome(t *testing.T) {
	t.Parallel()
	const content = "ISA*00*\nbinary\r\n\x00\xff~\n\n"
	usual := func() *crafted { return craft(zippedPart("order@acme.example", "application/edi-x12", content)) }
	for name, change := range map[string]func(c *crafted){
		"the usual":                        func(*crafted) {},
		"no start: the first part is root": func(c *crafted) { c.noStart = true },
		"root last":                        func(c *crafted) { c.rootAt = 1 },
		"root between": func(c *crafted) {
			c.parts = append(c.parts, craftedPart{id: "extra@acme.example", content: []byte("EVIL"), unlisted: true, unsigned: true})
			c.rootAt = 1
		},
		"a part that nothing names": func(c *crafted) {
			c.parts = append(c.parts, craftedPart{kind: "text/plain", content: []byte("EVIL"), unlisted: true})
		},
		"preamble with a header block": func(c *crafted) { c.preamble = "Content-Type: text/plain\r\nMIME-Version: 1.0\r\n\r\n" },
		"boundary with odd characters": func(c *crafted) { c.boundary = "=_?+'(x)_=" },
		"boundary that begins another": func(c *crafted) {
			c.wire = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\x00\xff"), []byte("\x00\xff")) }
		},
		"byte order mark":    func(c *crafted) { c.after = func(s string) string { return "\ufeff" + s } },
		"no XML declaration": func(c *crafted) { c.after = func(s string) string { return s[strings.Index(s, "<env:"):] } },
		"root with action, charset small": func(c *crafted) {
			c.rootHead = "content-type: application/soap+xml;charset=utf-8;action=\"x\"\r\ncontent-id: <root@edi.acme.example>\r\n"
		},
		"root without angle brackets": func(c *crafted) {
			c.rootHead = "Content-Type: application/soap+xml\r\nContent-ID: root@edi.acme.example\r\n"
		},
		"root in quoted-printable": func(c *crafted) {
			c.rootHead = "Content-Type: application/soap+xml\r\nContent-ID: <root@edi.acme.example>\r\nContent-Transfer-Encoding: quoted-printable\r\n"
			c.after = func(s string) string { return strings.ReplaceAll(s, "=", "=3D") }
		},
		"row 18: empty parameter of Content-Type": func(c *crafted) {
			c.rootHead = "Content-Type: application/soap+xml; charset=UTF-8; action=\r\nContent-ID: <root@edi.acme.example>\r\n"
		},
		"attachment in base64":           func(c *crafted) { c.parts[0].encoding = "Base64" },
		"attachment in quoted-printable": func(c *crafted) { c.parts[0].encoding = "quoted-printable" },
		"attachment called 8bit":         func(c *crafted) { c.parts[0].encoding = "8bit" },
		"row 35: Content-Id spelled otherwise": func(c *crafted) {
			c.parts[0].head = "content-type:application/gzip\r\nCONTENT-Id:<order@acme.example>\r\n"
		},
		"row 50: signer named by key identifier":    func(c *crafted) { c.sign.Token = wssec.TokenSKI },
		"row 50: signer named by issuer and serial": func(c *crafted) { c.sign.Token = wssec.TokenIssuerSerial },
		"row 50: signer named by thumbprint":        func(c *crafted) { c.sign.Token = wssec.TokenThumbprint },
		"row 50: a path of certificates":            func(c *crafted) { c.sign.Token = wssec.TokenPKIPath },
		"MessageId in angle brackets":               func(c *crafted) { c.user.MessageID = "<" + c.user.MessageID + ">" },
		"cid: in capitals, percent-encoded":         func(c *crafted) { c.parts[0].href = "CID:order%40acme.example" },
		"row 49: property without a type":           func(c *crafted) { c.user.Properties = []ebms.Property{{Name: "a", Value: "b"}} },
		"row 18: empty MessageProperties": func(c *crafted) {
			c.before = func(e *ebms.Envelope) {
				u := e.Messaging.ChildElements()[0]
				u.InsertChildAt(3, u.CreateElement("eb:MessageProperties"))
			}
		},
		"row 18: empty ConversationId": func(c *crafted) { c.user.ConversationID = "" },
		"line ends are line feeds in the part headers": func(c *crafted) {
			c.parts[0].head = "Content-Type: application/gzip\nContent-ID: <order@acme.example>\n"
		},
		"more of the signature than is used": func(c *crafted) {
			c.parts = append(c.parts, craftedPart{id: "extra@acme.example", kind: "text/plain", content: []byte("a\nb"), unlisted: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := usual()
			change(c)
			m := &receiver{p: fromAcmePlain()}
			res := serve(receiverHandler(t, m), c.request(t))
			if answer, e := answered(t, res); answer != "receipt" {
				t.Fatalf("answered %q: %s", answer, e.Detail)
			}
			got, payloads := m.last(t)
			if !got.Accepted || len(payloads) != 1 || payloads[0] != content {
				t.Errorf("received %q: %s", payloads, got.Problem)
			}
			if got.MessageID != "crafted-1@edi.acme.example" || got.Payloads[0].ContentType != "application/edi-x12" || !got.Signed || got.Signer != Fingerprint(acme().cert) {
				t.Errorf("received %+v", got)
			}
		})
	}
}

// TestMessagesThatAreRefused: each fault has its code, names what is wrong, and
// delivers nothing; the partner gets no receipt.
func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	usual := func() *crafted { return craft(zippedPart("order@acme.example", "application/edi-x12", "ISA~")) }
	northwindSeal := wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM}
	for name, tc := range map[string]struct {
		change func(c *crafted)
		p      func(p *PMode)
		code   string
		says   string // for the operator
		told   string // to the partner
	}{
		"row 2: security header stripped": {change: func(c *crafted) { c.sign.Algorithm = "" }, code: codePolicy, says: "not signed"},
		"row 2: not encrypted":            {p: func(p *PMode) { p.Receive.Encrypted = true }, code: codePolicy, says: `"order@acme.example" is not encrypted`},
		"row 2: one part not encrypted": {change: func(c *crafted) {
			c.parts = append(c.parts, zippedPart("second@acme.example", "text/plain", "x"))
			c.seal, c.parts[1].sealedAs = northwindSeal, "-"
		}, p: func(p *PMode) { p.Receive.Encrypted = true }, code: codePolicy, says: `"second@acme.example" is not encrypted`},
		"row 7: the last boundary is missing": {change: func(c *crafted) {
			c.wire = func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r\n--=_crafted--\r\n")) }
		}, code: codeMIME, says: "last boundary was not found", told: "last boundary was not found"},
		"row 7: cut in the middle of a part": {change: func(c *crafted) {
			c.wire = func(b []byte) []byte { return b[:len(b)-30] }
		}, code: codeMIME, says: "part 2"},
		"row 18: no Content-ID": {change: func(c *crafted) {
			c.parts[0].head = "Content-Type: application/gzip\r\n"
		}, code: codeMIME, says: "no part of the message has that Content-ID"},
		"two Content-ID fields": {change: func(c *crafted) {
			c.parts[0].head = "Content-ID: <a@b>\r\nContent-ID: <order@acme.example>\r\n"
		}, code: codeMIME, says: "two Content-ID"},
		"two parts of one Content-ID": {change: func(c *crafted) {
			c.parts = append(c.parts, craftedPart{id: "order@acme.example", content: []byte("EVIL"), unlisted: true, unsigned: true})
		}, code: codeMIME, says: "two parts have the Content-ID"},
		"a part called as the root": {change: func(c *crafted) {
			c.parts = append(c.parts, craftedPart{id: "root@edi.acme.example", content: []byte("EVIL"), unlisted: true, unsigned: true})
		}, code: codeMIME, says: "two parts have the Content-ID"},
		"unknown transfer encoding": {change: func(c *crafted) { c.parts[0].encoding = "x-uuencode" }, code: codeMIME, says: "transfer encoding"},
		"broken base64": {change: func(c *crafted) {
			c.parts[0].head = "Content-ID: <order@acme.example>\r\nContent-Transfer-Encoding: base64\r\n"
		}, code: codeMIME, says: "not base64"},
		"payload outside of the message": {change: func(c *crafted) { c.parts[0].href = "https://files.acme.example/order" }, code: codeExternal, says: "outside of the message"},
		"PartInfo that names nothing":    {change: func(c *crafted) { c.parts[0].href = "#nowhere" }, code: codeMIME, says: "the SOAP Body, which is empty"},
		"two PartInfo of one part": {change: func(c *crafted) {
			c.user.Parts = []ebms.PartInfo{{Href: "CID:order%40acme.example"}}
		}, code: codeHeader, says: "two PartInfo name the same payload"},
		"row 42: another service": {change: func(c *crafted) { c.user.Service.Value = "Invoices" }, code: codeValue, says: "Service is Invoices; settled is Orders", told: "Service is Invoices; settled is Orders"},
		"row 62: an empty agreement is not an absent one": {change: func(c *crafted) { c.user.Agreement = &ebms.AgreementRef{} },
			p: func(p *PMode) { p.Agreement = nil }, code: codePMode, says: "settled is absent"},
		"row 62: an absent agreement is not an empty one": {change: func(c *crafted) { c.user.Agreement = nil }, code: codePMode, says: "AgreementRef is absent"},
		"another's signature": {change: func(c *crafted) { c.sign.Key, c.sign.Certificate = stranger().key, stranger().cert }, code: codeSender,
			says: "CN=stranger.example", told: toldSigner},
		"row 51: a part changed on its way": {change: func(c *crafted) { c.parts[0].raw = gzipped("EVIL") }, code: codeSender,
			says: "reference cid:order@acme.example (part application/gzip) was changed after it was signed: its SHA-256 digest is", told: toldSignature},
		"the header is not signed": {change: func(c *crafted) {
			c.covered = func(v *wssec.Covered) { v.Elements = v.Elements[1:] }
		}, code: codeSender, says: "leads to the eb:Messaging header"},
		"the Body is not signed": {change: func(c *crafted) {
			c.covered = func(v *wssec.Covered) { v.Elements = v.Elements[:1] }
		}, code: codeSender, says: "leads to the SOAP Body"},
		"a part is not signed":            {change: func(c *crafted) { c.parts[0].unsigned = true }, code: codePolicy, says: "not covered by the signature"},
		"a weaker algorithm than settled": {p: func(p *PMode) { p.Receive.Algorithms = []wssec.SignatureAlgorithm{wssec.ECDSASHA256} }, code: codePolicy, says: "rsa-sha256"},
		"encrypted for somebody else": {change: func(c *crafted) {
			c.seal = northwindSeal
			c.seal.Recipient = stranger().cert
		}, code: codeDecryption, says: "encrypted for", told: toldDecryption},
		"ciphertext changed": {change: func(c *crafted) {
			c.seal = northwindSeal
			c.wire = func(b []byte) []byte { b[len(b)-30] ^= 1; return b }
		}, code: codeDecryption, told: toldDecryption},
		"row 57: no gzip":                      {change: func(c *crafted) { c.parts[0].content = []byte("ISA~") }, code: codeCompression, says: "cannot be decompressed"},
		"row 57: bytes behind the end of gzip": {change: func(c *crafted) { c.parts[0].content = append(gzipped("ISA~"), "trailing"...) }, code: codeCompression, says: "cannot be decompressed"},
		"row 57: gzip cut off":                 {change: func(c *crafted) { c.parts[0].content = gzipped("ISA~")[:20] }, code: codeCompression, says: "unexpected EOF"},
		"row 57: another compression":          {change: func(c *crafted) { c.parts[0].properties[1].Value = "application/zip" }, code: codeCompression, says: `"application/zip"`},
		"row 17: a gzip bomb":                  {change: func(c *crafted) { c.parts[0].content = gzipped(strings.Repeat("0", 9<<20)) }, code: codeCompression, says: "bytes and more out of"},
		"row 17: unsigned and encrypted":       {change: func(c *crafted) { c.sign.Algorithm, c.seal = "", northwindSeal }, code: codePolicy, says: "not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, m := usual(), &receiver{p: fromAcmePlain()}
			if tc.change != nil {
				tc.change(c)
			}
			if tc.p != nil {
				tc.p(&m.p)
			}
			res := serve(receiverHandler(t, m), c.request(t))
			answer, e := answered(t, res)
			if answer != tc.code || !strings.Contains(e.Detail, tc.told) || e.RefToMessageInError != c.user.MessageID {
				t.Errorf("answered %q about %q: %s", answer, e.RefToMessageInError, e.Detail)
			}
			got, _ := m.last(t)
			if got.Accepted || got.Code != tc.code || !strings.Contains(got.Problem, tc.says) || got.Payloads != nil || got.Reason == "" {
				t.Errorf("received %t, code %q, problem %q", got.Accepted, got.Code, got.Problem)
			}
			if tc.told != "" && tc.told != tc.says && strings.Contains(e.Detail, "digest is") {
				t.Errorf("told the sender: %s", e.Detail)
			}
			if !bytes.Equal(m.wires[0], c.sent) {
				t.Error("what was kept is not what came")
			}
		})
	}
}

// TestRow54StatusAndSignalAgree: a refusal never looks like a success. An ebMS
// error goes with status 200, since it must be read; it is a failure, beside no
// receipt. What is no message gets a status of 4xx.
func TestRow54StatusAndSignalAgree(t *testing.T) {
	t.Parallel()
	c := craft(zippedPart("order@acme.example", "text/plain", "x"))
	c.sign.Key, c.sign.Certificate = stranger().key, stranger().cert
	m := &receiver{p: fromAcmePlain()}
	h := receiverHandler(t, m)
	res := serve(h, c.request(t))
	body := readBody(t, res)
	env, err := parseEnvelope(body, 1<<20)
	if err != nil || res.StatusCode != http.StatusOK || env.Receipt() != nil || env.Errors().Errors[0].Severity != ebms.Failure {
		t.Errorf("status %d, %v: %s", res.StatusCode, err, body)
	}
	req := c.request(t)
	req.Header.Set("Content-Type", "text/html")
	if res := serve(h, req); res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("what is no SOAP got status %d", res.StatusCode)
	}
}
