package wssec

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// TestAttackKeys: KeyInfo is not signed, and may say whatever somebody likes. The
// key that counts is one that is pinned, or below an authority.
func TestAttackKeys(t *testing.T) {
	t.Parallel()
	ours, theirs, lookalike := rsaSigner(), stranger(), lookalike()
	bag := func(write func(*x509.Certificate, []*x509.Certificate) ([]byte, error), leaf *x509.Certificate, chain ...*x509.Certificate) []byte {
		der, err := write(leaf, chain)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	backwards := bag(writePKIPath, ours.chain[0], ours.cert) // the signer first
	mine, evil := sign(t, ours.signing(RSASHA256, TokenSKI)), sign(t, theirs.signing(RSASHA256, TokenSKI))
	for name, c := range map[string]struct {
		text         []byte
		tokens, info string
		trust        Trust
		want         error
		says         string
	}{
		"a path backwards":                                {mine, token("a", typePKIPath, backwards), refer("a"), ours.trust(), nil, ""},
		"a path backwards, below an authority":            {mine, token("a", typePKIPath, backwards), refer("a"), ours.authority(), nil, ""},
		"a stranger's path that leads over ours":          {evil, token("a", typePKIPath, bag(writePKIPath, theirs.cert, ours.cert)), refer("a"), ours.trust(), ErrSignature, "was not made with the key of"},
		"a stranger's path that ends in ours":             {evil, token("a", typePKIPath, bag(writePKIPath, ours.cert, theirs.cert)), refer("a"), ours.trust(), ErrSignature, "was not made with the key of"},
		"a stranger's bag with ours":                      {evil, token("a", typePKCS7, bag(writePKCS7, theirs.cert, ours.cert)), refer("a"), ours.trust(), ErrSignature, "was not made with the key of"},
		"a stranger's bag with ours, below the authority": {evil, token("a", typePKCS7, bag(writePKCS7, theirs.cert, ours.cert, ours.chain[0])), refer("a"), ours.authority(), ErrSigner, "not below an authority"},
		"a bag with something behind":                     {mine, token("a", typePKCS7, append(bag(writePKCS7, ours.cert), 5, 0)), refer("a"), ours.trust(), ErrMalformed, "PKCS #7"},
		"a path with something behind":                    {mine, token("a", typePKIPath, append(bag(writePKIPath, ours.cert, ours.chain...), 5, 0)), refer("a"), ours.trust(), ErrMalformed, "PKIPath"},
		"a certificate with something behind":             {mine, token("a", typeX509, append(bytes.Clone(ours.cert.Raw), 5, 0)), refer("a"), ours.trust(), ErrMalformed, "cannot be read"},
		"a path that says it is a certificate":            {mine, token("a", typeX509, backwards), refer("a"), ours.trust(), ErrMalformed, "cannot be read"},
		"a stranger's certificates, ours first":           {evil, "", inline(ours.cert, theirs.cert), ours.trust(), ErrSignature, "was not made with the key of"},
		"a stranger's certificate with our serial": {evil, "", strings.Replace(inline(theirs.cert), "</ds:X509Data>",
			"<ds:X509IssuerSerial/><ds:X509SubjectName>CN=rsa.northwind.example</ds:X509SubjectName></ds:X509Data>", 1), ours.trust(), ErrSigner, "stranger.example"},
		"our identifier with a stranger's token":    {evil, token("a", typeX509, theirs.cert.Raw), identifier(typeSKI, ours.cert.SubjectKeyId), ours.trust(), ErrSignature, "was not made with the key of"},
		"a lookalike by its identifier":             {sign(t, lookalike.signing(RSASHA256, TokenSKI)), token("a", typeX509, lookalike.cert.Raw), identifier(typeSKI, lookalike.cert.SubjectKeyId), ours.trust(), ErrSignature, "was not made with the key of"},
		"a lookalike by its token":                  {sign(t, lookalike.signing(RSASHA256, TokenSKI)), token("a", typeX509, lookalike.cert.Raw), refer("a"), ours.trust(), ErrSigner, "signed by the certificate of"},
		"an identifier that is empty":               {mine, "", strings.Replace(identifier(typeSKI, []byte("x")), ">eA==<", "><", 1), ours.trust(), ErrMalformed, "not base64"},
		"a thumbprint that is cut off":              {mine, "", identifier(typeThumbprint, []byte{1}), ours.trust(), ErrSigner, "thumbprint 01"},
		"a token that is reached by another's name": {mine, token("a", typeX509, ours.cert.Raw), str(`<wsse:Reference URI="a"/>`), ours.trust(), ErrMalformed, "leads to no BinarySecurityToken"},
		"two tokens of one id":                      {mine, token("a", typeX509, theirs.cert.Raw) + token("a", typeX509, ours.cert.Raw), refer("a"), ours.trust(), ErrSignature, "occurs twice"},
		"a retrieval method":                        {mine, token("a", typeX509, ours.cert.Raw), `<ds:RetrievalMethod URI="#a"/>`, ours.trust(), ErrPolicy, "RetrievalMethod"},
		"a reference that leads to a reference":     {mine, strings.Replace(str(`<wsse:Reference URI="#a"/>`), "<wsse:SecurityTokenReference>", `<wsse:SecurityTokenReference wsu:Id="b">`, 1), refer("b"), ours.trust(), ErrMalformed, "leads to no BinarySecurityToken"},
		"many tokens":                               {mine, strings.Join(slices.Collect(numbered(40, theirs.cert.Raw)), "") + token("a", typeX509, ours.cert.Raw), refer("a"), ours.trust(), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := swap(t, withKeyInfo(t, c.text, c.info), "<ds:Signature ", c.tokens+"<ds:Signature ")
			attack{name, func(text string) string { return text }, c.want, c.says}.run(t, c.trust, string(text))
		})
	}
}

