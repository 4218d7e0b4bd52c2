package wssec

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// TestNotRecipient: who is no recipient is told for whom the message is and what
// we hold, in the words of the message.
func TestNotRecipient(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		token Token
		named string
	}{
		{TokenSKI, "encrypted for the subject key identifier 5A:4F:22"},
		{TokenIssuerSerial, `encrypted for serial 4F:22 issued by CN=Test Authority\, for \"tests\",C=DE`},
		{TokenThumbprint, "encrypted for the SHA-1 thumbprint "},
		{TokenBST, "encrypted for serial 4F:22 issued by CN=Test Authority"},
	} {
		s := seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM, Token: tc.token}, []byte("a"))
		_, err := unseal(s, p256Holder().opener(), otherHolder().opener())
		var not *NotRecipientError
		if !errors.Is(err, ErrDecrypt) || !errors.As(err, &not) || len(not.Named) != 1 || len(not.Held) != 2 {
			t.Errorf("%s: %v", tc.token, err)
			continue
		}
		for _, want := range []string{tc.named, "we hold serial 02:56 issued by CN=Test Authority", "subject key identifier 5A:06:66"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", tc.token, err, want)
			}
		}
	}
	s := seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM}, []byte("a"))
	if _, err := unseal(s); err == nil || !strings.HasSuffix(err.Error(), "we hold nobody that we can name") {
		t.Errorf("without a key: %v", err)
	}
}

// TestTheWrongKeyIsNoDifferent: somebody whose certificate has our name but
// another key gets the answer of changed content, at the same place.
func TestTheWrongKeyIsNoDifferent(t *testing.T) {
	t.Parallel()
	for _, tc := range transportCases() {
		h := tc.to()
		s := seal(t, Encrypting{Recipient: h.cert, Cipher: AES256GCM, Transport: tc.t}, []byte("a"))
		wrong := map[*holder]holder{}
		for _, o := range []holder{otherHolder(), p256Holder(), brainpoolHolder(), x25519Holder()} {
			wrong[&o] = o
		}
		for _, o := range wrong {
			if fmt.Sprintf("%T", o.cert.PublicKey) != fmt.Sprintf("%T", h.cert.PublicKey) || bytes.Equal(o.cert.Raw, h.cert.Raw) {
				continue
			}
			opening, err := unlock(s.security, Opener{Certificate: h.cert, Key: o.key})
			if err != nil {
				t.Errorf("%s: Unlock tells a wrong key: %v", tc.name, err)
				continue
			}
			if err := opening.Decrypt(io.Discard, "0@x", bytes.NewReader(s.parts["0@x"])); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
				t.Errorf("%s: %v", tc.name, err)
			}
		}
	}
}

// TestOneChangedByte: nothing of a changed message comes through, and all bytes
// that are secret to somebody fail alike.
func TestOneChangedByte(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]Encrypting{
		"RSA":       {Recipient: rsaHolder().cert, Cipher: AES128GCM},
		"P-256":     {Recipient: p256Holder().cert, Cipher: AES128GCM},
		"X25519":    {Recipient: x25519Holder().cert, Cipher: AES256GCM},
		"brainpool": {Recipient: brainpoolHolder().cert, Cipher: AES128GCM},
	} {
		openers := []Opener{rsaHolder().opener(), p256Holder().opener(), x25519Holder().opener(), brainpoolHolder().opener()}
		s := seal(t, e, filler(300))
		part := s.parts["0@x"]
		for i := range part {
			for _, bit := range []byte{1, 0x80} {
				changed := bytes.Clone(part)
				changed[i] ^= bit
				if _, err := unseal(sealed{s.security, map[string][]byte{"0@x": changed}}, openers...); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
					t.Errorf("%s: byte %d of the part changed: %v", name, i, err)
				}
			}
		}
		for _, n := range []int{0, 1, 11, 12, 27, 28, len(part) - 17, len(part) - 16, len(part) - 1, len(part) + 1} {
			cut := append(bytes.Clone(part), 0)[:n]
			if _, err := unseal(sealed{s.security, map[string][]byte{"0@x": cut}}, openers...); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(part), err)
			}
		}
		changeKey(t, name, s, openers)
	}
}

