package wssec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"edigw/internal/certs"
	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// opensslCurves are the kinds of key, as openssl genpkey makes them.
var opensslCurves = []struct {
	name string
	args []string
}{
	{"P-256", []string{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"}},
	{"P-384", []string{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"}},
	{"P-521", []string{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"}},
	{"brainpoolP256r1", []string{"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1"}},
	{"X25519", []string{"-algorithm", "X25519"}},
}

// opensslHolder makes a key and a certificate over it, and reads both.
func opensslHolder(t *testing.T, o tool, genpkey []string) holder {
	t.Helper()
	o.run("openssl", append(append([]string{"genpkey"}, genpkey...), "-out", "ours.key")...)
	o.run("openssl", "pkey", "-in", "ours.key", "-pubout", "-out", "ours.pub")
	o.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=Test Authority")
	o.write("ext", []byte("subjectKeyIdentifier=hash\n"))
	o.run("openssl", "x509", "-new", "-force_pubkey", "ours.pub", "-subj", "/CN=ours.northwind.example", "-CA", "ca.crt", "-CAkey", "ca.key", "-extfile", "ext", "-set_serial", "77", "-out", "ours.crt")
	cert, err := certs.ParseCertificate(unPEM(t, o.read("ours.crt")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := certs.ParsePrivateKey(unPEM(t, o.read("ours.key")))
	if err != nil {
		t.Fatal(err)
	}
	return holder{cert, key}
}

func unPEM(t *testing.T, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no PEM: %.100q", text)
	}
	return block.Bytes
}

// opensslKDF derives a key from a secret in a file.
func opensslKDF(t *testing.T, o tool, hkdf bool, hash string, size int, salt, info []byte) []byte {
	t.Helper()
	args := []string{"kdf", "-keylen", fmt.Sprint(size), "-kdfopt", "digest:" + hash, "-kdfopt", "hexkey:" + hex.EncodeToString(o.read("secret"))}
	if len(info) > 0 {
		args = append(args, "-kdfopt", "hexinfo:"+hex.EncodeToString(info))
	}
	if len(salt) > 0 {
		args = append(args, "-kdfopt", "hexsalt:"+hex.EncodeToString(salt))
	}
	name := "SSKDF" // SP 800-56A, which XML Encryption calls ConcatKDF
	if hkdf {
		name = "HKDF"
	}
	text := strings.ReplaceAll(strings.TrimSpace(string(o.run("openssl", append(args, name)...))), ":", "")
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != size {
		t.Fatalf("openssl derived %q", text)
	}
	return key
}

// opensslWrap is AES key wrap, "-e" or "-d".
func opensslWrap(o tool, direction string, kek, in []byte) []byte {
	o.write("in", in)
	return o.run("openssl", "enc", fmt.Sprintf("-id-aes%d-wrap", len(kek)*8), direction, "-K", hex.EncodeToString(kek), "-iv", "A6A6A6A6A6A6A6A6", "-in", "in")
}

// standardGCM is the standard library's, which takes a part as a whole.
func standardGCM(t *testing.T, key []byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

// TestOpenSSLAgrees: openssl derives the key of what we wrote from the private
// key of the recipient and what the XML says, and the reverse.
func TestOpenSSLAgrees(t *testing.T) {
	t.Parallel()
	done := 0
	for i, curve := range opensslCurves {
		for j, derivation := range []string{derivationConcat, derivationHKDF} {
			o := newTool(t, "openssl")
			h := opensslHolder(t, o, curve.args)
			transport := KeyTransport{Derivation: derivation, Digest: xmldsig.Digests[(i+j)%3].Hash, Wrap: []int{128, 192, 256}[(i+j)%3]}
			e := Encrypting{Recipient: h.cert, Cipher: allDataCiphers[(i+2*j)%3], Transport: transport}
			content := filler(100_000)
			s := seal(t, e, content)
			key := opensslOpensKey(t, o, s.security)
			part := s.parts["0@x"]
			if got, err := standardGCM(t, key).Open(nil, part[:12], part[12:], nil); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %s: what we wrote: %v", curve.name, derivation, err)
			}
			done++
			s = opensslSeals(t, o, h, derivation == derivationHKDF, content)
			if plain, err := unseal(s, h.opener()); err != nil || !bytes.Equal(plain["0@x"], content) {
				t.Errorf("%s, %s: what openssl wrote: %v", curve.name, derivation, err)
			}
			done++
		}
	}
	t.Logf("%d exchanges of keys by agreement with openssl", done)
}

// opensslOpensKey unwraps the key of a message with ours.key.
func opensslOpensKey(t *testing.T, o tool, security *etree.Element) []byte {
	t.Helper()
	one := func(tag string) *etree.Element {
		all := xmltree.Find(security, func(e *etree.Element) bool { return e.Tag == tag })
		if len(all) == 0 {
			return etree.NewElement("none")
		}
		return all[0]
	}
	b64 := func(tag string) []byte {
		b, err := base64.StdEncoding.DecodeString(one(tag).Text())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	spki := b64("DEREncodedKeyValue")
	if len(spki) == 0 { // the head of the recipient's key fits the point of another on the same curve
		ours := unPEM(t, o.read("ours.pub"))
		point := b64("PublicKey")
		spki = append(bytes.Clone(ours[:len(ours)-len(point)]), point...)
	}
	o.write("peer.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}))
	o.run("openssl", "pkeyutl", "-derive", "-inkey", "ours.key", "-peerkey", "peer.pub", "-out", "secret")
	wrap, hash := one("EncryptionMethod").SelectAttrValue("Algorithm", ""), one("DigestMethod").SelectAttrValue("Algorithm", "")
	hkdf := one("PRF").SelectAttrValue("Algorithm", "")
	size := map[string]int{"kw-aes128": 16, "kw-aes192": 24, "kw-aes256": 32}[fragment(wrap)]
	kek := opensslKDF(t, o, hkdf != "", strings.ToUpper(strings.TrimPrefix(fragment(hkdf)+fragment(hash), "hmac-")), size, b64("Salt"), nil)
	return opensslWrap(o, "-d", kek, b64("CipherValue"))
}

// opensslSeals has openssl make an ephemeral key and wrap a key with it, with
// parameters that we do not write ourselves.
func opensslSeals(t *testing.T, o tool, h holder, hkdf bool, content []byte) sealed {
	t.Helper()
	kind, _ := agreeKeyOf(keyOf(h.cert))
	for _, c := range opensslCurves {
		if c.name == kind.name {
			o.run("openssl", append(append([]string{"genpkey"}, c.args...), "-out", "their.key")...)
		}
	}
	o.run("openssl", "pkeyutl", "-derive", "-inkey", "their.key", "-peerkey", "ours.pub", "-out", "secret")
	spki := o.run("openssl", "pkey", "-in", "their.key", "-pubout", "-outform", "DER")
	key, salt, info := filler(48)[32:], filler(20), []byte("context")
	params := `<d:KeyDerivationMethod Algorithm="http://www.w3.org/2021/04/xmldsig-more#hkdf"><m:HKDFParams xmlns:m="http://www.w3.org/2021/04/xmldsig-more#">` +
		`<m:PRF Algorithm="http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"/><m:Salt>` + encode(salt) + `</m:Salt><m:Info>` + encode(info) + `</m:Info></m:HKDFParams></d:KeyDerivationMethod>`
	if !hkdf {
		salt, info = nil, []byte{0x03, 0xd8, 0xab, 0xcd, 0xef}
		params = `<d:KeyDerivationMethod Algorithm="http://www.w3.org/2009/xmlenc11#ConcatKDF"><d:ConcatKDFParams AlgorithmID="0003D8" PartyUInfo="00ab" PartyVInfo="00CDef" SuppPubInfo="">` +
			`<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/></d:ConcatKDFParams></d:KeyDerivationMethod>`
	}
	wrapped := opensslWrap(o, "-e", opensslKDF(t, o, hkdf, "SHA256", 32, salt, info), key)
	method, originator := methodX25519, `<e:DEREncodedKeyValue>`+encode(spki)+`</e:DEREncodedKeyValue>`
	if kind.oid != "" {
		method, originator = methodECDHES, `<ds:KeyValue><e:ECKeyValue><e:NamedCurve URI="urn:oid:`+kind.oid+`"/><e:PublicKey>`+
			encode(spki[len(spki)-len(kind.point):])+`</e:PublicKey></e:ECKeyValue></ds:KeyValue>`
	}
	agreement := `<AgreementMethod Algorithm="` + method + `">` + params + `<OriginatorKeyInfo xmlns:e="` + nsDSIG11 + `">` + originator + `</OriginatorKeyInfo>` +
		`<RecipientKeyInfo><ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>CN=Test Authority</ds:X509IssuerName><ds:X509SerialNumber>77</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data></RecipientKeyInfo></AgreementMethod>`
	return byHand(t, nsXENC+"kw-aes256", "", agreement, wrapped, key, content)
}

// byHand writes a message with AES-128-GCM whose EncryptedKey is given in pieces.
func byHand(t *testing.T, method, parameters, keyInfo string, wrapped, key, content []byte) sealed {
	t.Helper()
	nonce := filler(12)
	part := standardGCM(t, key).Seal(bytes.Clone(nonce), nonce, content, nil)
	text := `<s:Security xmlns:s="` + nsWSSE + `" xmlns:ds="` + nsDS + `" xmlns:d="` + nsXENC11 + `"><EncryptedData xmlns="` + nsXENC + `" Id="data"><EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes128-gcm"/>` +
		`<CipherData><CipherReference URI="cid:0%40x"/></CipherData></EncryptedData>` +
		`<EncryptedKey xmlns="` + nsXENC + `"><EncryptionMethod Algorithm="` + method + `">` + parameters + `</EncryptionMethod><ds:KeyInfo>` + keyInfo + `</ds:KeyInfo>` +
		"<CipherData><CipherValue>\n" + encode(wrapped) + "\n</CipherValue></CipherData>" + `<ReferenceList><DataReference URI="#data"/></ReferenceList></EncryptedKey></s:Security>`
	return sealed{parseXML(t, text).Root(), map[string][]byte{"0@x": part}}
}

// TestOpenSSLTransports: every pair of OAEP, both ways; a label is read.
func TestOpenSSLTransports(t *testing.T) {
	t.Parallel()
	o := newTool(t, "openssl")
	h := rsaHolder()
	der, err := x509.MarshalPKCS8PrivateKey(h.key)
	if err != nil {
		t.Fatal(err)
	}
	o.write("ours.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	names := []string{"sha1", "sha224", "sha256", "sha384", "sha512"}
	done := 0
	for i, digest := range oaepHashes {
		for j, mask := range oaepHashes {
			options := []string{"-inkey", "ours.key", "-in", "in", "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:" + names[i], "-pkeyopt", "rsa_mgf1_md:" + names[j]}
			s := seal(t, Encrypting{Recipient: h.cert, Cipher: AES192GCM, Transport: KeyTransport{Method: transportOAEP, Digest: digest.hash, MGF: mask.hash}}, filler(1000))
			e, err := ReadEncrypted(s.security)
			if err != nil {
				t.Fatal(err)
			}
			o.write("in", e.keys[0].wrapped)
			key := o.run("openssl", append([]string{"pkeyutl", "-decrypt"}, options...)...)
			part := s.parts["0@x"]
			if got, err := standardGCM(t, key).Open(nil, part[:12], part[12:], nil); err != nil || !bytes.Equal(got, filler(1000)) {
				t.Errorf("%s, mask %s: what we wrote: %v", names[i], names[j], err)
			}
			done++

			key, label := filler(16), []byte("label")
			o.write("in", key)
			parameters := `<ds:DigestMethod Algorithm="` + digest.digest + `"/><d:MGF Algorithm="` + mask.mgf + `"/>`
			if (i+j)%2 == 0 {
				options = append(options, "-pkeyopt", "rsa_oaep_label:"+hex.EncodeToString(label))
				parameters = `<OAEPparams>` + encode(label) + `</OAEPparams>` + parameters
			}
			wrapped := o.run("openssl", append([]string{"pkeyutl", "-encrypt"}, options...)...)
			inline := `<ds:X509Data><ds:X509Certificate>` + encode(h.cert.Raw) + `</ds:X509Certificate></ds:X509Data>`
			s = byHand(t, methodOAEP, parameters, inline, wrapped, key, []byte("ISA~"))
			if plain, err := unseal(s, h.opener()); err != nil || string(plain["0@x"]) != "ISA~" {
				t.Errorf("%s, mask %s: what openssl wrote: %v", names[i], names[j], err)
			}
			done++
		}
	}
	t.Logf("%d exchanges of keys by OAEP with openssl", done)
}
