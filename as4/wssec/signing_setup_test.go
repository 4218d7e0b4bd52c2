package wssec

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/internal/certs"
	"edigw/internal/xmltree"

	"edigw/internal/testfixture"
	"github.com/beevik/etree"
)

// signedAt is when everything here is signed and verified.
var signedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// signer is a key with its certificate, the one above it, and the root.
type signer struct {
	key   crypto.Signer
	cert  *x509.Certificate
	chain []*x509.Certificate
	root  *x509.Certificate
}

func (s signer) signing(a SignatureAlgorithm, token Token) Signing {
	return Signing{Key: s.key, Certificate: s.cert, Chain: s.chain, Algorithm: a, Token: token}
}

func (s signer) trust() Trust { return Trust{Pinned: []*x509.Certificate{s.cert}, Now: signedAt} }

func (s signer) authority() Trust {
	roots := x509.NewCertPool()
	roots.AddCert(s.root)
	return Trust{Authorities: roots, Now: signedAt}
}

func newSigner(name string, serial int64, key crypto.Signer) signer {
	issue := func(name string, serial int64, public crypto.PublicKey, ca bool, parent *x509.Certificate, by crypto.Signer) *x509.Certificate {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name, Organization: []string{"Northwind, Test & Söhne"}, Country: []string{"DE"}},
			NotBefore: signedAt.AddDate(-1, 0, 0), NotAfter: signedAt.AddDate(9, 0, 0),
			SubjectKeyId: []byte{1, 2, 3, byte(serial >> 8), byte(serial)}, BasicConstraintsValid: true, IsCA: ca, KeyUsage: x509.KeyUsageDigitalSignature,
		}
		if ca {
			template.KeyUsage = x509.KeyUsageCertSign
		}
		if parent == nil {
			parent = template
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
		if err != nil {
			panic(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			panic(err)
		}
		return cert
	}
	rootKey, middleKey := newEC(elliptic.P256()), newEC(elliptic.P256())
	root := issue("root of "+name, 1, rootKey.Public(), true, nil, rootKey)
	middle := issue("authority of "+name, 2, middleKey.Public(), true, root, rootKey)
	leaf := issue(name, serial, key.Public(), false, middle, middleKey)
	return signer{key: key, cert: leaf, chain: []*x509.Certificate{middle}, root: root}
}

func newEC(curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func newRSASigner(name string, serial int64) signer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return newSigner(name, serial, key)
}

// The signers are made once: RSA keys take their time.
var (
	rsaSigner = sync.OnceValue(func() signer { return newRSASigner("rsa.northwind.example", 0x4f22) })
	stranger  = sync.OnceValue(func() signer { return newRSASigner("stranger.example", 0x666) })
	// lookalike has the names, serial and key identifier of rsaSigner, but another key.
	lookalike  = sync.OnceValue(func() signer { return newRSASigner("rsa.northwind.example", 0x4f22) })
	p256Signer = sync.OnceValue(func() signer { return newSigner("p256.northwind.example", 0x256, newEC(elliptic.P256())) })
	p384Signer = sync.OnceValue(func() signer { return newSigner("p384.northwind.example", 0x384, newEC(elliptic.P384())) })
	p521Signer = sync.OnceValue(func() signer { return newSigner("p521.northwind.example", 0x521, newEC(elliptic.P521())) })
	edSigner   = sync.OnceValue(func() signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			panic(err)
		}
		return newSigner("ed25519.northwind.example", 0x25519, key)
	})
	brainpoolSigner = sync.OnceValue(func() signer {
		read := func(name string) []byte {
			text, err := os.ReadFile(filepath.Join("..", "..", "internal", "certs", "testdata", name))
			if err != nil {
				panic(err)
			}
			block, _ := pem.Decode(text)
			return block.Bytes
		}
		key, err := certs.ParsePrivateKey(read("leaf.key.pem"))
		if err != nil {
			panic(err)
		}
		leaf, err := certs.ParseCertificate(read("leaf.crt.pem"))
		if err != nil {
			panic(err)
		}
		ca, err := certs.ParseCertificate(read("ca.crt.pem"))
		if err != nil {
			panic(err)
		}
		return signer{key: key.(crypto.Signer), cert: leaf, root: ca}
	})
)

// now is when the certificate of a signer is valid.
func (s signer) now() time.Time {
	if signedAt.Before(s.cert.NotBefore) {
		return s.cert.NotBefore.Add(time.Hour)
	}
	return signedAt
}

const envelopeText = `<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:x="urn:x"><env:Header>` +
	`<eb:Messaging xmlns:eb="http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/" env:mustUnderstand="true">` +
	`<eb:UserMessage><eb:MessageInfo><eb:MessageId>GOOD-1@northwind.example</eb:MessageId></eb:MessageInfo>` +
	"<eb:Text x:b='1' a='2'>&lt;äö&gt;\n</eb:Text></eb:UserMessage></eb:Messaging></env:Header><env:Body/></env:Envelope>"

