package smime

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var allHashes = []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512}

// allTransports are PKCS #1 v1.5 and every pair of hashes of RSAES-OAEP.
func allTransports() []KeyTransport {
	transports := []KeyTransport{{}, {OAEP: true}, {OAEP: true, Hash: crypto.SHA384}}
	for _, h := range allHashes {
		for _, m := range allHashes {
			transports = append(transports, KeyTransport{OAEP: true, Hash: h, MGF: m})
		}
	}
	return transports
}

func TestEveryKeyTransport(t *testing.T) {
	t.Parallel()
	content := payload(1000)
	for _, transport := range allTransports() {
		t.Run(fmt.Sprint(transport), func(t *testing.T) {
			t.Parallel()
			o := EncryptOptions{Cipher: AES256CBC, Recipients: partner().pins(), Transport: transport}
			message := encryptWith(t, content, o)
			size, err := EncryptedSize(int64(len(content)), o)
			if err != nil || size != int64(len(message)) {
				t.Errorf("%d bytes, announced %d, %v", len(message), size, err)
			}
			key := &noticingKey{Decrypter: partner().recipient().Key}
			got, err := decrypt(message, Recipient{Certificate: partner().cert, Key: key})
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if !transport.OAEP {
				if _, ok := key.seen.(*rsa.OAEPOptions); ok {
					t.Errorf("decrypted with %T", key.seen)
				}
				return
			}
			want, err := transport.oaep()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(crypto.DecrypterOpts(want), key.seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// noticingKey remembers how it was asked to decrypt.
type noticingKey struct {
	crypto.Decrypter
	seen crypto.DecrypterOpts
}

func (k *noticingKey) Decrypt(random io.Reader, message []byte, o crypto.DecrypterOpts) ([]byte, error) {
	k.seen = o
	return k.Decrypter.Decrypt(random, message, o)
}

func TestOAEPParametersOfDefaultsAreLeftOut(t *testing.T) {
	t.Parallel()
	sha256ID := "300d06096086480165030402010500"
	for _, tt := range []struct {
		hash, mask crypto.Hash
		want       string
	}{
		{crypto.SHA1, crypto.SHA1, "3000"},
		{crypto.SHA256, crypto.SHA1, "3011a00f" + sha256ID},
		{crypto.SHA1, crypto.SHA256, "301ea11c301a06092a864886f70d010108" + sha256ID},
		{crypto.SHA256, crypto.SHA256, "302fa00f" + sha256ID + "a11c301a06092a864886f70d010108" + sha256ID},
	} {
		der := encodeOAEP(&rsa.OAEPOptions{Hash: tt.hash, MGFHash: tt.mask})
		if want := unhex(t, tt.want); !bytes.Equal(der, want) {
			t.Errorf("%v, %v: %x, want %x", tt.hash, tt.mask, der, want)
		}
	}
}

func TestReadOAEPParameters(t *testing.T) {
	t.Parallel()
	sha256ID := algorithmID(oidSHA256, nil) // without NULL, as RFC 5754 allows
	hash := tlv(tagExplicit0, sha256ID)
	mask := tlv(tagExplicit1, algorithmID(oidMGF1, sha256ID))
	label := func(b []byte) []byte {
		return tlv(tagExplicit2, algorithmID(oidPSpecified, tlv(tagOctets, b)))
	}
	for _, tt := range []struct {
		name       string
		params     []byte
		hash, mask crypto.Hash
		want       error
	}{
		{"absent", nil, crypto.SHA1, crypto.SHA1, nil},
		{"empty", tlv(tagSequence), crypto.SHA1, crypto.SHA1, nil},
		{"hash only", tlv(tagSequence, hash), crypto.SHA256, crypto.SHA1, nil},
		{"mask only", tlv(tagSequence, mask), crypto.SHA1, crypto.SHA256, nil},
		{"both", tlv(tagSequence, hash, mask), crypto.SHA256, crypto.SHA256, nil},
		{"empty label stated", tlv(tagSequence, hash, mask, label(nil)), crypto.SHA256, crypto.SHA256, nil},
		{"defaults stated", tlv(tagSequence, tlv(tagExplicit0, hashID(crypto.SHA1)), tlv(tagExplicit1, algorithmID(oidMGF1, hashID(crypto.SHA1))), label(nil)), crypto.SHA1, crypto.SHA1, nil},
		{"a label", tlv(tagSequence, hash, mask, label([]byte("as2"))), 0, 0, ErrUnsupported},
		{"another source of labels", tlv(tagSequence, tlv(tagExplicit2, algorithmID(oidMGF1, tlv(tagOctets)))), 0, 0, ErrUnsupported},
		{"another hash", tlv(tagSequence, tlv(tagExplicit0, algorithmID(oidRSA, nil))), 0, 0, ErrUnsupported},
		{"another mask", tlv(tagSequence, tlv(tagExplicit1, algorithmID(oidRSA, sha256ID))), 0, 0, ErrUnsupported},
		{"another hash of the mask", tlv(tagSequence, tlv(tagExplicit1, algorithmID(oidMGF1, algorithmID(oidRSA, nil)))), 0, 0, ErrUnsupported},
		{"mask without a hash", tlv(tagSequence, tlv(tagExplicit1, algorithmID(oidMGF1, nil))), 0, 0, ErrMalformed},
		{"wrong order", tlv(tagSequence, mask, hash), 0, 0, ErrMalformed},
		{"more behind", tlv(tagSequence, hash, mask, label(nil), derNull), 0, 0, ErrMalformed},
		{"NULL", derNull, 0, 0, ErrMalformed},
	} {
		o, err := readOAEP(tt.params)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		} else if err == nil && (o.Hash != tt.hash || o.MGFHash != tt.mask || len(o.Label) > 0) {
			t.Errorf("%s: got %v", tt.name, o)
		}
	}
}

func TestTransportThatCannotBe(t *testing.T) {
	t.Parallel()
	short := func() party {
		key, err := rsa.GenerateKey(rand.Reader, 1024) // 128 bytes: OAEP with SHA-512 needs 162
		if err != nil {
			t.Fatal(err)
		}
		return newParty("short.northwind.example", 0x1024, key)
	}()
	for name, o := range map[string]EncryptOptions{
		"key too short": {Cipher: AES256CBC, Recipients: short.pins(), Transport: KeyTransport{OAEP: true, Hash: crypto.SHA512}},
		"hash":          {Cipher: AES256CBC, Recipients: partner().pins(), Transport: KeyTransport{OAEP: true, Hash: crypto.MD5}},
		"mask":          {Cipher: AES256CBC, Recipients: partner().pins(), Transport: KeyTransport{OAEP: true, MGF: crypto.SHA3_256}},
	} {
		if _, err := NewEncrypter(io.Discard, 1, o); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := EncryptedSize(1, o); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: size: %v", name, err)
		}
	}
	ok := EncryptOptions{Cipher: AES256CBC, Recipients: short.pins(), Transport: KeyTransport{OAEP: true, Hash: crypto.SHA256}}
	if got, err := decrypt(encryptWith(t, payload(9), ok), short.recipient()); err != nil || !bytes.Equal(got, payload(9)) {
		t.Errorf("1,024 bits, SHA-256: %v", err)
	}
	// A key that is not there is a fact of our own, not of the message.
	_, err := decrypt(encrypt(t, nil, AES128CBC, partner().cert), Recipient{Certificate: partner().cert})
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "4F:22") {
		t.Errorf("no key: %v", err)
	}
}