// numbered are tokens of different ids.
func numbered(n int, der []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(token("n"+strings.Repeat("x", i), typeX509, der)) {
				return
			}
		}
	}
}

// TestAttackEncryption: what somebody does to a message that is encrypted for us.
// Whatever needs our key to be seen has one answer, which says nothing.
func TestAttackEncryption(t *testing.T) {
	t.Parallel()
	agreed := func(derivation string) sealed {
		return seal(t, Encrypting{Recipient: p256Holder().cert, Cipher: AES128GCM, Transport: KeyTransport{Derivation: derivation}}, []byte("a"), []byte("b"))
	}
	byX25519 := func() sealed {
		return seal(t, Encrypting{Recipient: x25519Holder().cert, Cipher: AES128GCM}, []byte("a"))
	}
	byRSA := func() sealed { return seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM}, []byte("a")) }
	find := func(s sealed, tag string) *etree.Element {
		return xmltree.Find(s.security, func(e *etree.Element) bool { return e.Tag == tag })[0]
	}
	text := func(tag string, value []byte) func(sealed) {
		return func(s sealed) { find(s, tag).SetText(encode(value)) }
	}
	point := func(u ...byte) func(sealed) { // DER of a public key for X25519
		return text("DEREncodedKeyValue", append([]byte{0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 3, 0x21, 0}, append(u, make([]byte, 32-len(u))...)...))
	}
	p256, err := p256DER()
	if err != nil {
		t.Fatal(err)
	}
	openers := []Opener{rsaHolder().opener(), p256Holder().opener(), x25519Holder().opener(), brainpoolHolder().opener()}
	for name, c := range map[string]struct {
		s    sealed
		bend func(sealed)
		want error // ErrDecrypt: that and nothing else
	}{
		"as it is":                            {agreed(derivationHKDF), func(sealed) {}, nil},
		"zero on X25519":                      {byX25519(), point(0), ErrDecrypt},
		"one on X25519":                       {byX25519(), point(1), ErrDecrypt},
		"a point of order 8 on X25519":        {byX25519(), point(0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00), ErrDecrypt},
		"another point on X25519":             {byX25519(), point(9), ErrDecrypt},
		"a point on P-256 for X25519":         {byX25519(), text("DEREncodedKeyValue", p256), ErrMalformed},
		"P-521 by the point, P-256 by name":   {agreed(""), text("PublicKey", append([]byte{4}, make([]byte, 132)...)), ErrMalformed},
		"zero on P-256":                       {agreed(""), text("PublicKey", append([]byte{4}, make([]byte, 64)...)), ErrMalformed},
		"another point on P-256":              {agreed(""), text("PublicKey", p256[len(p256)-65:]), ErrDecrypt},
		"a point on P-256, brainpool by name": {agreed(""), func(s sealed) { find(s, "NamedCurve").CreateAttr("URI", "urn:oid:1.3.36.3.3.2.8.1.1.7") }, ErrMalformed},
		"explicit parameters":                 {agreed(""), func(s sealed) { find(s, "NamedCurve").Tag = "ECParameters" }, ErrPolicy},
		"another salt":                        {agreed(derivationHKDF), text("Salt", []byte("salt")), ErrDecrypt},
		"no salt":                             {agreed(derivationHKDF), func(s sealed) { find(s, "Salt").SetText("") }, ErrDecrypt},
		"two salts":                           {agreed(derivationHKDF), func(s sealed) { find(s, "HKDFParams").AddChild(find(s, "Salt").Copy()) }, ErrMalformed},
		"a large salt":                        {agreed(derivationHKDF), text("Salt", make([]byte, maxInfo+1)), ErrMalformed},
		"an info":                             {agreed(derivationHKDF), func(s sealed) { find(s, "HKDFParams").CreateElement("more:Info").SetText("AAAA") }, ErrDecrypt},
		"another party":                       {agreed(""), func(s sealed) { find(s, "ConcatKDFParams").CreateAttr("PartyUInfo", "0000") }, ErrDecrypt},
		"public information":                  {agreed(""), func(s sealed) { find(s, "ConcatKDFParams").CreateAttr("SuppPubInfo", "0001") }, ErrDecrypt},
		"another digest of the derivation":    {agreed(""), func(s sealed) { find(s, "DigestMethod").CreateAttr("Algorithm", nsXENC+"sha512") }, ErrDecrypt},
		"a key wrap of another size":          {agreed(""), func(s sealed) { find(s, "EncryptionMethod").CreateAttr("Algorithm", nsXENC+"kw-aes256") }, ErrDecrypt},
		"a key wrap with padding":             {agreed(""), func(s sealed) { find(s, "EncryptionMethod").CreateAttr("Algorithm", nsXENC11+"kw-aes-128-pad") }, ErrPolicy},
		"key transport in a key agreement":    {agreed(""), func(s sealed) { find(s, "EncryptionMethod").CreateAttr("Algorithm", methodOAEP) }, ErrPolicy},
		"a label":                             {byRSA(), func(s sealed) { find(s, "EncryptionMethod").CreateElement("xenc:OAEPparams").SetText("AAAA") }, ErrDecrypt},
		"an empty label":                      {byRSA(), func(s sealed) { find(s, "EncryptionMethod").CreateElement("xenc:OAEPparams").SetText("") }, nil},
		"a large label": {byRSA(), func(s sealed) {
			find(s, "EncryptionMethod").CreateElement("xenc:OAEPparams").SetText(encode(make([]byte, maxLabel+1)))
		}, ErrMalformed},
		"another mask":            {byRSA(), func(s sealed) { find(s, "MGF").CreateAttr("Algorithm", nsXENC11+"mgf1sha512") }, ErrDecrypt},
		"two masks":               {byRSA(), func(s sealed) { find(s, "EncryptionMethod").AddChild(find(s, "MGF").Copy()) }, ErrMalformed},
		"zero for the key":        {byRSA(), text("CipherValue", make([]byte, 256)), ErrDecrypt},
		"the modulus for the key": {byRSA(), text("CipherValue", modulus(rsaHolder().cert)), ErrDecrypt},
		"two keys in one KeyInfo": {agreed(""), func(s sealed) { inlineKeys(s, find(s, "EncryptedKey"), 2) }, ErrMalformed},
		"one key in a KeyInfo":    {agreed(""), func(s sealed) { inlineKeys(s, find(s, "EncryptedKey"), 1) }, nil},
		"CBC in disguise": {agreed(""), func(s sealed) {
			xmltree.Children(find(s, "EncryptedData"), nsXENC, "EncryptionMethod")[0].CreateAttr("Algorithm", nsXENC+"aes128-gcm")
		}, ErrPolicy},
		"a tag of 12 bytes":                         {agreed(""), func(s sealed) { s.parts["0@x"] = s.parts["0@x"][:len(s.parts["0@x"])-4] }, ErrDecrypt},
		"no nonce":                                  {agreed(""), func(s sealed) { s.parts["0@x"] = s.parts["0@x"][12:] }, ErrDecrypt},
		"a nonce of 16 bytes":                       {agreed(""), func(s sealed) { s.parts["0@x"] = append(make([]byte, 4), s.parts["0@x"]...) }, ErrDecrypt},
		"the nonce of the other part":               {agreed(""), func(s sealed) { copy(s.parts["0@x"], s.parts["1@x"][:12]) }, ErrDecrypt},
		"the tag of the other part":                 {agreed(""), func(s sealed) { copy(s.parts["0@x"][13:], s.parts["1@x"][13:]) }, ErrDecrypt},
		"an element in the encrypted key":           {byRSA(), func(s sealed) { find(s, "CipherValue").CreateElement("xenc:a") }, ErrMalformed},
		"the other part, which has the same key":    {agreed(""), func(s sealed) { s.parts["0@x"] = s.parts["1@x"] }, nil}, // its digest is the signature's to find
		"an EncryptedData that lists what it is in": {agreed(""), func(s sealed) { find(s, "DataReference").CreateAttr("URI", "#nowhere") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.bend(c.s)
			_, err := unseal(sealed{reread(t, c.s.security), c.s.parts}, openers...)
			checkRefusal(t, err, c.want)
		})
	}
}

