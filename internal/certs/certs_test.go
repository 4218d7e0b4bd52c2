package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var curveNames = []string{"brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1"}

// What openssl makes on each curve is read, and signatures go both ways.
func TestOpenSSL(t *testing.T) {
	t.Parallel()
	for _, curve := range curveNames {
		t.Run(curve, func(t *testing.T) {
			t.Parallel()
			o := newOpenSSL(t)
			o.run("ecparam -name " + curve + " -genkey -noout -out sec1.pem")
			o.run("pkcs8 -topk8 -nocrypt -in sec1.pem -out pkcs8.pem")
			o.run("ec -in sec1.pem -no_public -out bare.pem")
			o.run("req -x509 -new -key sec1.pem -sha256 -days 30 -subj /O=Test/CN=northwind.example -out crt.pem")
			o.run("x509 -in crt.pem -noout -pubkey -out pub.pem")

			c := certificate(t, readPEM(t, o.path("crt.pem")))
			if !bytes.Equal(c.RawSubjectPublicKeyInfo, readPEM(t, o.path("pub.pem"))) || !bytes.Equal(c.Raw, readPEM(t, o.path("crt.pem"))) {
				t.Error("the raw parts are not those of the certificate")
			}
			if err := c.CheckSignatureFrom(c); err != nil {
				t.Errorf("its own signature: %v", err)
			}
			o.write("text", []byte("a text"))
			for _, file := range []string{"sec1.pem", "pkcs8.pem", "bare.pem"} {
				k := key(t, readPEM(t, o.path(file)))
				if !k.PublicKey.Equal(c.PublicKey) || k.Curve.Params().Name != curve {
					t.Errorf("%s: another key, on %s", file, k.Curve.Params().Name)
				}
				sum := sha256.Sum256([]byte("a text"))
				value, err := k.Sign(rand.Reader, sum[:], nil)
				if err != nil {
					t.Fatal(err)
				}
				o.write("value", value)
				o.run("dgst -sha256 -verify pub.pem -signature value text")
			}
			value := o.run("dgst -sha512 -sign sec1.pem text")
			sum := sha512.Sum512([]byte("a text"))
			if !ecdsa.VerifyASN1(c.PublicKey.(*ecdsa.PublicKey), sum[:], value) {
				t.Error("openssl's signature does not verify")
			}
			sum[0] ^= 1
			if ecdsa.VerifyASN1(c.PublicKey.(*ecdsa.PublicKey), sum[:], value) {
				t.Error("openssl's signature verifies over another text")
			}
		})
	}
}

// The standard library builds chains with what comes from here.
func TestChain(t *testing.T) {
	t.Parallel()
	ca, leaf := certificate(t, readPEM(t, "testdata", "ca.crt.pem")), certificate(t, readPEM(t, "testdata", "leaf.crt.pem"))
	roots, strangers := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(ca)
	strangers.AddCert(ordinary(t, generated(t, elliptic.P256())))
	at := leaf.NotBefore.Add(time.Hour)
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: usage}); err != nil {
		t.Errorf("below its authority: %v", err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: strangers, CurrentTime: at, KeyUsages: usage}); err == nil {
		t.Error("below an authority that did not issue it")
	}
	changed := bytes.Clone(leaf.Raw)
	changed[bytes.Index(changed, []byte("northwind.example"))] ^= 1
	if err := certificate(t, changed).CheckSignatureFrom(ca); err == nil {
		t.Error("a changed certificate has the signature of its authority")
	}
}

// Field by field, a certificate is what crypto/x509 makes of one that differs
// in the curve only.
func TestFields(t *testing.T) {
	t.Parallel()
	leaf := certificate(t, readPEM(t, "testdata", "leaf.crt.pem"))
	if got := leaf.Subject.String() + " from " + leaf.Issuer.String(); got !=
		"CN=brainpool.northwind.example,O=Test material from CN=Northwind test authority,O=Test material" {
		t.Errorf("names: %s", got)
	}
	if leaf.SerialNumber.Int64() != 0x4f22 || len(leaf.SubjectKeyId) != 20 || leaf.KeyUsage != x509.KeyUsageDigitalSignature ||
		leaf.PublicKeyAlgorithm != x509.ECDSA || leaf.SignatureAlgorithm != x509.ECDSAWithSHA256 {
		t.Errorf("serial %v, key identifier %x, usage %v, %v, %v", leaf.SerialNumber, leaf.SubjectKeyId, leaf.KeyUsage, leaf.PublicKeyAlgorithm, leaf.SignatureAlgorithm)
	}
	if leaf.PublicKey.(*ecdsa.PublicKey).Curve != BrainpoolP256r1() {
		t.Error("the curve is not the one of this package")
	}
	if bytes.Contains(leaf.Raw, []byte{0x86, 0x48, 0xce, 0x3d, 2, 127}) {
		t.Error("the masked identifier is left in the raw bytes")
	}
	if !leaf.Equal(certificate(t, leaf.Raw)) {
		t.Error("not equal to itself")
	}
}

