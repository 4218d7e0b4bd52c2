package as2

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as2/smime"
	"edigw/internal/testfixture"
)

// testNow is when everything in these tests happens.
var testNow = time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC)

// pair is a key with its self-signed certificate, made for one test run.
type pair struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func newPair(name string, key crypto.Signer, from, until time.Time) pair {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name, Organization: []string{"generated for a test"}},
		NotBefore:    from,
		NotAfter:     until,
		SubjectKeyId: []byte(name),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return pair{key, cert}
}

func newRSA(name string) pair {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return newPair(name, key, testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0))
}

// The keys of both sides and of somebody else.
var (
	acme      = sync.OnceValue(func() pair { return newRSA("acme.example") })
	northwind = sync.OnceValue(func() pair { return newRSA("northwind.example") })
	stranger  = sync.OnceValue(func() pair { return newRSA("stranger.example") })
	elliptic1 = sync.OnceValue(func() pair {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return newPair("ec.example", key, testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0))
	})
)

// toNorthwind is how acme sends to northwind.
func toNorthwind() Agreement {
	return Agreement{
		From: "ACME-AS2", To: "NORTHWIND", URL: "https://as2.northwind.example/as2",
		Sign: crypto.SHA256, Encrypt: smime.AES256CBC, Compress: CompressNone, TransferEncoding: Binary,
		MDN:                MDNRequest{Mode: MDNSync, Signed: true, Algorithm: crypto.SHA256},
		SigningKey:         acme().key,
		SigningCertificate: acme().cert,
		Recipients:         []*x509.Certificate{northwind().cert},
		Verify:             []*x509.Certificate{northwind().cert},
	}
}

// fromAcme is how northwind receives from acme.
func fromAcme() Agreement {
	return Agreement{
		From: "NORTHWIND", To: "ACME-AS2",
		Receive:            Receive{Signed: true, Encrypted: true},
		SigningKey:         northwind().key,
		SigningCertificate: northwind().cert,
		Verify:             []*x509.Certificate{acme().cert},
		Decrypt:            []smime.Recipient{{Certificate: northwind().cert, Key: northwind().key.(crypto.Decrypter)}},
	}
}

func orderDocument(content []byte) Document {
	return Document{
		MessageID: "<order-20931@edi.acme.example>", ContentType: "application/edi-x12", FileName: "order.edi",
		Reference: "20931", Size: int64(len(content)), Token: "tok-1", Date: testNow,
	}
}

// mustBuild builds a message and returns its wire bytes.
func mustBuild(t *testing.T, a Agreement, content []byte) (Rendition, []byte) {
	t.Helper()
	var wire bytes.Buffer
	r, err := Build(&wire, a, orderDocument(content), bytes.NewReader(content), testNow, nil)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return r, wire.Bytes()
}

// wireRequest is the request that Send would make of a build.
func wireRequest(t *testing.T, r Rendition, wire []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://as2.northwind.example/as2", bytes.NewReader(wire))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Headers {
		req.Header.Add(f.Name, f.Value)
	}
	return req
}

func readKey(t *testing.T, name string) *rsa.PrivateKey {
	t.Helper()
	block := testfixture.PEM(t, name)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key
		}
		t.Fatal(err)
	}
	return key.(*rsa.PrivateKey)
}

func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// contents are documents that careless MIME code changes.
func contents() map[string][]byte {
	binary := make([]byte, 200_000)
	for i := range binary {
		binary[i] = byte(i * 7)
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

func ExampleDisposition() {
	d, _ := ParseDisposition("automatic-action/MDN-sent-automatically;processed/Error:decryption-failed")
	fmt.Println(d.State(), d.Positive())
	// Output: processed/error: decryption-failed false
}
