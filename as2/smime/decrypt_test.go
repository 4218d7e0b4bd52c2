package smime

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/gcm"
)

var (
	cbcCiphers = []Cipher{TripleDES, AES128CBC, AES192CBC, AES256CBC}
	gcmCiphers = []Cipher{AES128GCM, AES192GCM, AES256GCM}
	allCiphers = slices.Concat(cbcCiphers, gcmCiphers)
)

func TestEncryptRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range allCiphers {
		for _, size := range []int{0, 1, 7, 8, 15, 16, 17, 127, 128, 255, 256, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
			t.Run(fmt.Sprintf("%s %d", c, size), func(t *testing.T) {
				t.Parallel()
				content := payload(size)
				to := []*x509.Certificate{partner().cert, gateway().cert}
				message := encrypt(t, content, c, to...)
				announced, err := EncryptedSize(int64(size), EncryptOptions{Cipher: c, Recipients: to})
				if err != nil || announced != int64(len(message)) {
					t.Errorf("%d bytes, announced %d, %v", len(message), announced, err)
				}
				for _, r := range []party{partner(), gateway()} {
					got, err := decrypt(message, r.recipient())
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("%s: got %d bytes, %v", r.cert.Subject, len(got), err)
					}
				}
			})
		}
	}
}

// Sizes that cannot be tried out are computed alike.
func TestEncryptedSizeOfGiants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cipher Cipher
		size   int64
		good   bool
	}{
		{AES256CBC, 1<<32 - 1, true}, {AES256CBC, 1 << 40, true}, {AES256CBC, -1, false}, {AES256CBC, 1<<62 + 1, false},
		{AES256GCM, 1<<32 - 1, true}, {AES256GCM, 1<<36 - 32, true}, {AES256GCM, -1, false}, {AES256GCM, 1<<36 - 31, false},
	} {
		n, err := EncryptedSize(tt.size, EncryptOptions{Cipher: tt.cipher, Recipients: partner().pins()})
		if over := n - tt.size; tt.good && (err != nil || over < 300 || over > 600) || !tt.good && err == nil {
			t.Errorf("%s: %d bytes over %d, %v", tt.cipher, over, tt.size, err)
		}
	}
}