// checkRefusal holds ErrDecrypt to be bare: nothing may be added to it.
func checkRefusal(t *testing.T, err, want error) {
	t.Helper()
	if want == ErrDecrypt && err != ErrDecrypt || !errors.Is(err, want) { //nolint:errorlint // as above
		t.Errorf("got %v, want %v", err, want)
	}
}

// p256DER is somebody's public key on P-256; its last 65 bytes are the point.
func p256DER() ([]byte, error) { return x509.MarshalPKIXPublicKey(newEC(elliptic.P256()).Public()) }

// inlineKeys moves the key of a message into the KeyInfo of its first part, n
// times; the others refer to it.
func inlineKeys(s sealed, key *etree.Element, n int) {
	data := xmltree.Children(s.security, nsXENC, "EncryptedData")
	info := xmltree.Children(data[0], nsDS, "KeyInfo")[0]
	info.Child = nil
	s.security.RemoveChild(key)
	for i := range n {
		one := key.Copy()
		one.CreateAttr("Id", key.SelectAttrValue("Id", "")+strings.Repeat("x", i))
		info.AddChild(one)
	}
}

// TestNoKeyReadsAsMuch: whoever waits for the answer cannot tell by how much was
// read whether the key decrypted.
func TestNoKeyReadsAsMuch(t *testing.T) {
	t.Parallel()
	s := seal(t, Encrypting{Recipient: rsaHolder().cert, Cipher: AES128GCM}, filler(3*chunk))
	part := s.parts[partID(0)]
	spoiled := bytes.Clone(part)
	spoiled[len(part)-1] ^= 1
	for _, name := range []string{"the right key", "no key"} {
		if name == "no key" {
			xmltree.Find(s.security, func(e *etree.Element) bool { return e.Tag == "CipherValue" })[0].SetText(encode(make([]byte, 256)))
		}
		o, err := unlock(s.security, rsaHolder().opener())
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(spoiled)
		var out bytes.Buffer
		err = o.Decrypt(&out, partID(0), r)
		checkRefusal(t, err, ErrDecrypt)
		if r.Len() != 0 || out.Len() != 3*chunk {
			t.Errorf("%s: %d bytes are not read, %d were decrypted", name, r.Len(), out.Len())
		}
	}
}