// What crypto/x509 reads comes out as crypto/x509 gives it.
func TestOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	bits2048, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ec := generated(t, elliptic.P256())
	for _, made := range []crypto.Signer{ec, bits2048} {
		want := ordinary(t, made)
		if diff := cmp.Diff(want.PublicKey, certificate(t, want.Raw).PublicKey); diff != "" {
			t.Error(diff)
		}
		der, err := MarshalPrivateKey(made)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParsePrivateKey(der)
		if err != nil {
			t.Fatal(err)
		}
		if !made.(interface{ Equal(crypto.PrivateKey) bool }).Equal(got) {
			t.Errorf("%T comes out as another", made)
		}
	}
	der, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	if got := key(t, der); !ec.Equal(got) {
		t.Error("SEC 1 of P-256 gives another key")
	}
	_, want := x509.ParseCertificate([]byte("no certificate"))
	if _, err := ParseCertificate([]byte("no certificate")); err == nil || err.Error() != want.Error() {
		t.Errorf("got %v, crypto/x509 says %v", err, want)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	leaf, secret := readPEM(t, "testdata", "leaf.crt.pem"), readPEM(t, "testdata", "leaf.key.pem")
	other := readPEM(t, "testdata", "ca.key.pem")
	inner, err := readSEC1(pkcs8Inner(t, secret))
	if err != nil {
		t.Fatal(err)
	}
	encoded, d := inner.Public.Bytes[1:], inner.Scalar
	replace := func(in, old, new []byte) []byte {
		if !bytes.Contains(in, old) {
			t.Fatalf("%x is not in it", old)
		}
		return bytes.Replace(in, old, new, 1)
	}
	offCurve := bytes.Clone(encoded)
	offCurve[63] ^= 1
	n := BrainpoolP256r1().Params().N.Bytes()
	p256, err := asn1.Marshal(sec1Key{Version: 1, Scalar: d, Curve: asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		parse func([]byte) error
		der   []byte
		want  string
	}{
		"certificate, not on the curve":   {parseCert, replace(leaf, encoded, offCurve), "no point of its Brainpool curve"},
		"certificate, coordinate above p": {parseCert, replace(leaf, encoded[:32], bytes.Repeat([]byte{0xff}, 32)), "no point"},
		"certificate, compressed":         {parseCert, replace(leaf, append([]byte{0, 4}, encoded[:4]...), append([]byte{0, 2}, encoded[:4]...)), "no point"},
		"certificate, cut off":            {parseCert, leaf[:len(leaf)-1], ""},
		"certificate, bytes behind it":    {parseCert, append(bytes.Clone(leaf), 0), ""},
		"certificate, too long":           {parseCert, make([]byte, maxSize+1), "are not read"},
		"key, zero":                       {parseKey, replace(secret, d, make([]byte, 32)), "out of the range"},
		"key, the order":                  {parseKey, replace(secret, d, n), "out of the range"},
		"key, another public key":         {parseKey, replace(secret, encoded[:4], []byte{1, 2, 3, 4}), "public key beside the private key is another"},
		"key, cut off":                    {parseKey, secret[:len(secret)-1], ""},
		"key, too long":                   {parseKey, make([]byte, maxSize+1), "are not read"},
		"key, two curves":                 {parseKey, twoCurves(t, p256), "two different curves"},
		"key, nothing":                    {parseKey, nil, "not a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.parse(c.der); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if parseKey(other) != nil {
		t.Error("the key beside it is not good either")
	}
}

func parseCert(der []byte) error { _, err := ParseCertificate(der); return err }
func parseKey(der []byte) error  { _, err := ParsePrivateKey(der); return err }

func pkcs8Inner(t *testing.T, der []byte) []byte {
	t.Helper()
	_, inner, ok := pkcs8Brainpool(der)
	if !ok {
		t.Fatal("not PKCS #8 on a Brainpool curve")
	}
	return inner
}

// twoCurves puts a key of P-256 into PKCS #8 for brainpoolP256r1.
func twoCurves(t *testing.T, inner []byte) []byte {
	t.Helper()
	type algorithm struct{ Kind, Curve asn1.ObjectIdentifier }
	oid, _ := BrainpoolOID(BrainpoolP256r1())
	der, err := asn1.Marshal(struct {
		Version   int
		Algorithm algorithm
		Key       []byte
	}{0, algorithm{oidPublicKeyEC, oid}, inner})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Curves that are spelled out could be anything (CVE-2020-0601).
func TestExplicitParametersAreRefused(t *testing.T) {
	t.Parallel()
	o := newOpenSSL(t)
	o.run("ecparam -name brainpoolP256r1 -param_enc explicit -genkey -noout -out key.pem")
	o.run("req -x509 -new -key key.pem -sha256 -days 30 -subj /CN=northwind.example -out crt.pem")
	if err := parseCert(readPEM(t, o.path("crt.pem"))); err == nil {
		t.Error("a certificate with explicit parameters is read")
	}
	if err := parseKey(readPEM(t, o.path("key.pem"))); err == nil {
		t.Error("a key with explicit parameters is read")
	}
}

// Every changed byte gives an error, or a certificate that its authority did not sign.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	ca, leaf := certificate(t, readPEM(t, "testdata", "ca.crt.pem")), readPEM(t, "testdata", "leaf.crt.pem")
	tbs := certificate(t, leaf).RawTBSCertificate
	from := bytes.Index(leaf, tbs)
	for i := from; i < from+len(tbs); i++ {
		changed := bytes.Clone(leaf)
		changed[i] ^= 0x20
		c, err := ParseCertificate(changed)
		if err != nil {
			continue
		}
		if !bytes.Equal(c.Raw, changed) {
			t.Errorf("byte %d: the raw bytes are others", i)
		}
		if err := c.CheckSignatureFrom(ca); err == nil {
			t.Errorf("byte %d of what is signed does not matter", i)
		}
	}
}
