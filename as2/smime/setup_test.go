package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"edigw/internal/testfixture"
	"encoding/hex"
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
)

var signedAt = time.Date(2026, 3, 1, 12, 30, 15, 0, time.UTC)

// party is somebody with a key and a certificate.
type party struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func (p party) recipient() Recipient {
	r := Recipient{Certificate: p.cert}
	switch key := p.key.(type) {
	case crypto.Decrypter:
		r.Key = key
	case *ecdsa.PrivateKey:
		agree, err := key.ECDH()
		if err != nil {
			panic(err)
		}
		r.Agree = agree
	}
	return r
}

func (p party) pins() []*x509.Certificate { return []*x509.Certificate{p.cert} }

func (p party) options(h crypto.Hash) SignOptions {
	return SignOptions{Key: p.key, Certificate: p.cert, Hash: h, Time: signedAt}
}

func newParty(name string, serial int64, key crypto.Signer) party {
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: name, Organization: []string{"Northwind"}},
		NotBefore:             signedAt.AddDate(-1, 0, 0),
		NotAfter:              signedAt.AddDate(9, 0, 0),
		SubjectKeyId:          []byte{1, 2, 3, byte(serial >> 8), byte(serial)},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return party{key: key, cert: cert}
}

func newRSA(name string, serial int64) party {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return newParty(name, serial, key)
}

func newECDSA(name string, serial int64, curve elliptic.Curve) party {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return newParty(name, serial, key)
}

// The parties are made once: RSA keys take their time.
var (
	partner  = sync.OnceValue(func() party { return newRSA("partner.northwind.example", 0x4f22) })
	gateway  = sync.OnceValue(func() party { return newRSA("gateway.example", 0x1000) })
	stranger = sync.OnceValue(func() party { return newRSA("stranger.example", 0x666) })
	// lookalike has issuer, serial and key identifier of partner, but another key.
	lookalike = sync.OnceValue(func() party { return newRSA("partner.northwind.example", 0x4f22) })
	p256      = sync.OnceValue(func() party { return newECDSA("p256.northwind.example", 0x256, elliptic.P256()) })
	p384      = sync.OnceValue(func() party { return newECDSA("p384.northwind.example", 0x384, elliptic.P384()) })
	p521      = sync.OnceValue(func() party { return newECDSA("p521.northwind.example", 0x521, elliptic.P521()) })
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sumOf(h crypto.Hash, content []byte) []byte {
	sum := h.New()
	sum.Write(content)
	return sum.Sum(nil)
}

// digestOf is the callback of VerifyDetached over content in memory.
func digestOf(content []byte) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) { return sumOf(h, content), nil }
}

func sign(t testing.TB, content []byte, o SignOptions) []byte {
	t.Helper()
	sig, err := SignDetached(sumOf(o.Hash, content), o)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func encrypt(t testing.TB, content []byte, c Cipher, to ...*x509.Certificate) []byte {
	t.Helper()
	return encryptWith(t, content, EncryptOptions{Cipher: c, Recipients: to})
}

func encryptWith(t testing.TB, content []byte, o EncryptOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewEncrypter(&out, int64(len(content)), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decrypt(message []byte, ours ...Recipient) ([]byte, error) {
	d, err := NewDecrypter(bytes.NewReader(message), ours, Limits{})
	if err != nil {
		return nil, err
	}
	return io.ReadAll(d)
}

// opaque wraps content and the signers of a detached signature into one
// SignedData, with the content as BER pieces.
func opaque(t testing.TB, sig []byte, pieces ...[]byte) []byte {
	t.Helper()
	c := newCursor(sig)
	outer := c.in(tagSequence)
	outer.oid()
	explicit := outer.in(tagExplicit0)
	data := explicit.in(tagSequence)
	version, digests := data.raw(tagInteger), data.raw(tagSet)
	data.raw(tagSequence)
	if *c.bad {
		t.Fatal("not a signature")
	}
	var strings []byte
	for _, p := range pieces {
		strings = append(strings, tlv(tagOctets, p)...)
	}
	content := indefiniteLength(tagSequence, tlv(tagOID, []byte(oidData)),
		indefiniteLength(tagExplicit0, indefiniteLength(tagOctets|constructed, strings)))
	return indefiniteLength(tagSequence, tlv(tagOID, []byte(oidSignedData)),
		indefiniteLength(tagExplicit0, indefiniteLength(tagSequence, version, digests, content, data.rest)))
}

func indefiniteLength(tag byte, parts ...[]byte) []byte {
	return append(append([]byte{tag, 0x80}, bytes.Join(parts, nil)...), 0, 0)
}

// payload is n bytes without a pattern that matters.
func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func readKey(t testing.TB, path string) *rsa.PrivateKey {
	t.Helper()
	block := testfixture.PEM(t, path)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(*rsa.PrivateKey)
}

// openssl runs the program in a folder of its own.
type openssl struct {
	t   testing.TB
	dir string
}

func newOpenSSL(t testing.TB) openssl {
	t.Helper()
	testfixture.Program(t, "openssl")
	return openssl{t: t, dir: t.TempDir()}
}

func (o openssl) write(name string, content []byte) string {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), content, 0o600); err != nil {
		o.t.Fatal(err)
	}
	return name
}

func (o openssl) party(name string, p party) (cert, key string) {
	o.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		o.t.Fatal(err)
	}
	key = o.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	cert = o.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw}))
	return cert, key
}

// run gives what the command prints.
func (o openssl) run(args ...string) []byte {
	o.t.Helper()
	out, err := o.try(args...)
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

// try is run for a command that may fail.
func (o openssl) try(args ...string) ([]byte, error) {
	cmd := exec.Command("openssl", args...)
	cmd.Dir = o.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("openssl %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}