func TestWritePattern(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	content := payload(5*chunk + 1234)
	for i := range 20 {
		var out bytes.Buffer
		w, err := NewEncrypter(&out, int64(len(content)), EncryptOptions{Cipher: []Cipher{AES128CBC, AES256GCM}[i%2], Recipients: partner().pins()})
		if err != nil {
			t.Fatal(err)
		}
		for rest := content; len(rest) > 0; {
			n := min(len(rest), rng.IntN(2*chunk))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		d, err := NewDecrypter(iotest.HalfReader(&out), []Recipient{partner().recipient()}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(d, content); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEncrypterHoldsTheAnnouncedLength(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 9, 11} {
		w, err := NewEncrypter(io.Discard, 10, EncryptOptions{Cipher: AES128CBC, Recipients: partner().pins()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(payload(size))
		if size > 10 != (err != nil) {
			t.Errorf("write of %d: %v", size, err)
		}
		if err := w.Close(); err == nil {
			t.Errorf("closed after %d of 10 bytes", size)
		}
	}
	broken := errors.New("pipe closed")
	if _, err := NewEncrypter(failingWriter{broken}, 10, EncryptOptions{Cipher: AES128CBC, Recipients: partner().pins()}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestEncryptRefuses(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cipher Cipher
		to     []*x509.Certificate
		want   error
	}{
		"CCM":         {"aes256-ccm", partner().pins(), ErrUnsupported},
		"Ed25519 key": {AES256CBC, newParty("ed25519.northwind.example", 0x25519, key).pins(), ErrUnsupported},
		"P-224 key":   {AES256CBC, newECDSA("p224.northwind.example", 0x224, elliptic.P224()).pins(), ErrUnsupported},
		"no partner":  {AES256CBC, nil, nil},
	} {
		_, err := NewEncrypter(io.Discard, 1, EncryptOptions{Cipher: c.cipher, Recipients: c.to})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := EncryptedSize(1, EncryptOptions{Cipher: c.cipher, Recipients: c.to}); err == nil {
			t.Errorf("%s: has a size", name)
		}
	}
}

func TestNotRecipient(t *testing.T) {
	t.Parallel()
	message := encrypt(t, payload(10), AES128CBC, partner().cert)
	_, err := decrypt(message, gateway().recipient(), stranger().recipient())
	var not *NotRecipientError
	if !errors.Is(err, ErrNotRecipient) || !errors.As(err, &not) {
		t.Fatalf("got %v", err)
	}
	want := &NotRecipientError{
		Named: []ID{CertificateID(partner().cert)},
		Held:  []ID{CertificateID(gateway().cert), CertificateID(stranger().cert)},
	}
	if diff := cmp.Diff(want, not); diff != "" {
		t.Error(diff)
	}
	if text := err.Error(); !strings.Contains(text, "4F:22") || !strings.Contains(text, "10:00") {
		t.Error(text)
	}
}

func TestDecryptionTellsWhatItUsed(t *testing.T) {
	t.Parallel()
	d, err := NewDecrypter(bytes.NewReader(encrypt(t, nil, AES192CBC, gateway().cert)),
		[]Recipient{partner().recipient(), gateway().recipient()}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Cipher() != AES192CBC || d.Recipient().Certificate != gateway().cert {
		t.Errorf("%s, %s", d.Cipher(), CertificateID(d.Recipient().Certificate))
	}
}

// failsToDecrypt wants ErrDecrypt itself and nothing more. A wrong key has one
// chance in 256 to give content that looks padded, but never the right one.
func failsToDecrypt(t *testing.T, what string, message, content []byte, r Recipient) {
	t.Helper()
	got, err := decrypt(message, r)
	switch {
	case err != nil && !errors.Is(err, ErrDecrypt):
		t.Errorf("%s: %v", what, err)
	case err == nil && bytes.Equal(got, content):
		t.Errorf("%s: decrypted", what)
	}
}

// deafKey is a key store that answers with errors of its own.
type deafKey struct{ crypto.Decrypter }

func (deafKey) Decrypt(io.Reader, []byte, crypto.DecrypterOpts) ([]byte, error) {
	return nil, errors.New("CKR_ENCRYPTED_DATA_INVALID")
}

// opaqueKey hides that a key is an *rsa.PrivateKey.
type opaqueKey struct{ crypto.Decrypter }

func TestOneAnswerToEveryDecryptionFailure(t *testing.T) {
	t.Parallel()
	content := payload(200)
	for _, c := range allCiphers {
		message := encrypt(t, content, c, partner().cert)
		if got, err := decrypt(message, Recipient{Certificate: partner().cert, Key: opaqueKey{partner().recipient().Key}}); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: opaque key: %v", c, err)
		}
		failsToDecrypt(t, "key of another", message, content, Recipient{Certificate: partner().cert, Key: stranger().recipient().Key})
		failsToDecrypt(t, "key store says no", message, content, Recipient{Certificate: partner().cert, Key: deafKey{}})

		changed := bytes.Clone(message)
		changed[bytes.Index(message, algorithmID(oidRSA, derNull))+30] ^= 1
		failsToDecrypt(t, "wrapped key changed", changed, content, partner().recipient())

		// The last padding byte becomes one that no block has, or the tag another.
		changed = bytes.Clone(message)
		a, _ := cipherByName(c)
		if a.gcm {
			changed[len(changed)-1] ^= 0x80
		} else {
			changed[len(changed)-a.blockSize-1] ^= 0x80
		}
		if _, err := decrypt(changed, partner().recipient()); !errors.Is(err, ErrDecrypt) {
			t.Errorf("%s: bad end: %v", c, err)
		}
	}
}

func TestEveryPaddingIsJudged(t *testing.T) {
	t.Parallel()
	for _, size := range []int{8, 16} {
		for pad := range 256 {
			for wrong := range size {
				block := bytes.Repeat([]byte{0xee}, size)
				for i := range min(pad, size) {
					block[size-1-i] = byte(pad)
				}
				block[size-1] = byte(pad)
				want := pad >= 1 && pad <= size
				if wrong > 0 {
					block[size-1-wrong] ^= 0x10
					want = want && wrong >= pad
				}
				if _, good := padding(block); good != want {
					t.Fatalf("block %x: %v", block, good)
				}
			}
		}
	}
}

// enveloped builds EnvelopedData around encrypted content as given.
func enveloped(t testing.TB, recipients, encrypted []byte) []byte {
	t.Helper()
	return indefiniteLength(tagSequence, tlv(tagOID, []byte(oidEnvelopedData)), indefiniteLength(tagExplicit0,
		indefiniteLength(tagSequence, []byte{tagInteger, 1, 0}, recipients,
			indefiniteLength(tagSequence, tlv(tagOID, []byte(oidData)), encrypted))))
}

// parts takes our own message apart for enveloped.
func parts(t testing.TB, message []byte) (recipients, algorithm, ciphertext []byte) {
	t.Helper()
	c := newCursor(message)
	outer := c.in(tagSequence)
	outer.oid()
	explicit := outer.in(tagExplicit0)
	data := explicit.in(tagSequence)
	data.raw(tagInteger)
	recipients = data.raw(tagSet)
	in := data.in(tagSequence)
	in.oid()
	algorithm, ciphertext = in.raw(tagSequence), in.bytes(tagContext0)
	if *c.bad {
		t.Fatal("not our message")
	}
	return recipients, algorithm, ciphertext
}

func TestRow69EncryptedContentInPieces(t *testing.T) {
	t.Parallel()
	content := payload(1000)
	recipients, alg, ct := parts(t, encrypt(t, content, AES128CBC, partner().cert))
	piece := func(b []byte) []byte { return tlv(tagOctets, b) }
	nested := func(levels int) []byte {
		b := piece(ct)
		for range levels {
			b = indefiniteLength(tagOctets|constructed, b)
		}
		return b
	}
	for _, tt := range []struct {
		name string
		body []byte
		want error
	}{
		{"primitive", tlv(tagContext0, ct), nil},
		{"pieces, definite", tlv(tagExplicit0, piece(ct[:3]), piece(nil), piece(ct[3:700]), piece(ct[700:])), nil},
		{"pieces, indefinite", indefiniteLength(tagExplicit0, piece(ct[:999]), piece(ct[999:])), nil},
		{"pieces of pieces", indefiniteLength(tagExplicit0, tlv(tagOctets|constructed, piece(ct[:5]), piece(ct[5:9])), piece(ct[9:])), nil},
		{"nested within the limit", indefiniteLength(tagExplicit0, nested(20)), nil},
		{"nested beyond it", indefiniteLength(tagExplicit0, nested(200)), ErrNesting},
		{"unprotected attributes behind", append(tlv(tagContext0, ct), tlv(tagExplicit1, derNull)...), nil},
		{"another type inside", indefiniteLength(tagExplicit0, tlv(tagInteger, ct)), ErrMalformed},
		{"not whole blocks", tlv(tagContext0, ct[:len(ct)-1]), ErrDecrypt},
		{"no bytes", tlv(tagContext0), ErrDecrypt},
		{"nothing", nil, ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decrypt(enveloped(t, recipients, append(bytes.Clone(alg), tt.body...)), partner().recipient())
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil && !bytes.Equal(got, content) {
				t.Error("decrypts to something else")
			}
		})
	}
}

func TestTruncatedMessageIsMalformed(t *testing.T) {
	t.Parallel()
	message := encrypt(t, payload(100), AES128CBC, partner().cert)
	for i := range message {
		if _, err := decrypt(message[:i], partner().recipient()); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d of %d: %v", i, len(message), err)
		}
	}
	lost := errors.New("connection reset")
	d, err := NewDecrypter(io.MultiReader(bytes.NewReader(message[:len(message)-1]), iotest.ErrReader(lost)),
		[]Recipient{partner().recipient()}, Limits{})
	if err == nil {
		_, err = io.ReadAll(d)
	}
	if !errors.Is(err, lost) || errors.Is(err, ErrMalformed) {
		t.Errorf("lost connection: %v", err)
	}
}

func TestUnsupportedIsNamed(t *testing.T) {
	t.Parallel()
	recipients, _, ct := parts(t, encrypt(t, nil, AES128CBC, partner().cert))
	for oid, name := range map[string]string{
		oidRC2CBC: "RC2-CBC (1.2.840.113549.3.2)", oidDESCBC: "DES-CBC (1.3.14.3.2.7)", oidAES256CCM: "AES-256-CCM",
	} {
		_, err := decrypt(enveloped(t, recipients, append(algorithmID(oid, derNull), tlv(tagContext0, ct)...)), partner().recipient())
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cbc := append(algorithmID(oidAES128CBC, tlv(tagOctets, make([]byte, 16))), tlv(tagContext0, ct)...)
	kem := bytes.ReplaceAll(recipients, []byte(oidRSA), []byte(oidRSAPSS))
	if _, err := decrypt(enveloped(t, kem, cbc), partner().recipient()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("key transport: %v", err)
	}
	key := make([]byte, 16)
	authenticated := authEnveloped(t, key, make([]byte, gcm.NonceSize), nil, nil, keyTransported(t, key))
	authenticated = bytes.Replace(authenticated, []byte(oidAES128GCM), []byte(oidAES128CBC), 1)
	if _, err := decrypt(authenticated, partner().recipient()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("CBC inside AuthEnvelopedData: %v", err)
	}
}
