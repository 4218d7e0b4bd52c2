package smime

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/gcm"
)

// mixed are recipients of every kind.
func mixed() []party { return []party{partner(), p256(), gateway(), p521(), p384()} }

func TestSeveralRecipients(t *testing.T) {
	t.Parallel()
	content := payload(chunk + 77)
	var to []*x509.Certificate
	for _, p := range mixed() {
		to = append(to, p.cert)
	}
	for _, c := range allCiphers {
		for _, keyID := range []bool{false, true} {
			for _, transport := range []KeyTransport{{}, {OAEP: true, Hash: crypto.SHA256}} {
				t.Run(fmt.Sprintf("%s %v %v", c, keyID, transport), func(t *testing.T) {
					t.Parallel()
					o := EncryptOptions{Cipher: c, Recipients: to, KeyID: keyID, Transport: transport}
					message := encryptWith(t, content, o)
					size, err := EncryptedSize(int64(len(content)), o)
					if err != nil || size != int64(len(message)) {
						t.Errorf("%d bytes, announced %d, %v", len(message), size, err)
					}
					for _, p := range mixed() {
						got, err := decrypt(message, stranger().recipient(), p.recipient())
						if err != nil || !bytes.Equal(got, content) {
							t.Errorf("%s: got %d bytes, %v", p.cert.Subject, len(got), err)
						}
					}
				})
			}
		}
	}
}

// RFC 5652 §6.1 for EnvelopedData, RFC 5083 §2.1 for AuthEnvelopedData.
func TestVersionNumbers(t *testing.T) {
	t.Parallel()
	rsaOnly, both := partner().pins(), append(p256().pins(), partner().cert) // [1] stands behind SEQUENCE
	for _, tt := range []struct {
		cipher Cipher
		to     []*x509.Certificate
		keyID  bool
		want   byte
	}{
		{AES128CBC, rsaOnly, false, 0}, {AES128CBC, rsaOnly, true, 2}, {AES128CBC, both, false, 2}, {AES128CBC, both, true, 2},
		{AES128GCM, rsaOnly, false, 0}, {AES128GCM, rsaOnly, true, 0}, {AES128GCM, both, false, 0},
	} {
		message := encryptWith(t, nil, EncryptOptions{Cipher: tt.cipher, Recipients: tt.to, KeyID: tt.keyID})
		c := newCursor(message)
		outer := c.in(tagSequence)
		outer.oid()
		explicit := outer.in(tagExplicit0)
		data := explicit.in(tagSequence)
		version := data.bytes(tagInteger)
		set := data.in(tagSet)
		if *c.bad || len(version) != 1 || version[0] != tt.want {
			t.Errorf("%s, %d recipients, key identifier %v: version %v", tt.cipher, len(tt.to), tt.keyID, version)
		}
		var last []byte
		for len(set.rest) > 0 {
			before := set.rest
			want := byte(3) // RFC 5652 §6.2.2
			if set.peek() == tagSequence {
				want = map[bool]byte{false: 0, true: 2}[tt.keyID] // §6.2.1
			}
			info := set.in(set.peek())
			if got := info.bytes(tagInteger); len(got) != 1 || got[0] != want {
				t.Errorf("RecipientInfo of version %v, want %d", got, want)
			}
			whole := before[:len(before)-len(set.rest)]
			if bytes.Compare(last, whole) > 0 { // X.690 §11.6
				t.Error("recipients are not in the order of DER")
			}
			last = whole
		}
	}
}