// changeKey flips each byte of the encrypted key.
func changeKey(t *testing.T, name string, s sealed, openers []Opener) {
	t.Helper()
	value := xmltree.Find(s.security, func(e *etree.Element) bool { return e.Tag == "CipherValue" })[0]
	good := value.Text()
	wrapped, err := decode(value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range wrapped {
		changed := bytes.Clone(wrapped)
		changed[i] ^= 0x10
		value.SetText(encode(changed))
		if _, err := unseal(s, openers...); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
			t.Errorf("%s: byte %d of the key changed: %v", name, i, err)
		}
	}
	for _, n := range []int{1, 7, 8, 16, 23, 25, len(wrapped) - 1, len(wrapped) + 1, maxWrapped} {
		value.SetText(encode(append(bytes.Clone(wrapped), make([]byte, maxWrapped)...)[:n]))
		if _, err := unseal(s, openers...); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
			t.Errorf("%s: a key of %d bytes where %d are right: %v", name, n, len(wrapped), err)
		}
	}
	value.SetText(good)
}

// TestKeyOfAnotherLength: a key that decrypts and does not fit the cipher fails
// as everything does.
func TestKeyOfAnotherLength(t *testing.T) {
	t.Parallel()
	for _, to := range []holder{rsaHolder(), p256Holder()} {
		s := seal(t, Encrypting{Recipient: to.cert, Cipher: AES128GCM}, []byte("a"))
		for _, c := range []string{"aes192-gcm", "aes256-gcm"} {
			if _, err := unseal(s.with(t, "xmlenc11#aes128-gcm", "xmlenc11#"+c), to.opener()); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
				t.Errorf("%s: %v", c, err)
			}
		}
	}
}

// TestDefaultsOfOAEP: what is not written means SHA-1, whatever the rest says
// (XML Encryption 1.1 §5.5.2).
func TestDefaultsOfOAEP(t *testing.T) {
	t.Parallel()
	h := rsaHolder()
	drop := func(s sealed, tag string) sealed {
		for _, e := range xmltree.Find(s.security, func(e *etree.Element) bool { return e.Tag == tag && e.Parent().Tag == "EncryptionMethod" }) {
			e.Parent().RemoveChild(e)
		}
		return s
	}
	for _, tc := range []struct {
		t    KeyTransport
		drop string
		want error
	}{
		{KeyTransport{Digest: crypto.SHA256, MGF: crypto.SHA1}, "MGF", nil},
		{KeyTransport{Digest: crypto.SHA512, MGF: crypto.SHA1}, "MGF", nil},
		{KeyTransport{Digest: crypto.SHA256, MGF: crypto.SHA256}, "MGF", ErrDecrypt},
		{KeyTransport{Digest: crypto.SHA1, MGF: crypto.SHA256}, "DigestMethod", nil},
		{KeyTransport{Digest: crypto.SHA256, MGF: crypto.SHA256}, "DigestMethod", ErrDecrypt},
		{KeyTransport{Method: transportOAEPMGF1P, Digest: crypto.SHA1}, "DigestMethod", nil},
		{KeyTransport{Method: transportOAEPMGF1P, Digest: crypto.SHA256}, "DigestMethod", ErrDecrypt},
	} {
		s := drop(seal(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM, Transport: tc.t}, []byte("a")), tc.drop)
		if _, err := unseal(s, h.opener()); !errors.Is(err, tc.want) {
			t.Errorf("%+v without %s: %v, want %v", tc.t, tc.drop, err, tc.want)
		}
	}
	// QUIRK(WSS4J): the older name with a mask of its own.
	s := seal(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM}, []byte("a")).with(t, methodOAEP+`"`, methodOAEPMGF1P+`"`)
	if _, err := unseal(s, h.opener()); err != nil {
		t.Errorf("rsa-oaep-mgf1p with an MGF: %v", err)
	}
}

