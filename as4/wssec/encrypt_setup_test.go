package wssec

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/internal/certs"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// holder is somebody with a key to decrypt with.
type holder struct {
	cert *x509.Certificate
	key  any
}

func (h holder) opener() Opener { return Opener{Certificate: h.cert, Key: h.key} }

// newHolder makes a certificate over pub, issued by a test authority.
func newHolder(name string, serial int64, pub, key any) holder {
	authority := testAuthority()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name, Organization: []string{"Northwind"}},
		NotBefore:    time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC),
		SubjectKeyId: []byte{0x5a, byte(serial >> 8), byte(serial)},
	}
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Authority, for \"tests\"", Country: []string{"DE"}}}
	of := pub
	if _, err := x509.MarshalPKIXPublicKey(pub); err != nil || isX25519(pub) {
		// crypto/x509 writes no certificates of Brainpool and X25519 keys; what
		// names the certificate is the same.
		of = authority.Public()
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, of, authority)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	cert.PublicKey = pub
	return holder{cert, key}
}

func isX25519(pub any) bool {
	_, is := pub.(*ecdh.PublicKey)
	return is
}

var testAuthority = sync.OnceValue(func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
})

func newRSAHolder(name string, serial int64) holder {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return newHolder(name, serial, key.Public(), key)
}

func newECHolder(name string, serial int64, curve elliptic.Curve) holder {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return newHolder(name, serial, key.Public(), key)
}

func newX25519Holder(name string, serial int64) holder {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return newHolder(name, serial, key.PublicKey(), key)
}

// The holders are made once: RSA keys take their time.
var (
	rsaHolder       = sync.OnceValue(func() holder { return newRSAHolder("rsa.northwind.example", 0x4f22) })
	otherHolder     = sync.OnceValue(func() holder { return newRSAHolder("other.northwind.example", 0x666) })
	p256Holder      = sync.OnceValue(func() holder { return newECHolder("p256.northwind.example", 0x256, elliptic.P256()) })
	p384Holder      = sync.OnceValue(func() holder { return newECHolder("p384.northwind.example", 0x384, elliptic.P384()) })
	p521Holder      = sync.OnceValue(func() holder { return newECHolder("p521.northwind.example", 0x521, elliptic.P521()) })
	brainpoolHolder = sync.OnceValue(func() holder {
		return newECHolder("brainpool.northwind.example", 0x257, certs.BrainpoolP256r1())
	})
	x25519Holder = sync.OnceValue(func() holder { return newX25519Holder("x25519.northwind.example", 0x25519) })
)

// transportCase is a way for a key to come to somebody.
type transportCase struct {
	name string
	to   func() holder
	t    KeyTransport
}

// transportCases are all of them, with all pairs of OAEP.
func transportCases() []transportCase {
	all := []transportCase{
		{"defaults of RSA", rsaHolder, KeyTransport{}},
		{"defaults of P-256", p256Holder, KeyTransport{}},
		{"defaults of X25519", x25519Holder, KeyTransport{}},
	}
	for _, h := range oaepHashes {
		all = append(all, transportCase{"rsa-oaep-mgf1p " + h.hash.String(), rsaHolder, KeyTransport{Method: transportOAEPMGF1P, Digest: h.hash}})
		for _, m := range oaepHashes {
			all = append(all, transportCase{"rsa-oaep " + h.hash.String() + " mask " + m.hash.String(), rsaHolder,
				KeyTransport{Method: transportOAEP, Digest: h.hash, MGF: m.hash}})
		}
	}
	for _, c := range []struct {
		name   string
		to     func() holder
		method string
	}{
		{"P-256", p256Holder, transportECDHES}, {"P-384", p384Holder, transportECDHES}, {"P-521", p521Holder, transportECDHES},
		{"brainpoolP256r1", brainpoolHolder, transportECDHES}, {"X25519", x25519Holder, transportX25519},
	} {
		for i, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, d := range []string{derivationConcat, derivationHKDF} {
				wrap := []int{128, 192, 256}[i]
				all = append(all, transportCase{c.name + " " + d + " " + h.String(), c.to,
					KeyTransport{Method: c.method, Digest: h, Wrap: wrap, Derivation: d}})
			}
		}
	}
	return all
}

var allDataCiphers = []DataCipher{AES128GCM, AES192GCM, AES256GCM}

// filler is n bytes that repeat late.
func filler(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8*7 ^ i>>16*13)
	}
	return b
}

// sealed is a message whose parts are encrypted.
type sealed struct {
	security *etree.Element
	parts    map[string][]byte // ciphertext by Content-ID
}

// seal encrypts contents in their order; the Content-IDs are "0@x", "1@x" and so on.
func seal(t testing.TB, e Encrypting, contents ...[]byte) sealed {
	t.Helper()
	x, err := NewEncrypter(e)
	if err != nil {
		t.Fatal(err)
	}
	s := sealed{NewSecurity(), map[string][]byte{}}
	for i, content := range contents {
		id := partID(i)
		var out bytes.Buffer
		w := x.Part(&out, id, "application/gzip")
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if int64(out.Len()) != CipherSize(int64(len(content))) {
			t.Fatalf("%d bytes became %d, CipherSize says %d", len(content), out.Len(), CipherSize(int64(len(content))))
		}
		s.parts[id] = out.Bytes()
	}
	x.Write(s.security)
	return s
}

func partID(i int) string { return string(rune('0'+i)) + "@x" }

// over the wire and read again.
func reread(t testing.TB, security *etree.Element) *etree.Element {
	t.Helper()
	return parseXML(t, serialised(t, security)).Root()
}

func serialised(t testing.TB, e *etree.Element) string {
	t.Helper()
	d := etree.NewDocument()
	d.SetRoot(e.Copy())
	text, err := d.WriteToString()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parseXML(t testing.TB, text string) *etree.Document {
	t.Helper()
	d, err := xmltree.Parse([]byte(text), xmltree.Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}

// unlock reads a message and decrypts its keys.
func unlock(security *etree.Element, keys ...Opener) (*Opening, error) {
	e, err := ReadEncrypted(security)
	if err != nil {
		return nil, err
	}
	return e.Unlock(keys)
}

// unseal decrypts all parts of a message.
func unseal(s sealed, keys ...Opener) (map[string][]byte, error) {
	o, err := unlock(s.security, keys...)
	if err != nil {
		return nil, err
	}
	plain := map[string][]byte{}
	for id, ciphertext := range s.parts {
		var out bytes.Buffer
		if err := o.Decrypt(&out, id, bytes.NewReader(ciphertext)); err != nil {
			return nil, err
		}
		plain[id] = out.Bytes()
	}
	return plain, nil
}

// with changes the text of a message.
func (s sealed) with(t testing.TB, old, new string) sealed {
	t.Helper()
	text := serialised(t, s.security)
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in %s", old, text)
	}
	return sealed{parseXML(t, strings.ReplaceAll(text, old, new)).Root(), s.parts}
}

// zeros reads as zeros without holding them.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var _ io.Reader = zeros{}
