package p12

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
	"testing"

	"edigw/internal/testpki"
)

// tlv writes DER.
func tlv(tag byte, parts ...[]byte) []byte {
	der, err := asn1.Marshal(asn1.RawValue{Class: int(tag >> 6), Tag: int(tag & 0x1f), IsCompound: tag&0x20 != 0, Bytes: bytes.Join(parts, nil)})
	if err != nil {
		panic(err)
	}
	return der
}

func seq(parts ...[]byte) []byte { return tlv(0x30, parts...) }

// number is a small INTEGER.
func number(n int) []byte {
	der, err := asn1.Marshal(n)
	if err != nil {
		panic(err)
	}
	return der
}

func oid(text string) []byte {
	var id asn1.ObjectIdentifier
	for _, arc := range strings.Split(text, ".") {
		n := 0
		for _, c := range arc {
			n = 10*n + int(c-'0')
		}
		id = append(id, n)
	}
	der, err := asn1.Marshal(id)
	if err != nil {
		panic(err)
	}
	return der
}

func octets(b []byte) []byte { return tlv(0x04, b) }

// explicit is [0] around something.
func explicit(b []byte) []byte { return tlv(0xa0, b) }

const data = "1.2.840.113549.1.7.1"

// store is a store of parts, with what stands behind them.
func store(mac []byte, parts ...[]byte) []byte {
	return seq(number(3), seq(oid(data), explicit(octets(seq(parts...)))), mac)
}

// plain is a part that is not encrypted.
func plain(bags ...[]byte) []byte { return seq(oid(data), explicit(octets(seq(bags...)))) }

func certificate(c []byte) []byte {
	return seq(oid("1.2.840.113549.1.12.10.1.3"), explicit(seq(oid("1.2.840.113549.1.9.22.1"), explicit(octets(c)))))
}

func privateKey(der []byte) []byte { return seq(oid("1.2.840.113549.1.12.10.1.1"), explicit(der)) }

var salt = []byte("salt for a test")

// kdf is PBKDF2 with HMAC-SHA-1, the default.
func kdf(iterations int, size ...byte) []byte {
	params := [][]byte{octets(salt), number(iterations)}
	for _, n := range size {
		params = append(params, number(int(n)))
	}
	return seq(oid(oidPBKDF2), seq(params...))
}