// message is an envelope with its parts.
type message struct {
	root, header, security, messaging, body *etree.Element
	parts                                   []Part
}

func parseMessage(t testing.TB, text []byte, parts ...Part) message {
	t.Helper()
	m, err := readMessage(text)
	if err != nil {
		t.Fatal(err)
	}
	m.parts = parts
	return m
}

func readMessage(text []byte) (message, error) {
	doc, err := xmltree.Parse(text, xmltree.Limits{})
	if err != nil {
		return message{}, err
	}
	m := message{root: doc.Root()}
	for _, e := range m.root.ChildElements() {
		switch e.Tag {
		case "Header":
			m.header = e
		case "Body":
			m.body = e
		}
	}
	if m.header == nil {
		return m, nil
	}
	for _, e := range m.header.ChildElements() {
		if e.Tag == "Messaging" {
			m.messaging = e
		}
	}
	m.security, err = Security(m.header, "")
	return m, err
}

func (m message) verify(t Trust) (*Report, error) { return Verify(m.root, m.security, m.parts, t) }

func (m message) text(t testing.TB) []byte {
	t.Helper()
	doc := etree.NewDocument()
	doc.SetRoot(m.root.Copy())
	text, err := doc.WriteToBytes()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// part is a part in memory.
func part(id, mediaType, content string) Part {
	return Part{ContentID: id, MediaType: mediaType, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func content(t testing.TB, p Part) []byte {
	t.Helper()
	r, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func digestPart(t testing.TB, h crypto.Hash, p Part) Digested {
	t.Helper()
	d := PartDigest(h, p.MediaType)
	d.Write(content(t, p))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return Digested{ContentID: p.ContentID, Digest: d.Sum()}
}

// sign signs Messaging, Body and parts of the envelope, and gives what goes
// over the wire.
func sign(t testing.TB, s Signing, parts ...Part) []byte {
	t.Helper()
	text, err := signText(t, envelopeText, s, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func signText(t testing.TB, envelope string, s Signing, parts ...Part) ([]byte, error) {
	t.Helper()
	m := parseMessage(t, []byte(envelope))
	m.security = NewSecurity()
	m.header.InsertChildAt(0, m.security)
	h := s.Digest
	if h == 0 {
		h = crypto.SHA256
	}
	c := Covered{Elements: []*etree.Element{m.messaging, m.body}}
	for _, p := range parts {
		c.Parts = append(c.Parts, digestPart(t, h, p))
	}
	if _, err := Sign(m.security, c, s); err != nil {
		return nil, err
	}
	return m.text(t), nil
}

var testParts = []Part{
	part("order@northwind.example", "application/gzip", "\x1f\x8b raw \n bytes"),
	part("a+b%c@northwind.example", "text/plain", "line\nline\r\nline\r"),
	part("xml@northwind.example", "application/xml; charset=utf-8", "<?xml version='1.0'?>\n<a b='1'   a='2'><!-- no --></a>\n"),
}

// swap replaces one occurrence, which must be there.
func swap(t testing.TB, text []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%q is not in it", old)
	}
	return bytes.Replace(text, []byte(old), []byte(new), 1)
}

// between cuts out what stands between two marks, the first of which stays.
func between(t testing.TB, text []byte, from, to string) string {
	t.Helper()
	_, rest, ok := bytes.Cut(text, []byte(from))
	inner, _, more := bytes.Cut(rest, []byte(to))
	if !ok || !more {
		t.Fatalf("nothing between %q and %q", from, to)
	}
	return string(inner)
}

// tool runs programs in a folder of its own.
type tool struct {
	t   testing.TB
	dir string
}

func newTool(t testing.TB, programs ...string) tool {
	t.Helper()
	for _, p := range programs {
		testfixture.Program(t, p)
	}
	return tool{t: t, dir: t.TempDir()}
}

func (o tool) path(name string) string { return filepath.Join(o.dir, name) }

func (o tool) write(name string, content []byte) string {
	o.t.Helper()
	if err := os.WriteFile(o.path(name), content, 0o600); err != nil {
		o.t.Fatal(err)
	}
	return name
}

func (o tool) read(name string) []byte {
	o.t.Helper()
	b, err := os.ReadFile(o.path(name))
	if err != nil {
		o.t.Fatal(err)
	}
	return b
}

// run gives what the command prints.
func (o tool) run(program string, args ...string) []byte {
	o.t.Helper()
	out, err := o.try(program, args...)
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

// try is run for a command that may fail.
func (o tool) try(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = o.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}

// signer writes certificate and key of a signer as PEM.
func (o tool) signer(name string, s signer) (cert, key string) {
	o.t.Helper()
	cert = o.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw}))
	if s.cert == brainpoolSigner().cert {
		text, err := os.ReadFile(filepath.Join("..", "..", "internal", "certs", "testdata", "leaf.key.pem"))
		if err != nil {
			o.t.Fatal(err)
		}
		return cert, o.write(name+".key", text)
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		o.t.Fatal(err)
	}
	return cert, o.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