// TestRefusedAlgorithms: each is named, with what would do.
func TestRefusedAlgorithms(t *testing.T) {
	t.Parallel()
	rsaMessage := func() sealed { return seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM}, []byte("a")) }
	concat := func() sealed {
		return seal(t, Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM}, []byte("a"))
	}
	hkdf := func() sealed {
		return seal(t, Encrypting{Recipient: x25519Holder().cert, Cipher: AES128GCM}, []byte("a"))
	}
	for _, tc := range []struct {
		name     string
		s        sealed
		old, new string
		want     error
		says     string
	}{
		{"CBC", rsaMessage(), "http://www.w3.org/2009/xmlenc11#aes128-gcm", "http://www.w3.org/2001/04/xmlenc#aes128-cbc", ErrPolicy, "encrypted with aes128-cbc"},
		{"3DES", rsaMessage(), "http://www.w3.org/2009/xmlenc11#aes128-gcm", "http://www.w3.org/2001/04/xmlenc#tripledes-cbc", ErrPolicy, "tripledes-cbc"},
		{"RSA 1.5", rsaMessage(), methodOAEP + `"`, `http://www.w3.org/2001/04/xmlenc#rsa-1_5"`, ErrPolicy, "rsa-1_5; taken are RSA-OAEP"},
		{"a hash", rsaMessage(), nsXENC + "sha256", moreFirst + "md5", ErrPolicy, "md5"},
		{"a mask", rsaMessage(), "mgf1sha256", "mgf1md5", ErrPolicy, "mgf1md5"},
		{"with headers", rsaMessage(), "#Attachment-Content-Only", "#Attachment-Complete", ErrPolicy, "Attachment-Complete"},
		{"a transform", rsaMessage(), "#Attachment-Ciphertext-Transform", "#Attachment-Complete-Transform", ErrPolicy, "Attachment-Complete-Transform"},
		{"agreement", concat(), methodECDHES, nsXENC + "dh", ErrPolicy, "dh"},
		{"key wrap", concat(), nsXENC + "kw-aes128", nsXENC + "kw-tripledes", ErrPolicy, "kw-tripledes"},
		{"derivation", concat(), methodConcatKDF, nsXENC11 + "pbkdf2", ErrPolicy, "pbkdf2"},
		{"hash of ConcatKDF", concat(), nsXENC + "sha256", nsDS + "sha1", ErrPolicy, "sha1"},
		{"bits", concat(), `PartyUInfo=""`, `PartyUInfo="03D8"`, ErrPolicy, "03D8"},
		{"not hexadecimal", concat(), `PartyUInfo=""`, `PartyUInfo="0x"`, ErrMalformed, "PartyUInfo"},
		{"no bit string", concat(), `PartyUInfo=""`, `PartyUInfo="08"`, ErrMalformed, "PartyUInfo"},
		{"a curve", concat(), "1.2.840.10045.3.1.7", "1.3.132.0.10", ErrPolicy, "1.3.132.0.10"},
		{"the curve of somebody else", concat(), "1.2.840.10045.3.1.7", "1.3.132.0.34", ErrMalformed, "P-384"},
		{"PRF", hkdf(), "hmac-sha256", "hmac-sha1", ErrPolicy, "hmac-sha1"},
		{"KeyLength", hkdf(), "KeyLength>16<", "KeyLength>24<", ErrMalformed, "24"},
		{"KeyLength in bits", hkdf(), "KeyLength>16<", "KeyLength>-1<", ErrMalformed, "16 bytes"},
		{"a key type", hkdf(), "DEREncodedKeyValue>", "RSAKeyValue>", ErrPolicy, "ephemeral key"},
		{"agreement without derivation", hkdf(), "KeyDerivationMethod", "KeyDerivation", ErrMalformed, ""},
	} {
		s := tc.s.with(t, tc.old, tc.new)
		_, err := unseal(s, rsaHolder().opener(), p256Holder().opener(), x25519Holder().opener())
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %v that says %q", tc.name, err, tc.want, tc.says)
		}
	}
}

