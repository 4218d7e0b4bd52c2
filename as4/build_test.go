package as4

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
)

// profile is how two parties sign and encrypt.
type profile struct {
	name string
	send func(*PMode) // acme's side
	take func(*PMode) // northwind's
}

// profiles are those of the reference's table, with the keys that each has.
func profiles() []profile {
	signing := func(ours, theirs func() pair, a wssec.SignatureAlgorithm, token wssec.Token) (send, take func(*PMode)) {
		return func(p *PMode) {
				p.Sign = wssec.Signing{Key: ours().key, Certificate: ours().cert, Algorithm: a, Token: token}
				p.Verify = []*x509.Certificate{theirs().cert}
			}, func(p *PMode) {
				p.Sign = wssec.Signing{Key: theirs().key, Certificate: theirs().cert, Algorithm: a, Token: token}
				p.Verify = []*x509.Certificate{ours().cert}
			}
	}
	make := func(name string, ours, theirs func() pair, a wssec.SignatureAlgorithm, token wssec.Token, to func() (*x509.Certificate, wssec.Opener), t wssec.KeyTransport, c wssec.DataCipher) profile {
		send, take := signing(ours, theirs, a, token)
		return profile{name, func(p *PMode) {
			send(p)
			cert, _ := to()
			p.Encrypt = wssec.Encrypting{Recipient: cert, Cipher: c, Transport: t}
		}, func(p *PMode) {
			take(p)
			_, opener := to()
			p.Decrypt = []wssec.Opener{opener}
		}}
	}
	of := func(p func() pair) func() (*x509.Certificate, wssec.Opener) {
		return func() (*x509.Certificate, wssec.Opener) { return p().cert, p().opener() }
	}
	return []profile{
		make("eDelivery 1.15", acme, northwind, wssec.RSASHA256, wssec.TokenBST, of(northwind), wssec.KeyTransport{Method: "rsa-oaep"}, wssec.AES128GCM),
		make("eDelivery 2.0", acmeEd, northEd, wssec.Ed25519, wssec.TokenPKIPath, northX, wssec.KeyTransport{Method: "x25519"}, wssec.AES128GCM),
		make("ENTSOG 4.0 with curves", acmeEC, northEC, wssec.ECDSASHA256, wssec.TokenPKIPath, of(northEC), wssec.KeyTransport{Method: "ecdh-es"}, wssec.AES128GCM),
		make("BDEW", acmeBP, northBP, wssec.ECDSASHA256, wssec.TokenPKIPath, of(northBP), wssec.KeyTransport{Method: "ecdh-es"}, wssec.AES128GCM),
		make("DBNAlliance", acme, northwind, wssec.RSASHA256, wssec.TokenBST, of(northwind), wssec.KeyTransport{Method: "rsa-oaep"}, wssec.AES256GCM),
		make("named by key identifier", acme, northwind, wssec.RSASHA512, wssec.TokenSKI, of(northwind), wssec.KeyTransport{Method: "rsa-oaep-mgf1p"}, wssec.AES192GCM),
	}
}