func TestNotRecipientNamesEveryKind(t *testing.T) {
	t.Parallel()
	for _, c := range []Cipher{AES128CBC, AES256GCM} {
		message := encrypt(t, payload(10), c, p256().cert, partner().cert)
		byKey := encryptWith(t, nil, EncryptOptions{Cipher: c, Recipients: p384().pins(), KeyID: true})
		_, err := decrypt(message, gateway().recipient(), p521().recipient())
		var not *NotRecipientError
		if !errors.As(err, &not) || !errors.Is(err, ErrNotRecipient) {
			t.Fatalf("%s: %v", c, err)
		}
		want := &NotRecipientError{Named: not.Named, Held: []ID{CertificateID(gateway().cert), CertificateID(p521().cert)}}
		if diff := cmp.Diff(want, not); diff != "" {
			t.Error(diff)
		}
		for _, text := range []string{CertificateID(p256().cert).String(), CertificateID(partner().cert).String(), "we hold serial 10:00"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q lacks %q", err, text)
			}
		}
		_, err = decrypt(byKey, gateway().recipient())
		if want := "key " + hexText(p384().cert.SubjectKeyId); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// A recipient of ours that cannot be read does not hide one that can.
func TestTheReadableRecipientIsChosen(t *testing.T) {
	t.Parallel()
	a, _ := cipherByName(AES256GCM)
	key, iv := a.newKey()
	good := keyTransported(t, key)
	strange := bytes.Replace(good, []byte(oidRSA), []byte(oidRSAPSS), 1)
	password := tlv(tagContext0|constructed|3, []byte{tagInteger, 1, 0})
	content := payload(99)
	got, err := decrypt(authEnveloped(t, key, iv, content, nil, password, strange, good), partner().recipient())
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := decrypt(authEnveloped(t, key, iv, content, nil, strange), partner().recipient()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("only the strange one: %v", err)
	}
	if _, err := decrypt(authEnveloped(t, key, iv, content, nil, password), partner().recipient()); !errors.Is(err, ErrNotRecipient) {
		t.Errorf("only a password: %v", err)
	}
}

func TestRecipientsAreBounded(t *testing.T) {
	t.Parallel()
	a, _ := cipherByName(AES128GCM)
	key, iv := a.newKey()
	good := keyTransported(t, key)
	password := tlv(tagContext0|constructed|3, []byte{tagInteger, 1, 0})
	agreed := newCursor(encodedAgreement(t, key))
	for name, filler := range map[string][]byte{"transport": good, "passwords": password} {
		full := append(slices.Repeat([][]byte{filler}, maxRecipients-1), good)
		if _, err := decrypt(authEnveloped(t, key, iv, nil, nil, full...), partner().recipient()); err != nil {
			t.Errorf("%s, at the bound: %v", name, err)
		}
		if _, err := decrypt(authEnveloped(t, key, iv, nil, nil, append(full, filler)...), partner().recipient()); !errors.Is(err, ErrLimit) {
			t.Errorf("%s, beyond it: %v", name, err)
		}
	}
	// One KeyAgreeRecipientInfo with many keys.
	in := agreed.in(tagExplicit1)
	head := [][]byte{in.raw(tagInteger), in.raw(tagExplicit0), in.raw(tagSequence)}
	keys := in.bytes(tagSequence)
	many := tlv(tagExplicit1, append(head, tlv(tagSequence, bytes.Repeat(keys, maxRecipients+1)))...)
	if _, err := decrypt(authEnveloped(t, key, iv, nil, nil, many), p256().recipient()); !errors.Is(err, ErrLimit) {
		t.Errorf("keys of one agreement: %v", err)
	}
}

func encodedAgreement(t testing.TB, key []byte) []byte {
	t.Helper()
	return agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: algorithmID(oidAES128Wrap, nil), wrapSize: 16}.encode(t, p256(), key)
}

// One changed byte never gives other content where content is authenticated. In
// whatever form, where the key or the content is, it never gives the right one.
func TestOneChangedByte(t *testing.T) {
	t.Parallel()
	content := payload(100)
	key, iv := make([]byte, 16), make([]byte, gcm.NonceSize)
	attributes := [][]byte{attribute(oidAttrContentType, tlv(tagOID, []byte(oidData)))}
	oaep := KeyTransport{OAEP: true, Hash: crypto.SHA256}
	with := func(c Cipher, to party, transport KeyTransport, keyID bool) []byte {
		return encryptWith(t, content, EncryptOptions{Cipher: c, Recipients: to.pins(), Transport: transport, KeyID: keyID})
	}
	for name, tt := range map[string]struct {
		to            party
		message       []byte
		authenticated bool
	}{
		"GCM, PKCS #1":        {partner(), with(AES128GCM, partner(), KeyTransport{}, false), true},
		"GCM, OAEP":           {partner(), with(AES256GCM, partner(), oaep, false), true},
		"GCM, key identifier": {partner(), with(AES192GCM, partner(), KeyTransport{}, true), true},
		"GCM, P-256":          {p256(), with(AES128GCM, p256(), KeyTransport{}, false), true},
		"GCM, P-384":          {p384(), with(AES128GCM, p384(), KeyTransport{}, true), true},
		"GCM, P-521":          {p521(), with(AES256GCM, p521(), KeyTransport{}, false), true},
		"GCM, attributes":     {p256(), authEnveloped(t, key, iv, content, attributes, encodedAgreement(t, key)), true},
		"CBC, PKCS #1":        {partner(), with(AES256CBC, partner(), KeyTransport{}, false), false},
		"CBC, P-256":          {p256(), with(AES128CBC, p256(), KeyTransport{}, true), false},
		"3DES, OAEP":          {partner(), with(TripleDES, partner(), oaep, false), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipients, _, encrypted := parts(t, tt.message)
			end := bytes.Index(tt.message, recipients) + len(recipients)
			start := bytes.Index(tt.message, encrypted)
			for i := range tt.message {
				changed := bytes.Clone(tt.message)
				changed[i] ^= 1 << (i % 8)
				got, err := decrypt(changed, tt.to.recipient())
				right := err == nil && bytes.Equal(got, content)
				switch {
				case err != nil && !known(err):
					t.Fatalf("byte %d: error of no kind: %v", i, err)
				case err != nil && len(got) > 0:
					t.Fatalf("byte %d: content and %v", i, err)
				case err == nil && !right && tt.authenticated:
					t.Fatalf("byte %d of %d: other content", i, len(changed))
				case right && (i >= start || i >= end-24 && i < end):
					t.Fatalf("byte %d of %d: decrypted", i, len(changed))
				}
			}
		})
	}
}