// TestHostileHeaders: pieces that are missing, twice, or far too many.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	message := func() *etree.Element {
		return seal(t, Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM}, []byte("a"), []byte("b")).security
	}
	all := func(e *etree.Element, tag string) []*etree.Element {
		return xmltree.Find(e, func(e *etree.Element) bool { return e.Tag == tag })
	}
	without := func(tag string, n int) func(*etree.Element) {
		return func(e *etree.Element) { x := all(e, tag)[n]; x.Parent().RemoveChild(x) }
	}
	twice := func(tag string) func(*etree.Element) {
		return func(e *etree.Element) { x := all(e, tag)[0]; x.Parent().AddChild(x.Copy()) }
	}
	set := func(tag string, n int, name, value string) func(*etree.Element) {
		return func(e *etree.Element) { all(e, tag)[n].CreateAttr(name, value) }
	}
	many := func(tag string, n int) func(*etree.Element) {
		return func(e *etree.Element) {
			for i := range n {
				x := all(e, tag)[0].Copy()
				x.CreateAttr("Id", fmt.Sprintf("many%d", i))
				for _, r := range all(x, "CipherReference") {
					r.CreateAttr("URI", fmt.Sprintf("cid:many%d@x", i))
				}
				e.AddChild(x)
			}
		}
	}
	for name, change := range map[string]func(*etree.Element){
		"no EncryptedKey":                  without("EncryptedKey", 0),
		"no EncryptionMethod of the key":   without("EncryptionMethod", 0),
		"no EncryptionMethod of a part":    without("EncryptionMethod", 1),
		"two EncryptionMethods":            twice("EncryptionMethod"),
		"no Algorithm":                     func(e *etree.Element) { all(e, "EncryptionMethod")[1].RemoveAttr("Algorithm") },
		"no CipherData of the key":         without("CipherData", 0),
		"no CipherValue":                   without("CipherValue", 0),
		"two CipherValues":                 twice("CipherValue"),
		"an empty CipherValue":             func(e *etree.Element) { all(e, "CipherValue")[0].SetText("") },
		"a CipherValue that is not base64": func(e *etree.Element) { all(e, "CipherValue")[0].SetText("???") },
		"a large CipherValue":              func(e *etree.Element) { all(e, "CipherValue")[0].SetText(encode(make([]byte, maxWrapped+1))) },
		"no CipherReference":               without("CipherReference", 0),
		"a CipherReference to the web":     set("CipherReference", 0, "URI", "http://northwind.example/"),
		"an empty cid":                     set("CipherReference", 0, "URI", "cid:"),
		"a part twice":                     set("CipherReference", 0, "URI", "cid:1@x"),
		"two Transforms":                   twice("Transform"),
		"a reference to another element":   set("Reference", 0, "URI", "#nobody"),
		"a reference to a part": func(e *etree.Element) {
			id, _ := xmltree.Attr(all(e, "EncryptedData")[1], "", "Id")
			set("Reference", 0, "URI", "#"+id)(e)
		},
		"a foreign reference": set("Reference", 0, "URI", "http://northwind.example/#key"),
		"an Id twice": func(e *etree.Element) {
			id, _ := xmltree.Attr(all(e, "EncryptedData")[1], "", "Id")
			set("EncryptedKey", 0, "Id", id)(e)
		},
		"nine EncryptedKeys":   many("EncryptedKey", 8),
		"1001 parts":           many("EncryptedData", 999),
		"two AgreementMethods": twice("AgreementMethod"),
		"no RecipientKeyInfo":  without("RecipientKeyInfo", 0),
		"no OriginatorKeyInfo": without("OriginatorKeyInfo", 0),
		"no public key":        without("PublicKey", 0),
		"a point that is none": func(e *etree.Element) { all(e, "PublicKey")[0].SetText(encode(append([]byte{4}, filler(64)...))) },
		"a compressed point":   func(e *etree.Element) { all(e, "PublicKey")[0].SetText(encode(append([]byte{2}, filler(32)...))) },
		"infinity":             func(e *etree.Element) { all(e, "PublicKey")[0].SetText(encode([]byte{0})) },
		"no KeyInfo and no list": func(e *etree.Element) {
			without("KeyInfo", 1)(e)
			without("ReferenceList", 0)(e)
		},
	} {
		security := message()
		change(security)
		if _, err := unlock(reread(t, security), p256Holder().opener()); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyKeysForUs: a private key is used four times a message, not more.
func TestManyKeysForUs(t *testing.T) {
	t.Parallel()
	h := rsaHolder()
	s := seal(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM}, []byte("a"))
	counted := &counting{Decrypter: h.key.(crypto.Decrypter)}
	for n := 1; n <= 5; n++ {
		counted.n = 0
		plain, err := unseal(s, Opener{Certificate: h.cert, Key: counted})
		if n <= 4 && (err != nil || string(plain["0@x"]) != "a" || counted.n != n) {
			t.Errorf("%d keys: %v, %d operations", n, err, counted.n)
		}
		if n == 5 && (!errors.Is(err, ErrPolicy) || counted.n != 0) {
			t.Errorf("%d keys: %v, %d operations", n, err, counted.n)
		}
		more := s.security.ChildElements()[0].Copy()
		more.CreateAttr("Id", fmt.Sprint("key", n))
		s.security.AddChild(more)
	}
}

