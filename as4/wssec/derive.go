package wssec

import (
	"crypto"
	"crypto/hkdf"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// maxInfo bounds each parameter of a key derivation.
const maxInfo = 4 << 10

// derivation makes a key out of a shared secret.
type derivation struct {
	hkdf       bool
	hash       crypto.Hash
	salt, info []byte // info of ConcatKDF: all of OtherInfo
}

// key derives size bytes.
func (d derivation) key(secret []byte, size int) ([]byte, error) {
	if d.hkdf {
		return hkdf.Key(d.hash.New, secret, d.salt, string(d.info), size)
	}
	return concatKDF(d.hash, secret, d.info, size), nil
}

// concatKDF is the key derivation of XML Encryption 1.1 §5.4.1 and SP 800-56A
// §5.8.1.
func concatKDF(h crypto.Hash, secret, info []byte, size int) []byte {
	var key []byte
	for counter := uint32(1); len(key) < size; counter++ {
		sum := h.New()
		sum.Write(binary.BigEndian.AppendUint32(nil, counter))
		sum.Write(secret)
		sum.Write(info)
		key = sum.Sum(key)
	}
	return key[:size]
}

// prfs are the functions of HKDF (RFC 9231 §2.2.2, §2.8.1).
var prfs = []struct {
	hash crypto.Hash
	uri  string
}{
	{crypto.SHA256, moreFirst + "hmac-sha256"},
	{crypto.SHA384, moreFirst + "hmac-sha384"},
	{crypto.SHA512, moreFirst + "hmac-sha512"},
}

// newDerivation is the derivation that we write. A random salt makes HKDF's
// outcome independent of everything else (RFC 5869 §3.1).
func newDerivation(name string, h crypto.Hash) derivation {
	d := derivation{hkdf: name == derivationHKDF, hash: h}
	if d.hkdf {
		d.salt = make([]byte, h.Size())
		rand.Read(d.salt) // never fails
	}
	return d
}

// write puts xenc11:KeyDerivationMethod into an AgreementMethod. The parameters
// of ConcatKDF are empty: that is what the profiles of ENTSOG and BDEW do.
func (d derivation) write(agreement *etree.Element, size int) {
	e := agreement.CreateElement("xenc11:KeyDerivationMethod")
	if !d.hkdf {
		e.CreateAttr("Algorithm", methodConcatKDF)
		params := e.CreateElement("xenc11:ConcatKDFParams")
		for _, name := range []string{"AlgorithmID", "PartyUInfo", "PartyVInfo"} {
			params.CreateAttr(name, "")
		}
		params.CreateElement("ds:DigestMethod").CreateAttr("Algorithm", DigestURI(d.hash))
		return
	}
	e.CreateAttr("Algorithm", methodHKDF)
	params := e.CreateElement("more:HKDFParams")
	params.CreateAttr("xmlns:more", nsMore)
	for _, p := range prfs {
		if p.hash == d.hash {
			params.CreateElement("more:PRF").CreateAttr("Algorithm", p.uri)
		}
	}
	params.CreateElement("more:Salt").SetText(encode(d.salt))
	params.CreateElement("more:KeyLength").SetText(strconv.Itoa(size))
}

// readDerivation reads KeyDerivationMethod for a key of size bytes.
func readDerivation(agreement *etree.Element, size int) (derivation, error) {
	e, err := only(agreement, nsXENC11, "KeyDerivationMethod")
	if err != nil {
		return derivation{}, err
	}
	method, err := algorithmOf(e)
	if err != nil {
		return derivation{}, err
	}
	switch method {
	case methodConcatKDF:
		params, err := only(e, nsXENC11, "ConcatKDFParams")
		if err != nil {
			return derivation{}, err
		}
		return readConcatKDF(params)
	case methodHKDF:
		params, err := only(e, nsMore, "HKDFParams")
		if err != nil {
			return derivation{}, err
		}
		return readHKDF(params, size)
	}
	return derivation{}, policy("key derivation by %s; taken are ConcatKDF and HKDF", shown(method))
}

// readConcatKDF reads xenc11:ConcatKDFParams. OtherInfo is its attributes one
// behind the other (XML Encryption 1.1 §5.4.1).
func readConcatKDF(params *etree.Element) (derivation, error) {
	var d derivation
	uri, err := parameter(params, nsDS, "DigestMethod")
	if err != nil {
		return d, err
	}
	h, ok := DigestByURI(uri)
	if !ok {
		return d, policy("ConcatKDF with the digest %s; taken are SHA-256, SHA-384 and SHA-512", shown(uri))
	}
	d.hash = h
	for _, name := range []string{"AlgorithmID", "PartyUInfo", "PartyVInfo", "SuppPubInfo", "SuppPrivInfo"} {
		text, _ := xmltree.Attr(params, "", name)
		bits, err := readBits(name, text)
		if err != nil {
			return d, err
		}
		d.info = append(d.info, bits...)
	}
	return d, nil
}

// readBits reads a bit string of ConcatKDF: hexadecimal, of which the first byte
// says how many bits at the end do not count. An absent or empty one is empty.
func readBits(name, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if len(text) > 2*maxInfo {
		return nil, malformed("%s of ConcatKDF has %d digits, more than %d are not read", name, len(text), 2*maxInfo)
	}
	bits, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return nil, malformed("%s of ConcatKDF is not hexadecimal: %s", name, shown(text))
	case bits[0] > 7 || bits[0] > 0 && len(bits) == 1:
		return nil, malformed("%s of ConcatKDF is no bit string: %s", name, shown(text))
	case bits[0] != 0: // what would follow it had to be moved by single bits; nobody writes that
		return nil, policy("%s of ConcatKDF is not of whole bytes: %s", name, shown(text))
	}
	return bits[1:], nil
}

