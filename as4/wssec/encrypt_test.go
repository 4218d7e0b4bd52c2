package wssec

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// Every transport with every cipher and every way to name the certificate, over
// the wire.
func TestEncryptionRoundTrip(t *testing.T) {
	t.Parallel()
	tokens := []Token{"", TokenBST, TokenPKIPath, TokenPKCS7, TokenSKI, TokenThumbprint, TokenIssuerSerial}
	contents := [][]byte{nil, []byte("ISA~"), filler(1000), filler(chunk), filler(chunk + gcmTag), filler(2*chunk + 7)}
	done := 0
	for i, tc := range transportCases() {
		for j, c := range allDataCiphers {
			for k, token := range tokens {
				if i > 6 && (i+j+k)%5 > 0 { // of the many pairs each meets some
					continue
				}
				s := seal(t, Encrypting{Recipient: tc.to().cert, Cipher: c, Transport: tc.t, Token: token}, contents...)
				s.security = reread(t, s.security)
				plain, err := unseal(s, otherHolder().opener(), tc.to().opener())
				if err != nil {
					t.Errorf("%s, %s, %s: %v", tc.name, c, token, err)
					continue
				}
				for n, content := range contents {
					if !bytes.Equal(plain[partID(n)], content) {
						t.Errorf("%s, %s, %s: part %d of %d bytes differs", tc.name, c, token, n, len(content))
					}
				}
				done++
			}
		}
	}
	t.Logf("%d messages of %d parts, %d transports", done, len(contents), len(transportCases()))
}

const gcmTag = 16

// TestOrderOnTheWire: EncryptedKey, EncryptedData for each part, the token of
// the recipient in front; but readers take any order.
func TestOrderOnTheWire(t *testing.T) {
	t.Parallel()
	s := seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Token: TokenBST}, []byte("a"), []byte("b"))
	tags := func() (all []string) {
		for _, e := range s.security.ChildElements() {
			all = append(all, e.Tag)
		}
		return all
	}
	if diff := cmp.Diff([]string{"BinarySecurityToken", "EncryptedKey", "EncryptedData", "EncryptedData"}, tags()); diff != "" {
		t.Error(diff)
	}
	for range 4 {
		first := s.security.Child[0]
		s.security.RemoveChildAt(0)
		s.security.AddChild(first)
		plain, err := unseal(s, rsaHolder().opener())
		if err != nil || string(plain["0@x"])+string(plain["1@x"]) != "ab" {
			t.Errorf("%q: %v", tags(), err)
		}
	}
}

// TestEncryptedElements holds the form of eDelivery 1.15 §1.6, element by element.
func TestEncryptedElements(t *testing.T) {
	t.Parallel()
	s := seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM}, []byte("a"))
	ek, ed := s.security.ChildElements()[0], s.security.ChildElements()[1]
	path := func(e *etree.Element, names ...string) *etree.Element {
		t.Helper()
		for _, n := range names {
			found := e.SelectElements(n)
			if len(found) != 1 {
				t.Fatalf("%s has %d children %s", e.Tag, len(found), n)
			}
			e = found[0]
		}
		return e
	}
	attr := func(e *etree.Element, space, name string) string { v, _ := xmltree.Attr(e, space, name); return v }
	type fact struct{ what, got, want string }
	id := attr(ek, "", "Id")
	for _, f := range []fact{
		{"key transport", attr(path(ek, "xenc:EncryptionMethod"), "", "Algorithm"), "http://www.w3.org/2009/xmlenc11#rsa-oaep"},
		{"digest", attr(path(ek, "xenc:EncryptionMethod", "ds:DigestMethod"), "", "Algorithm"), "http://www.w3.org/2001/04/xmlenc#sha256"},
		{"mask", attr(path(ek, "xenc:EncryptionMethod", "xenc11:MGF"), "", "Algorithm"), "http://www.w3.org/2009/xmlenc11#mgf1sha256"},
		{"recipient", attr(path(ek, "ds:KeyInfo", "wsse:SecurityTokenReference", "wsse:KeyIdentifier"), "", "ValueType"), typeSKI},
		{"list", attr(path(ek, "xenc:ReferenceList", "xenc:DataReference"), "", "URI"), "#" + attr(ed, "", "Id")},
		{"type", attr(ed, "", "Type"), "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Only"},
		{"media type", attr(ed, "", "MimeType"), "application/gzip"},
		{"cipher", attr(path(ed, "xenc:EncryptionMethod"), "", "Algorithm"), "http://www.w3.org/2009/xmlenc11#aes128-gcm"},
		{"token type", attr(path(ed, "ds:KeyInfo", "wsse:SecurityTokenReference"), nsWSSE11, "TokenType"),
			"http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey"},
		{"key", attr(path(ed, "ds:KeyInfo", "wsse:SecurityTokenReference", "wsse:Reference"), "", "URI"), "#" + id},
		{"part", attr(path(ed, "xenc:CipherData", "xenc:CipherReference"), "", "URI"), "cid:0@x"},
		{"transform", attr(path(ed, "xenc:CipherData", "xenc:CipherReference", "xenc:Transforms", "ds:Transform"), "", "Algorithm"),
			"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Ciphertext-Transform"},
	} {
		if f.got != f.want {
			t.Errorf("%s is %q, want %q", f.what, f.got, f.want)
		}
	}
	if id == "" || strings.Contains("0123456789", id[:1]) {
		t.Errorf("Id %q is no NCName", id)
	}
}