// TestRow11Row14Profiles: in each profile, signed or not, encrypted or not, compressed or not,
// with one payload or three, the receiver gets what was sent, and his receipt
// proves it.
func TestRow11Row14Profiles(t *testing.T) {
	t.Parallel()
	three := func() []Payload {
		c := contents()
		return []Payload{
			payload("application/EDI-X12", "order.edi", c["usual"]),
			payload("text/plain; charset=utf-8", "", []byte("line\nline\r\nlast")),
			payload("application/octet-stream", "bytes.bin", c["binary"]),
			payload("application/xml", "list.xml", []byte("<?xml version=\"1.0\"?>\n<a  b='1'><!-- kept --></a>\n")),
		}
	}
	for _, pr := range profiles() {
		for _, mode := range []struct {
			name                    string
			sign, encrypt, compress bool
			order                   string
		}{
			{"signed, encrypted, compressed", true, true, true, "EncryptedKey EncryptedData EncryptedData EncryptedData EncryptedData"},
			{"signed, encrypted", true, true, false, "EncryptedKey EncryptedData EncryptedData EncryptedData EncryptedData"},
			{"signed, compressed", true, false, true, ""},
			{"signed", true, false, false, ""},
			{"encrypted, compressed", false, true, true, "EncryptedKey EncryptedData EncryptedData EncryptedData EncryptedData"},
			{"compressed", false, false, true, ""},
			{"plain", false, false, false, ""},
		} {
			t.Run(pr.name+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				p, by := toNorthwind(), fromAcme()
				pr.send(&p)
				pr.take(&by)
				p.Compress = mode.compress
				by.Receive.Signed = mode.sign
				if !mode.sign {
					p.Sign, p.Receipt = wssec.Signing{}, ReceiptRequest{Mode: ReceiptSync}
					by.Receive.Receipt = ReceiptRequest{Mode: ReceiptSync}
				}
				if !mode.encrypt {
					p.Encrypt = wssec.Encrypting{}
				}
				d := orderDocument(three()...)
				r, wire := mustBuild(t, p, d)
				checkWire(t, r, wire)
				o := open(t, r.ContentType, wire, by)
				for i, got := range o.payloads {
					want, _ := io.ReadAll(three()[i].Content)
					if !bytes.Equal(got, want) {
						t.Errorf("payload %d: %d bytes became %d", i, len(want), len(got))
					}
				}
				checkParts(t, o.env.User, three(), mode.compress)
				if order := mode.order; order != "" || mode.sign {
					if mode.sign && pr.name != "named by key identifier" {
						order += " BinarySecurityToken"
					}
					if mode.sign {
						order += " Signature"
					}
					if got := securityOrder(t, o.env); got != strings.TrimSpace(order) {
						t.Errorf("security header: %s, want %s", got, order)
					}
				}
				ack, signal := judge(o.receiptFor(t, by), p, r)
				if ack.Verdict != fault.AckTrusted || !ack.Positive || ack.Ref != d.MessageID || (ack.Signer != "") != mode.sign {
					t.Errorf("receipt: %+v: %s", ack, signal.Problem)
				}
			})
		}
	}
}

// checkWire holds what a Rendition says to the bytes.
func checkWire(t *testing.T, r Rendition, wire []byte) {
	t.Helper()
	sum := sha256.Sum256(wire)
	if r.Size != int64(len(wire)) || r.SHA256 != hex.EncodeToString(sum[:]) || r.MessageID != "order-20931@edi.acme.example" {
		t.Errorf("rendition %+v of %d bytes", r, len(wire))
	}
}

