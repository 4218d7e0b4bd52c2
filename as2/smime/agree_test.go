package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"edigw/internal/gcm"
	"edigw/internal/keywrap"
)

var allCurves = map[string]func() party{"P-256": p256, "P-384": p384, "P-521": p521}

func TestEveryCurve(t *testing.T) {
	t.Parallel()
	content := payload(1000)
	for name, to := range allCurves {
		for _, c := range allCiphers {
			for _, keyID := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %v", name, c, keyID), func(t *testing.T) {
					t.Parallel()
					o := EncryptOptions{Cipher: c, Recipients: to().pins(), KeyID: keyID}
					message := encryptWith(t, content, o)
					size, err := EncryptedSize(int64(len(content)), o)
					if err != nil || size != int64(len(message)) {
						t.Errorf("%d bytes, announced %d, %v", len(message), size, err)
					}
					got, err := decrypt(message, stranger().recipient(), to().recipient())
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
		}
	}
}

// From NIST's validation vectors of ANSI X9.63 (CAVS 12.0), and one length more.
func TestDerivationOfX963(t *testing.T) {
	t.Parallel()
	got := deriveX963(crypto.SHA256, unhex(t, "96c05619d56c328ab95fe84b18264b08725b85e33fd34f08"), nil, 16)
	if hex.EncodeToString(got) != "443024c3dae66b95e6f5670601558f71" {
		t.Errorf("derived %x", got)
	}
	long := deriveX963(crypto.SHA1, []byte("secret"), []byte("info"), 50)
	first := sumOf(crypto.SHA1, []byte("secret\x00\x00\x00\x01info"))
	third := sumOf(crypto.SHA1, []byte("secret\x00\x00\x00\x03info"))
	if len(long) != 50 || !bytes.Equal(long[:20], first) || !bytes.Equal(long[40:], third[:10]) {
		t.Errorf("derived %x", long)
	}
}

// RFC 5753 §7.2: material of no bytes is not the same as none.
func TestSharedInfo(t *testing.T) {
	t.Parallel()
	wrap := "300b0609608648016503040105"
	for _, tt := range []struct {
		ukm  []byte
		info string
	}{
		{nil, "3015" + wrap + "a206040400000080"},
		{[]byte{}, "3019" + wrap + "a0020400a206040400000080"},
		{[]byte{1, 2}, "301b" + wrap + "a00404020102a206040400000080"},
	} {
		want := deriveX963(crypto.SHA256, []byte("secret"), unhex(t, tt.info), 16)
		if got := keyEncryptionKey(crypto.SHA256, []byte("secret"), unhex(t, wrap), tt.ukm, 16); !bytes.Equal(got, want) {
			t.Errorf("material %x: another key", tt.ukm)
		}
	}
}

// agreement builds a KeyAgreeRecipientInfo as others may.
type agreement struct {
	scheme     string
	hash       crypto.Hash
	wrap       []byte
	wrapSize   int
	ukm        []byte
	originator []byte // in place of the ephemeral key
	compressed bool
	curve      []byte // parameters of the originator's key
}