// encrypted is what PBES2 with AES-128 makes of content: its algorithm, and that.
func encrypted(t testing.TB, content []byte, iterations int) (algorithm, out []byte) {
	t.Helper()
	key, err := pbkdf2.Key(sha1.New, password, salt, iterations, 16)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	iv := make([]byte, block.BlockSize())
	pad := block.BlockSize() - len(content)%block.BlockSize()
	out = append(bytes.Clone(content), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
	return seq(oid(oidPBES2), seq(kdf(iterations), seq(oid("2.16.840.1.101.3.4.1.2"), octets(iv)))), out
}

// sealed is a part that is encrypted.
func sealed(t testing.TB, iterations int, bags ...[]byte) []byte {
	t.Helper()
	algorithm, out := encrypted(t, seq(bags...), iterations)
	return seq(oid("1.2.840.113549.1.7.6"), explicit(seq(number(0), seq(oid(data), algorithm, tlv(0x80, out)))))
}

// shroud is a key bag that is encrypted.
func shroud(t testing.TB, der []byte, iterations int) []byte {
	t.Helper()
	algorithm, out := encrypted(t, der, iterations)
	return seq(oid("1.2.840.113549.1.12.10.1.2"), explicit(seq(algorithm, octets(out))))
}

func pair(t testing.TB) (cert, key []byte) {
	t.Helper()
	p := testpki.SelfSigned(t, testpki.RSA(t, 0), "acme.example", testpki.Valid())
	key, err := x509.MarshalPKCS8PrivateKey(p.Key.(*rsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return p.Cert.Raw, key
}

// Without a MAC one of 256 wrong passwords gives content whose padding is good
// by chance: it is the wrong password all the same.
func TestWrongPasswordWithoutMAC(t *testing.T) {
	t.Parallel()
	cert, key := pair(t)
	for name, s := range map[string][]byte{
		"certificates": store(nil, sealed(t, 1, certificate(cert))),
		"key":          store(nil, plain(shroud(t, key, 1))),
	} {
		if entries, err := Read(s, password); err != nil || len(entries) != 1 {
			t.Fatalf("%s: %d entries, %v", name, len(entries), err)
		}
		for n := range 2000 {
			if _, err := Read(s, string(number(n))); !errors.Is(err, ErrPassword) {
				t.Fatalf("%s, password %d: %v", name, n, err)
			}
		}
	}
}

// A store of a partner's whole directory is read; one beyond the bound says so.
func TestManyCertificates(t *testing.T) {
	t.Parallel()
	cert, _ := pair(t)
	bags := func(n int) [][]byte {
		all := make([][]byte, n)
		for i := range all {
			all[i] = certificate(cert)
		}
		return all
	}
	entries, err := Read(store(nil, plain(bags(5000)...)), password)
	if err != nil || len(entries) != 5000 {
		t.Errorf("5,000 certificates: %d entries, %v", len(entries), err)
	}
	small := seq(oid("1.2.3"), explicit(number(1))) // a bag of no kind that is read
	if _, err := Read(store(nil, plain(bytes.Repeat(small, maxObjects/4))), password); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "500000 objects") {
		t.Errorf("too many objects: %v", err)
	}
}

// The work that a store may ask for is bounded, by each derivation and in all.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	for _, rounds := range []int{1, 4} {
		r := reader{left: maxWork}
		for range maxWork / maxIterations / rounds {
			if err := r.allow(pbeParams{salt, maxIterations}, rounds); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.allow(pbeParams{salt, 1}, 1); !errors.Is(err, ErrUnsupported) {
			t.Errorf("one iteration more, by %d rounds: %v", rounds, err)
		}
	}
}

// What a store must not ask for, and what is not read, is told apart.
func TestRefusedStores(t *testing.T) {
	t.Parallel()
	legacy := func(iterations int) []byte {
		return seq(oid("1.2.840.113549.1.12.10.1.2"), explicit(seq(seq(oid("1.2.840.113549.1.12.1.3"), seq(octets(salt), number(iterations))), octets(make([]byte, 8)))))
	}
	for name, tc := range map[string]struct {
		store []byte
		want  error
	}{
		"2,000,001 iterations":    {store(nil, plain(legacy(maxIterations+1))), ErrUnsupported},
		"2⁶² iterations":          {store(nil, plain(legacy(1<<62), legacy(1<<62), legacy(1<<62))), ErrUnsupported},
		"no iterations":           {store(nil, plain(legacy(0))), ErrMalformed},
		"iterations below zero":   {store(nil, plain(legacy(-5))), ErrMalformed},
		"a key of 100 KB":         {store(nil, plain(privateKey(octets(make([]byte, 100<<10))))), ErrUnsupported},
		"more than 16 MiB":        {make([]byte, maxSize+1), ErrUnsupported},
		"a MAC with no key":       {store(mac(seq(oid(oidPBMAC1), seq(kdf(1), hmacID("11"))), nil), plain()), ErrMalformed},
		"a MAC with a key of 0":   {store(mac(seq(oid(oidPBMAC1), seq(kdf(1, 0), hmacID("11"))), nil), plain()), ErrMalformed},
		"a MAC of nothing":        {store(mac(seq(oid(oidPBMAC1), seq(kdf(1, 32), seq())), nil), plain()), ErrMalformed},
		"version 1":               {seq(number(1), seq(oid(data), explicit(octets(seq())))), ErrUnsupported},
		"a MAC of another type":   {store(octets(nil), plain()), ErrMalformed},
		"a signature for a MAC":   {seq(number(3), seq(oid("1.2.840.113549.1.7.2"), explicit(seq()))), ErrUnsupported},
		"content of another kind": {store(nil, seq(oid("1.2.840.113549.1.7.3"), explicit(octets(nil)))), ErrUnsupported},
	} {
		if _, err := Read(tc.store, password); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// mac is MacData.
func mac(algorithm, digest []byte) []byte {
	return seq(seq(algorithm, octets(digest)), octets(salt), number(1))
}

// hmacID is HMAC with a digest of RSADSI: "9" for SHA-256, "11" for SHA-512.
func hmacID(digest string) []byte { return seq(oid("1.2.840.113549.2."+digest), tlv(0x05)) }

// RFC 9579: PBMAC1 with each of the lengths that its key may have, which is not
// always that of the digest.
func TestPBMAC1(t *testing.T) {
	t.Parallel()
	cert, _ := pair(t)
	safe := seq(plain(certificate(cert)))
	for name, tc := range map[string]struct {
		digest string
		hash   func() hash.Hash
		size   int
	}{
		"SHA-256, 32 bytes": {"9", sha256.New, 32},
		"SHA-512, 64 bytes": {"11", sha512.New, 64},
		"SHA-512, 32 bytes": {"11", sha512.New, 32},
		"SHA-256, 20 bytes": {"9", sha256.New, 20},
	} {
		key, err := pbkdf2.Key(sha1.New, password, salt, 10, tc.size)
		if err != nil {
			t.Fatal(err)
		}
		sum := hmac.New(tc.hash, key)
		sum.Write(safe)
		algorithm := seq(oid(oidPBMAC1), seq(kdf(10, byte(tc.size)), hmacID(tc.digest)))
		s := seq(number(3), seq(oid(data), explicit(octets(safe))), mac(algorithm, sum.Sum(nil)))
		if entries, err := Read(s, password); err != nil || len(entries) != 1 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
		if _, err := Read(s, "wrong"); !errors.Is(err, ErrPassword) {
			t.Errorf("%s, wrong password: %v", name, err)
		}
	}
}

// RFC 2268 §5, those with a key of effective bits that is all of it.
func TestRC2(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ key, plain, encrypted string }{
		{"ffffffffffffffff", "ffffffffffffffff", "278b27e42e2f0d49"},
		{"3000000000000000", "1000000000000001", "30649edf9be7d2c2"},
		{"88bca90e90875a7f0f79c384627bafb2", "0000000000000000", "2269552ab0f85ca6"},
	} {
		key, _ := hex.DecodeString(tc.key)
		block, _ := hex.DecodeString(tc.encrypted)
		newRC2(key).Decrypt(block, block)
		if got := hex.EncodeToString(block); got != tc.plain {
			t.Errorf("key %s: %s, want %s", tc.key, got, tc.plain)
		}
	}
}