// What we cannot do is told before anything is written, and what would do.
func TestEncryptingSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		e    Encrypting
		says string
	}{
		"no certificate":      {Encrypting{Cipher: AES128GCM}, "no certificate of the recipient"},
		"no cipher":           {Encrypting{Recipient: rsaHolder().cert}, "aes128-gcm, aes192-gcm, aes256-gcm"},
		"CBC":                 {Encrypting{Recipient: rsaHolder().cert, Cipher: "aes128-cbc"}, `"aes128-cbc"`},
		"RSA 1.5":             {Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "rsa-1_5"}}, `"rsa-1_5"`},
		"agreement with RSA":  {Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "ecdh-es"}}, "rsa-oaep is the one for it"},
		"OAEP with a curve":   {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "rsa-oaep"}}, "ecdh-es is the one for it"},
		"ecdh-es with X25519": {Encrypting{Recipient: x25519Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "ecdh-es"}}, "x25519 is the one for it"},
		"x25519 with P-256":   {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "x25519"}}, "key on P-256"},
		"MD5":                 {Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Transport: KeyTransport{Digest: crypto.MD5}}, "MD5"},
		"mgf1p with a mask":   {Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Transport: KeyTransport{Method: "rsa-oaep-mgf1p", MGF: crypto.SHA256}}, "by SHA-1 always"},
		"derive by SHA-1":     {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Digest: crypto.SHA1}}, "SHA-1"},
		"wrap of 64 bits":     {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Wrap: 64}}, "64 bits"},
		"derivation":          {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Derivation: "x963"}}, `"x963"`},
		"token":               {Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Token: "name"}, `"name"`},
	} {
		x, err := NewEncrypter(tc.e)
		if !errors.Is(err, ErrSetting) || !strings.Contains(err.Error(), tc.says) || x != nil {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// Without a subject key identifier the certificate is named by its issuer.
func TestRecipientWithoutKeyIdentifier(t *testing.T) {
	t.Parallel()
	h := rsaHolder()
	bare := *h.cert
	bare.SubjectKeyId = nil
	s := seal(t, Encrypting{Recipient: &bare, Cipher: AES128GCM}, []byte("a"))
	if !strings.Contains(serialised(t, s.security), "X509IssuerSerial") {
		t.Error("it is not named by issuer and serial number")
	}
	if _, err := unseal(s, h.opener()); err != nil {
		t.Error(err)
	}
}

// TestPartWriter: what goes wrong below is told, once and for all, and Close may
// be called twice.
func TestPartWriter(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	x, err := NewEncrypter(Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 5, 12, 100, chunk + 12, chunk + 20} {
		w := x.Part(&limited{room: room, err: full}, "a@x", "")
		_, err := w.Write(filler(chunk + 1))
		err = errors.Join(err, w.Close(), w.Close())
		if !errors.Is(err, full) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
	var out bytes.Buffer
	w := x.Part(&out, "b@x", "")
	if err := errors.Join(w.Close(), w.Close()); err != nil || out.Len() != 28 {
		t.Errorf("an empty part: %d bytes, %v", out.Len(), err)
	}
	if _, err := w.Write([]byte("late")); err == nil || out.Len() != 28 {
		t.Error("written after Close")
	}
}

// limited takes so many bytes.
type limited struct {
	room int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.room {
		return l.room, l.err
	}
	l.room -= len(p)
	return len(p), nil
}

// TestFaultsBelowAreHandedOn: a disk that fails is no fault of the sender.
func TestFaultsBelowAreHandedOn(t *testing.T) {
	t.Parallel()
	h := p256Holder()
	s := seal(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM}, filler(3*chunk))
	o, err := unlock(s.security, h.opener())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, n := range []int64{0, 5, 12, 1000, chunk + 100, 2 * chunk} {
		r := io.MultiReader(io.LimitReader(bytes.NewReader(s.parts["0@x"]), n), iotest.ErrReader(broken))
		if err := o.Decrypt(io.Discard, "0@x", r); !errors.Is(err, broken) || errors.Is(err, ErrDecrypt) {
			t.Errorf("a reader that fails after %d bytes: %v", n, err)
		}
	}
	for _, room := range []int{0, 100, chunk, 2*chunk + 5} {
		err := o.Decrypt(&limited{room: room, err: broken}, "0@x", bytes.NewReader(s.parts["0@x"]))
		if !errors.Is(err, broken) || errors.Is(err, ErrDecrypt) {
			t.Errorf("a writer with room for %d bytes: %v", room, err)
		}
	}
	for name, r := range map[string]io.Reader{
		"one byte at a time": iotest.OneByteReader(bytes.NewReader(s.parts["0@x"])),
		"half":               iotest.HalfReader(bytes.NewReader(s.parts["0@x"])),
		"data with the end":  iotest.DataErrReader(bytes.NewReader(s.parts["0@x"])),
	} {
		var out bytes.Buffer
		if err := o.Decrypt(&out, "0@x", r); err != nil || !bytes.Equal(out.Bytes(), filler(3*chunk)) {
			t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
		}
	}
}
