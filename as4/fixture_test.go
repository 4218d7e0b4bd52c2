package as4

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/certs"
	"edigw/internal/testfixture"
)

// testNow is when everything in these tests happens.
var testNow = time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC)

// pair is a key with its certificate, made for one test run.
type pair struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func (p pair) opener() wssec.Opener { return wssec.Opener{Certificate: p.cert, Key: p.key} }

// newPair issues a certificate for a key; by nil it is by itself. The kinds of
// keys that crypto/x509 writes no certificates of are put in afterwards.
func newPair(name string, key crypto.Signer, from, until time.Time, by *pair) pair {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name, Organization: []string{"generated for a test"}},
		NotBefore:    from, NotAfter: until, SubjectKeyId: []byte(name), BasicConstraintsValid: true, IsCA: by == nil,
	}
	issuer := &pair{key, template}
	if by != nil {
		issuer = by
	}
	public := key.Public()
	if _, err := x509.MarshalPKIXPublicKey(public); err != nil {
		public = mustP256().Public()
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, public, issuer.key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	cert.PublicKey = key.Public()
	return pair{key, cert}
}

func validPair(name string, key crypto.Signer) pair {
	return newPair(name, key, testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0), nil)
}

func newRSA(name string) pair {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return validPair(name, key)
}

func mustEC(curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

var mustP256 = sync.OnceValue(func() crypto.Signer { return mustEC(elliptic.P256()) })

// The keys of both sides and of somebody else.
var (
	acme      = sync.OnceValue(func() pair { return newRSA("acme.example") })
	northwind = sync.OnceValue(func() pair { return newRSA("northwind.example") })
	stranger  = sync.OnceValue(func() pair { return newRSA("stranger.example") })
	acmeEC    = sync.OnceValue(func() pair { return validPair("ec.acme.example", mustEC(elliptic.P256())) })
	northEC   = sync.OnceValue(func() pair { return validPair("ec.northwind.example", mustEC(elliptic.P256())) })
	acmeEd    = sync.OnceValue(func() pair { return newEd("ed.acme.example") })
	northEd   = sync.OnceValue(func() pair { return newEd("ed.northwind.example") })
	acmeBP    = sync.OnceValue(func() pair { return newBrainpool("bp.acme.example") })
	northBP   = sync.OnceValue(func() pair { return newBrainpool("bp.northwind.example") })
	northX    = sync.OnceValues(newX25519)
)

func newEd(name string) pair {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return validPair(name, key)
}

func newBrainpool(name string) pair {
	by := northEC()
	return newPair(name, mustEC(certs.BrainpoolP256r1()), testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0), &by)
}

// newX25519 is a certificate with a key to encrypt to, and how it is opened.
func newX25519() (*x509.Certificate, wssec.Opener) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	cert := *northEC().cert
	cert.PublicKey = key.PublicKey()
	return &cert, wssec.Opener{Certificate: &cert, Key: key}
}

var (
	acmeParty  = ebms.Party{IDs: []ebms.PartyID{{Value: "ACME", Type: "urn:example:ids"}}, Role: ebms.RoleInitiator}
	northParty = ebms.Party{IDs: []ebms.PartyID{{Value: "NORTHWIND", Type: "urn:example:ids"}}, Role: ebms.RoleResponder}
	orders     = Collaboration{
		Agreement: &ebms.AgreementRef{Value: "https://agreements.example/1"},
		Service:   ebms.Service{Value: "Orders", Type: "urn:example:services"}, Action: "Deliver",
	}
)

// toNorthwind is how acme sends to northwind.
func toNorthwind() PMode {
	return PMode{
		From: acmeParty, To: northParty, URL: "https://as4.northwind.example/msh", MEP: OneWayPush,
		Collaboration: orders, Conversation: "{message}", Compress: true, FileNameProperty: "FileName",
		Properties: []ebms.Property{{Name: "originalSender", Value: "acme"}, {Name: "finalRecipient", Value: "northwind", Type: "urn:example:ids"}},
		Sign:       wssec.Signing{Key: acme().key, Certificate: acme().cert, Algorithm: wssec.RSASHA256},
		Encrypt:    wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM},
		Receipt:    ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true},
		Verify:     []*x509.Certificate{northwind().cert},
	}
}

// fromAcme is how northwind receives from acme, and answers.
func fromAcme() PMode {
	return PMode{
		From: northParty, To: acmeParty, URL: "https://as4.acme.example/msh", MEP: OneWayPush, Collaboration: orders,
		Sign:    wssec.Signing{Key: northwind().key, Certificate: northwind().cert, Algorithm: wssec.RSASHA256},
		Receive: Receive{Signed: true, Encrypted: true, Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true}},
		Verify:  []*x509.Certificate{acme().cert},
		Decrypt: []wssec.Opener{northwind().opener()},
	}
}

// payload is a payload in memory.
func payload(contentType, name string, content []byte) Payload {
	return Payload{ContentType: contentType, FileName: name, Size: int64(len(content)), Content: bytes.NewReader(content)}
}

func orderDocument(payloads ...Payload) Document {
	return Document{MessageID: "order-20931@edi.acme.example", Timestamp: testNow, Payloads: payloads}
}

// mustBuild builds a message and returns its wire bytes.
func mustBuild(t testing.TB, p PMode, d Document) (Rendition, []byte) {
	t.Helper()
	var wire bytes.Buffer
	r, err := Build(&wire, p, d, nil, testNow)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return r, wire.Bytes()
}

// contents are payloads that careless code changes.
func contents() map[string][]byte {
	binary := make([]byte, 200_000)
	for i := range binary {
		binary[i] = byte(i * 7 >> 1)
	}
	return map[string][]byte{
		"empty":          {},
		"one byte":       {'x'},
		"lone LF":        {'\n'},
		"leading blank":  []byte("\r\n\r\nISA*00~\r\n"),
		"trailing blank": []byte("ISA*00~\n\n\r\n\r\n"),
		"dashes":         []byte("--\r\n--edigw-\r\n--"),
		"binary":         binary,
		"usual":          []byte(strings.Repeat("ISA*00*          *ZZ*ACME~\r\n", 400)),
	}
}

// zeros is a payload of so many zeros.
type zeros struct{ size, at int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.at == z.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.size-z.at)
	clear(p[:n])
	z.at += n
	return int(n), nil
}

func (z *zeros) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, fmt.Errorf("seek from %d", whence)
	}
	z.at = offset
	return offset, nil
}

func readKey(t testing.TB, name string) crypto.Signer {
	t.Helper()
	block := testfixture.PEM(t, name)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(crypto.Signer)
}
