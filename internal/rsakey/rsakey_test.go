package rsakey

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"testing"
)

func newKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignaturesVerify(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	w := Wrap(k)
	sum := sha256.Sum256([]byte("order"))
	got, err := w.Sign(rand.Reader, sum[:], crypto.SHA256)
	want, _ := k.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("PKCS #1 v1.5: %v, same as the standard library's: %t", err, bytes.Equal(got, want))
	}
	long := sha512.Sum512([]byte("order"))
	o := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA512}
	if got, err = w.Sign(rand.Reader, long[:], o); err != nil || rsa.VerifyPSS(&k.PublicKey, crypto.SHA512, long[:], got, o) != nil {
		t.Errorf("PSS: %v", err)
	}
	if _, err := w.Sign(rand.Reader, sum[1:], crypto.SHA256); err == nil {
		t.Error("a digest that is too short was signed")
	}
	if w.Public().(*rsa.PublicKey).N.Cmp(k.N) != 0 {
		t.Error("the public key differs")
	}
}

// TestSessionKeys holds that whatever is wrong with a wrapped key, a key of the
// right length comes out and no error.
func TestSessionKeys(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	w := Wrap(k)
	session := bytes.Repeat([]byte{7}, 32)
	wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, &k.PublicKey, session) //nolint:staticcheck // SA1019: what partners send
	if err != nil {
		t.Fatal(err)
	}
	o := &rsa.PKCS1v15DecryptOptions{SessionKeyLen: 32} //nolint:staticcheck // SA1019: what partners send
	if got, err := w.Decrypt(rand.Reader, wrapped, o); err != nil || !bytes.Equal(got, session) {
		t.Fatalf("good key: %v", err)
	}
	large := bytes.Repeat([]byte{0xff}, len(wrapped))                        // larger than the modulus
	short, _ := rsa.EncryptPKCS1v15(rand.Reader, &k.PublicKey, session[:16]) //nolint:staticcheck // SA1019: what partners send
	flipped := bytes.Clone(wrapped)
	flipped[100] ^= 1
	for name, bad := range map[string][]byte{"flipped": flipped, "short": short, "large": large, "zero": make([]byte, len(wrapped))} {
		got, err := w.Decrypt(rand.Reader, bad, o)
		if err != nil || len(got) != 32 || bytes.Equal(got, session) {
			// The standard library says so of a block that is no number below
			// the modulus; that is no secret.
			if _, theirs := k.Decrypt(rand.Reader, bad, o); theirs == nil || err == nil {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	}
}

func TestOAEPIsTheSame(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &k.PublicKey, []byte("key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Wrap(k).Decrypt(rand.Reader, wrapped, &rsa.OAEPOptions{Hash: crypto.SHA256}); err != nil || string(got) != "key" {
		t.Errorf("%q, %v", got, err)
	}
}

// BenchmarkSign is what the backend takes for a signature; compare it with
// BenchmarkSignStandard of the same minute.
func BenchmarkSign(b *testing.B) { benchmarkSign(b, Wrap(newKey(b))) }

func BenchmarkSignStandard(b *testing.B) { benchmarkSign(b, newKey(b)) }

func benchmarkSign(b *testing.B, s crypto.Signer) {
	sum := sha256.Sum256([]byte("order"))
	for b.Loop() {
		if _, err := s.Sign(rand.Reader, sum[:], crypto.SHA256); err != nil {
			b.Fatal(err)
		}
	}
}