// checkParts holds the part properties to what the payloads are.
func checkParts(t *testing.T, u *ebms.UserMessage, payloads []Payload, compressed bool) {
	t.Helper()
	for i, info := range u.Parts {
		mediaType, charset, _ := strings.Cut(payloads[i].ContentType, "; charset=")
		want := []ebms.Property{{Name: "FileName", Value: payloads[i].FileName}, {Name: "MimeType", Value: mediaType}}
		if payloads[i].FileName == "" {
			want = want[1:]
		}
		if charset != "" {
			want = append(want, ebms.Property{Name: "CharacterSet", Value: charset})
		}
		if compressed {
			want = append(want, ebms.Property{Name: "CompressionType", Value: "application/gzip"})
		}
		if diff := cmp.Diff(want, info.Properties); diff != "" {
			t.Errorf("part %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestContentsSurvive: no byte of a payload changes, whatever it looks like.
func TestContentsSurvive(t *testing.T) {
	t.Parallel()
	for name, content := range contents() {
		for _, compress := range []bool{true, false} {
			p, by := toNorthwind(), fromAcme()
			p.Encrypt, p.Compress = wssec.Encrypting{}, compress
			r, wire := mustBuild(t, p, orderDocument(payload("application/edifact", "", content)))
			o := open(t, r.ContentType, wire, by)
			if len(o.payloads) != 1 || !bytes.Equal(o.payloads[0], content) {
				t.Errorf("%s, compressed %t: %q", name, compress, o.payloads)
			}
		}
	}
}

// TestRebuild: all that a receipt names is the same again, so that a receipt for
// either build fits both (AS4 §3.2).
func TestRebuild(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	d := orderDocument(payload("application/EDI-X12", "order.edi", contents()["usual"]), payload("text/xml", "", []byte("<a/>")))
	first, one := mustBuild(t, p, d)
	second, two := mustBuild(t, p, d)
	if diff := cmp.Diff(first.References, second.References); diff != "" || len(first.References) != 4 {
		t.Errorf("references (-first +second):\n%s", diff)
	}
	if first.SHA256 == second.SHA256 || bytes.Equal(one, two) {
		t.Error("the same key was used twice")
	}
	o := open(t, second.ContentType, two, by)
	if ack, signal := judge(o.receiptFor(t, by), p, first); ack.Verdict != fault.AckTrusted {
		t.Errorf("receipt for the second, first sent: %s %s", ack.Verdict, signal.Problem)
	}
	if o.env.Messaging.SelectAttrValue("wsu:Id", "") != "messaging-"+namesOf(d.MessageID).tag {
		t.Error("the ids do not follow from the MessageId")
	}
}

// TestBody: an XML payload in the SOAP Body goes without MIME, signed with it.
func TestBody(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	p.Body, p.Compress, p.Encrypt = true, false, wssec.Encrypting{}
	content := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<o:Order xmlns:o='urn:example:order' a=\"x&#10;&lt;y\"><!-- kept --><o:Line>1 &amp; 2 &#13;]]&gt;</o:Line>\n <![CDATA[<raw>]]></o:Order>\n"
	r, wire := mustBuild(t, p, orderDocument(payload("application/xml", "order.xml", []byte(content))))
	if r.ContentType != "application/soap+xml; charset=UTF-8" || len(r.References) != 2 {
		t.Errorf("%s, %d references", r.ContentType, len(r.References))
	}
	o := open(t, r.ContentType, wire, by)
	if href := o.env.User.Parts[0].Href; href != "" {
		t.Errorf("href %q: phase4 takes any for an attachment's", href)
	}
	e := o.env.Payload()
	if e == nil || e.Tag != "Order" || e.SelectAttrValue("a", "") != "x\n<y" || e.ChildElements()[0].Text() != "1 & 2 \r]]>" {
		t.Errorf("the payload is %v in\n%s", e, wire)
	}
	if ack, signal := judge(o.receiptFor(t, by), p, r); ack.Verdict != fault.AckTrusted {
		t.Errorf("receipt: %s %s", ack.Verdict, signal.Problem)
	}
}

// TestPing: a message to the test service has no payload and goes without MIME.
func TestPing(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	d := Ping("ping-1@edi.acme.example", testNow)
	r, wire := mustBuild(t, p, d)
	o := open(t, r.ContentType, wire, by)
	u := o.env.User
	if !u.Test() || len(u.Parts) != 0 || u.Agreement == nil || u.From.IDs[0].Value != "ACME" || r.ContentType != envelopeType {
		t.Errorf("%s: %+v", r.ContentType, u)
	}
	if ack, signal := judge(o.receiptFor(t, by), p, r); ack.Verdict != fault.AckTrusted {
		t.Errorf("receipt: %s %s", ack.Verdict, signal.Problem)
	}
	d.Payloads = []Payload{payload("a/b", "", nil)}
	if _, err := Build(io.Discard, p, d, nil, testNow); err == nil {
		t.Error("a payload for the test service was taken")
	}
}

// TestRow30GzipIsCompressedAllTheSame: what is gzip already is compressed like
// everything else; CompressionType alone tells.
func TestRow30GzipIsCompressedAllTheSame(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := compressors.New().(interface {
		io.WriteCloser
		Reset(io.Writer)
	})
	z.Reset(&packed)
	z.Write([]byte("ISA~"))
	z.Close()
	for _, compress := range []bool{true, false} {
		p, by := toNorthwind(), fromAcme()
		p.Compress = compress
		r, wire := mustBuild(t, p, orderDocument(payload("application/gzip", "order.gz", packed.Bytes())))
		o := open(t, r.ContentType, wire, by)
		if _, n := ebms.Lookup(o.env.User.Parts[0].Properties, ebms.CompressionType); (n == 1) != compress {
			t.Errorf("compressed %t: CompressionType stands %d times", compress, n)
		}
		if !bytes.Equal(o.payloads[0], packed.Bytes()) {
			t.Errorf("compressed %t: the payload became %q", compress, o.payloads[0])
		}
	}
}

// TestPayloadIsReadSeldom: what is compressed is read once, whatever is done to
// it; the rest once for the digest and once for the wire.
func TestPayloadIsReadSeldom(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sign, compress bool
		reads          int
	}{{true, true, 1}, {true, false, 2}, {false, true, 1}, {false, false, 1}} {
		p, _ := toNorthwind(), fromAcme()
		p.Compress = tc.compress
		if !tc.sign {
			p.Sign, p.Receipt = wssec.Signing{}, ReceiptRequest{}
		}
		counted := &seeks{ReadSeeker: bytes.NewReader(contents()["binary"])}
		one := payload("application/edifact", "", contents()["binary"])
		one.Content = counted
		mustBuild(t, p, orderDocument(one))
		if counted.n != tc.reads {
			t.Errorf("%+v: read %d times", tc, counted.n)
		}
	}
}

type seeks struct {
	io.ReadSeeker
	n int
}

func (s *seeks) Seek(offset int64, whence int) (int64, error) {
	s.n++
	return s.ReadSeeker.Seek(offset, whence)
}

// TestAck says when the receipt is due.
func TestAck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mode ReceiptMode
		mep  MEP
		want fault.AckTiming
	}{
		{ReceiptNone, OneWayPush, fault.AckNotAsked}, {"", OneWayPush, fault.AckNotAsked}, {ReceiptSync, OneWayPush, fault.AckSync},
		{ReceiptAsync, OneWayPush, fault.AckAsync}, {ReceiptSync, OneWayPull, fault.AckAsync}, {ReceiptNone, OneWayPull, fault.AckNotAsked},
		{ReceiptSync, TwoWayPush, fault.AckSync},
	} {
		p := toNorthwind()
		p.Receipt.Mode, p.MEP = tc.mode, tc.mep
		if r, _ := mustBuild(t, p, orderDocument()); r.Ack != tc.want {
			t.Errorf("%s, %s: %s, want %s", tc.mode, tc.mep, r.Ack, tc.want)
		}
	}
}

// TestFingerprint: what changes the bytes or the receipt changes it, login and
// address do not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := toNorthwind().Fingerprint()
	for name, change := range map[string]func(*PMode){
		"from":            func(p *PMode) { p.From.IDs = []ebms.PartyID{{Value: "ACME2", Type: "urn:example:ids"}} },
		"role":            func(p *PMode) { p.To.Role = "urn:example:buyer" },
		"agreement":       func(p *PMode) { p.Agreement = nil },
		"service":         func(p *PMode) { p.Service.Value = "Invoices" },
		"action":          func(p *PMode) { p.Action = "Take" },
		"mpc":             func(p *PMode) { p.MPC = "urn:example:mpc" },
		"conversation":    func(p *PMode) { p.Conversation = "1" },
		"property":        func(p *PMode) { p.Properties = p.Properties[:1] },
		"part property":   func(p *PMode) { p.PartProperties = []ebms.Property{{Name: "a", Value: "b"}} },
		"file name":       func(p *PMode) { p.FileNameProperty = "" },
		"compression":     func(p *PMode) { p.Compress = false },
		"body":            func(p *PMode) { p.Body = true },
		"algorithm":       func(p *PMode) { p.Sign.Algorithm = wssec.RSASHA512 },
		"digest":          func(p *PMode) { p.Sign.Digest = crypto.SHA512 },
		"token":           func(p *PMode) { p.Sign.Token = wssec.TokenSKI },
		"certificate":     func(p *PMode) { p.Sign.Certificate = stranger().cert },
		"chain":           func(p *PMode) { p.Sign.Chain = []*x509.Certificate{stranger().cert} },
		"recipient":       func(p *PMode) { p.Encrypt.Recipient = stranger().cert },
		"cipher":          func(p *PMode) { p.Encrypt.Cipher = wssec.AES256GCM },
		"transport":       func(p *PMode) { p.Encrypt.Transport.Digest = crypto.SHA512 },
		"recipient token": func(p *PMode) { p.Encrypt.Token = wssec.TokenThumbprint },
		"receipt":         func(p *PMode) { p.Receipt.Signed = false },
		"pulled":          func(p *PMode) { p.MEP = OneWayPull },
	} {
		p := toNorthwind()
		change(&p)
		if p.Fingerprint() == base {
			t.Errorf("%s: the fingerprint stays", name)
		}
	}
	for name, change := range map[string]func(*PMode){
		"address":           func(p *PMode) { p.URL = "https://elsewhere.example" },
		"login":             func(p *PMode) { p.AuthUser, p.AuthPassword, p.PullUser, p.PullPassword = "a", "b", "c", "d" },
		"default mpc":       func(p *PMode) { p.MPC = ebms.DefaultMPC },
		"their certificate": func(p *PMode) { p.Verify = nil },
		"how we receive":    func(p *PMode) { p.Receive = Receive{Signed: true} },
	} {
		p := toNorthwind()
		change(&p)
		if p.Fingerprint() != base {
			t.Errorf("%s: the fingerprint changes", name)
		}
	}
	p := toNorthwind()
	p.Encrypt = wssec.Encrypting{}
	unencrypted := p.Fingerprint()
	p.Encrypt.Recipient = stranger().cert
	if p.Fingerprint() != unencrypted {
		t.Error("a certificate that nothing is encrypted to changes the fingerprint")
	}
	if r, _ := mustBuild(t, toNorthwind(), orderDocument()); r.Agreement != base {
		t.Error("the rendition has another one")
	}
}