type counting struct {
	crypto.Decrypter
	n int
}

func (c *counting) Decrypt(r io.Reader, msg []byte, o crypto.DecrypterOpts) ([]byte, error) {
	c.n++
	return c.Decrypter.Decrypt(r, msg, o)
}

// TestSeveralRecipients: the one key that is for us counts, in whatever way the
// parts lead to it.
func TestSeveralRecipients(t *testing.T) {
	t.Parallel()
	ours, theirs := p256Holder(), rsaHolder()
	s := seal(t, Encrypting{Recipient: ours.cert, Cipher: AES128GCM}, []byte("a"))
	foreign := seal(t, Encrypting{Recipient: theirs.cert, Cipher: AES128GCM}, []byte("b"))
	ek := foreign.security.ChildElements()[0]
	id, _ := xmltree.Attr(ek, "", "Id")
	s.security.InsertChildAt(0, ek.Copy())
	if _, err := unseal(s, ours.opener()); err != nil {
		t.Errorf("another key in the header: %v", err)
	}
	// The part refers to the key of the other one, and is on the list of ours.
	reference := xmltree.Find(s.security, func(e *etree.Element) bool { return e.Tag == "Reference" })
	reference[len(reference)-1].CreateAttr("URI", "#"+id)
	if plain, err := unseal(s, ours.opener()); err != nil || string(plain["0@x"]) != "a" {
		t.Errorf("by the list: %v", err)
	}
	var not *NotRecipientError
	if _, err := unseal(s, x25519Holder().opener()); !errors.As(err, &not) || len(not.Named) != 2 {
		t.Errorf("for neither: %v", err)
	}
	// The key stands in the KeyInfo of the part, as plain XML Encryption has it.
	inline := seal(t, Encrypting{Recipient: ours.cert, Cipher: AES128GCM}, []byte("c"))
	info := xmltree.Children(inline.security.ChildElements()[1], nsDS, "KeyInfo")[0]
	info.RemoveChildAt(0)
	info.AddChild(inline.security.ChildElements()[0])
	if plain, err := unseal(inline, ours.opener()); err != nil || string(plain["0@x"]) != "c" {
		t.Errorf("inline: %v", err)
	}
}

func TestNothingIsEncrypted(t *testing.T) {
	t.Parallel()
	for _, security := range []*etree.Element{nil, NewSecurity()} {
		if e, err := ReadEncrypted(security); e != nil || err != nil {
			t.Errorf("%v, %v", e, err)
		}
	}
	s := seal(t, Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM}, []byte("a"))
	o, err := unlock(s.security, p256Holder().opener())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Decrypt(io.Discard, "plain@x", strings.NewReader("text")); !errors.Is(err, ErrMalformed) {
		t.Errorf("a part that is not encrypted: %v", err)
	}
}

// Not parallel: it looks at the memory of the whole process.
func TestMemoryOfEncryptionIsConstant(t *testing.T) {
	const small, large = 1 << 20, 64 << 20
	h := p256Holder()
	few := allocatedBy(func() { throughPart(t, h, small) })
	many := allocatedBy(func() { throughPart(t, h, large) })
	if many > few+256<<10 {
		t.Errorf("%d bytes allocated for %d of content, %d for %d", many, large, few, small)
	}
	t.Logf("%d bytes allocated for %d of content, %d for %d", many, large, few, small)
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// throughPart encrypts size bytes and decrypts them on the other side.
func throughPart(t *testing.T, h holder, size int64) {
	t.Helper()
	x, err := NewEncrypter(Encrypting{Recipient: h.cert, Cipher: AES128GCM})
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	part := x.Part(w, "a@x", "application/octet-stream")
	security := NewSecurity()
	x.Write(security)
	go func() {
		_, err := io.Copy(part, io.LimitReader(zeros{}, size))
		w.CloseWithError(errors.Join(err, part.Close()))
	}()
	o, err := unlock(security, h.opener())
	if err != nil {
		r.CloseWithError(err)
		t.Fatal(err)
	}
	var n counter
	if err := o.Decrypt(&n, "a@x", r); err != nil || int64(n) != size {
		t.Errorf("%d bytes of %d, %v", n, size, err)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