// readHKDF reads HKDFParams (RFC 9231 §2.8.1). Salt and Info may be absent.
// QUIRK(Santuario 4): it writes PRF where the schema wants it, but looks for it
// among the names of XML Encryption 1.1, and means SHA-256 if it is not there.
func readHKDF(params *etree.Element, size int) (derivation, error) {
	d := derivation{hkdf: true}
	uri, err := parameter(params, nsMore, "PRF")
	if err == nil && uri == "" {
		uri, err = parameter(params, nsXENC11, "PRF")
	}
	if err != nil {
		return d, err
	}
	for _, p := range prfs {
		if p.uri == uri {
			d.hash = p.hash
		}
	}
	if d.hash == 0 {
		return d, policy("HKDF with the function %q; taken are hmac-sha256, hmac-sha384 and hmac-sha512", shown(uri))
	}
	for name, value := range map[string]*[]byte{"Salt": &d.salt, "Info": &d.info} {
		if *value, err = optionalBinary(params, name); err != nil {
			return d, err
		}
	}
	return d, checkKeyLength(params, size)
}

// optionalBinary reads a child of HKDFParams that there may be once.
func optionalBinary(params *etree.Element, name string) ([]byte, error) {
	all := xmltree.Children(params, nsMore, name)
	if len(all) > 1 {
		return nil, malformed("HKDFParams has %d children %s, not one", len(all), name)
	}
	if len(all) == 0 || strings.TrimSpace(xmltree.Text(all[0])) == "" {
		return nil, nil
	}
	value, err := decode(all[0])
	if err == nil && len(value) > maxInfo {
		return nil, malformed("%s of HKDF has %d bytes, more than %d are not read", name, len(value), maxInfo)
	}
	return value, err
}

// checkKeyLength: KeyLength, in bytes, must be that of the key wrap if it is
// there. It goes into no computation.
func checkKeyLength(params *etree.Element, size int) error {
	all := xmltree.Children(params, nsMore, "KeyLength")
	if len(all) == 0 {
		return nil
	}
	text := strings.TrimSpace(xmltree.Text(all[0]))
	if n, err := strconv.Atoi(text); len(all) > 1 || err != nil || n != size {
		return malformed("KeyLength of HKDF is %s where the key wrap takes a key of %d bytes", shown(text), size)
	}
	return nil
}

// derivationOf chooses the derivation by its name in KeyTransport.
func derivationOf(t KeyTransport, x25519 bool) (string, crypto.Hash, error) {
	name, h := t.Derivation, t.Digest
	if h == 0 {
		h = crypto.SHA256
	}
	if _, ok := xmldsig.DigestByHash(h); !ok {
		return "", 0, setting("a key cannot be derived with %v: it is SHA-256, SHA-384 or SHA-512", h)
	}
	switch {
	case name == "" && x25519:
		name = derivationHKDF
	case name == "":
		name = derivationConcat
	case name != derivationConcat && name != derivationHKDF:
		return "", 0, setting("derivation %q is not one of %s", name, fmt.Sprintf("%s, %s", derivationConcat, derivationHKDF))
	}
	return name, h, nil
}