func (a agreement) encode(t testing.TB, to party, key []byte) []byte {
	t.Helper()
	pub, err := to.key.Public().(*ecdsa.PublicKey).ECDH()
	if err != nil {
		t.Fatal(err)
	}
	ephemeral, err := ecdsa.GenerateKey(to.key.Public().(*ecdsa.PublicKey).Curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ephemeral.ECDH()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.ECDH(pub)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := keywrap.Wrap(keyEncryptionKey(a.hash, secret, a.wrap, a.ukm, a.wrapSize), key)
	if err != nil {
		t.Fatal(err)
	}
	point := private.PublicKey().Bytes()
	if a.compressed {
		point = elliptic.MarshalCompressed(ephemeral.Curve, ephemeral.X, ephemeral.Y)
	}
	originator := a.originator
	if originator == nil {
		originator = tlv(tagExplicit1, algorithmID(oidECPublicKey, a.curve), tlv(tagBitString, []byte{0}, point))
	}
	var ukm []byte
	if a.ukm != nil {
		ukm = tlv(tagExplicit1, tlv(tagOctets, a.ukm))
	}
	id, err := encodeIdentity(to.cert)
	if err != nil {
		t.Fatal(err)
	}
	return tlv(tagExplicit1, []byte{tagInteger, 1, 3}, tlv(tagExplicit0, originator), ukm,
		algorithmID(a.scheme, a.wrap), tlv(tagSequence, tlv(tagSequence, id, tlv(tagOctets, wrapped))))
}

func TestReadKeyAgreement(t *testing.T) {
	t.Parallel()
	content := payload(500)
	a, err := cipherByName(AES128GCM)
	if err != nil {
		t.Fatal(err)
	}
	key, iv := a.newKey()
	wrap128, wrap256 := algorithmID(oidAES128Wrap, nil), algorithmID(oidAES256Wrap, nil)
	tests := map[string]struct {
		agreement
		want error
	}{
		"key wrap with NULL":          {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: algorithmID(oidAES128Wrap, derNull), wrapSize: 16}, nil},
		"wider key wrap":              {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap256, wrapSize: 32}, nil},
		"ukm":                         {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, ukm: payload(64)}, nil},
		"ukm of no bytes":             {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, ukm: []byte{}}, nil},
		"ukm at the limit":            {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, ukm: payload(maxKeyingMaterial)}, nil},
		"ukm beyond it":               {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, ukm: payload(maxKeyingMaterial + 1)}, ErrLimit},
		"curve named":                 {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, curve: unhex(t, "06082a8648ce3d030107")}, nil},
		"curve NULL":                  {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, curve: derNull}, nil},
		"compressed point":            {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, compressed: true}, ErrUnsupported},
		"MQV":                         {agreement{scheme: "\x2b\x81\x05\x10\x86\x48\x3f\x00\x10", hash: crypto.SHA1, wrap: wrap128, wrapSize: 16}, ErrUnsupported},
		"another key wrap":            {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: algorithmID(oid3DESWrap, derNull), wrapSize: 24}, ErrUnsupported},
		"no key wrap":                 {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: derNull, wrapSize: 16}, ErrMalformed},
		"static key of the sender":    {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, originator: tlv(tagContext0, payload(20))}, ErrUnsupported},
		"point on no curve":           {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, originator: originatorPoint(append([]byte{4}, payload(64)...))}, ErrMalformed},
		"point at infinity":           {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, originator: originatorPoint([]byte{0})}, ErrMalformed},
		"point of another curve":      {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, originator: originatorPoint(p384Point(t))}, ErrMalformed},
		"bits that are no whole byte": {agreement{scheme: oidStdDHSHA256, hash: crypto.SHA256, wrap: wrap128, wrapSize: 16, originator: tlv(tagExplicit1, algorithmID(oidECPublicKey, nil), tlv(tagBitString, []byte{3, 8}))}, ErrMalformed},
	}
	for _, s := range agreementSchemes {
		tests["scheme "+oidText(s.oid)] = struct {
			agreement
			want error
		}{agreement{scheme: s.oid, hash: s.hash, wrap: wrap128, wrapSize: 16}, nil}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := authEnveloped(t, key, iv, content, nil, tt.encode(t, p256(), key))
			got, err := decrypt(message, p256().recipient())
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil && !bytes.Equal(got, content) {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

func originatorPoint(point []byte) []byte {
	return tlv(tagExplicit1, algorithmID(oidECPublicKey, nil), tlv(tagBitString, []byte{0}, point))
}

func p384Point(t testing.TB) []byte {
	t.Helper()
	key, err := ecdh.P384().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.PublicKey().Bytes()
}

// deafAgreement is a key store that answers with errors of its own.
type deafAgreement struct{ ecdh.KeyExchanger }

func (deafAgreement) ECDH(*ecdh.PublicKey) ([]byte, error) {
	return nil, errors.New("CKR_DEVICE_ERROR")
}

func TestOneAnswerToEveryFailureOfKeyAgreement(t *testing.T) {
	t.Parallel()
	content := payload(200)
	other := newECDSA("p256.northwind.example", 0x256, elliptic.P256())
	for _, c := range allCiphers {
		message := encrypt(t, content, c, p256().cert)
		ours := p256().recipient()
		failsToDecrypt(t, "key of another", message, content, Recipient{Certificate: ours.Certificate, Agree: other.recipient().Agree})
		failsToDecrypt(t, "key store says no", message, content, Recipient{Certificate: ours.Certificate, Agree: deafAgreement{ours.Agree}})
		recipients, _, _ := parts(t, message)
		changed := bytes.Clone(message)
		changed[bytes.Index(message, recipients)+len(recipients)-1] ^= 1
		failsToDecrypt(t, "wrapped key changed", changed, content, ours)
	}
	// A key of another length shows at the end, like all others.
	key, iv := make([]byte, 16), make([]byte, gcm.NonceSize)
	message := authEnveloped(t, key, iv, content, nil, encodedAgreement(t, make([]byte, 40)))
	d, err := NewDecrypter(bytes.NewReader(message), []Recipient{p256().recipient()}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(d); !errors.Is(err, ErrDecrypt) {
		t.Errorf("key of 40 bytes: %v", err)
	}
	_, err = decrypt(encrypt(t, nil, AES128CBC, p256().cert), Recipient{Certificate: p256().cert})
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), CertificateID(p256().cert).Serial) {
		t.Errorf("no key: %v", err)
	}
}
