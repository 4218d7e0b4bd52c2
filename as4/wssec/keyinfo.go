package wssec

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// maxTokens bounds the BinarySecurityTokens of one header.
const maxTokens = 8

// keyName is how a message names a certificate.
type keyName struct {
	text  string                       // for people
	certs []*x509.Certificate          // that it carries, whose key it is first; nil for a name only
	match func(*x509.Certificate) bool // of a name only
}

// names tells whether a certificate of ours is meant. Of one that is carried
// the key counts: a renewed certificate over the same key is the same signer.
func (k keyName) names(c *x509.Certificate) bool {
	if k.match != nil {
		return k.match(c)
	}
	return slices.ContainsFunc(k.certs, func(d *x509.Certificate) bool {
		return bytes.Equal(c.Raw, d.Raw) || bytes.Equal(c.RawSubjectPublicKeyInfo, d.RawSubjectPublicKeyInfo)
	})
}

// readKeyInfo reads which certificate a ds:KeyInfo names (X.509 token profile
// 1.1.1 §3.2). Of several tokens in the header the one that it refers to counts.
func readKeyInfo(info, security *etree.Element, ids map[string]*etree.Element) (keyName, error) {
	children := info.ChildElements()
	if len(children) != 1 {
		return keyName{}, malformed("ds:KeyInfo names %d keys, not one", len(children))
	}
	e := children[0]
	if xmltree.Is(e, nsWSSE, "SecurityTokenReference") {
		if children = e.ChildElements(); len(children) != 1 {
			return keyName{}, malformed("a SecurityTokenReference names %d keys, not one", len(children))
		}
		e = children[0]
	}
	switch {
	case xmltree.Is(e, nsWSSE, "Reference"):
		return followReference(e, security, ids)
	case xmltree.Is(e, nsWSSE, "KeyIdentifier"):
		return readKeyIdentifier(e)
	case xmltree.Is(e, nsDS, "X509Data"):
		return readX509Data(e)
	}
	return keyName{}, policy("a key named by %s; taken are references to a BinarySecurityToken, key identifiers and X509Data", shown(e.Tag))
}

func followReference(e, security *etree.Element, ids map[string]*etree.Element) (keyName, error) {
	uri, _ := xmltree.Attr(e, "", "URI")
	id, local := strings.CutPrefix(uri, "#")
	token := ids[id]
	if !local || token == nil || token.Parent() != security || !xmltree.Is(token, nsWSSE, "BinarySecurityToken") {
		return keyName{}, malformed("the key reference %s leads to no BinarySecurityToken of this header", shown(uri))
	}
	return readToken(token)
}

// readToken reads a BinarySecurityToken.
func readToken(e *etree.Element) (keyName, error) {
	content, err := readBinary(e)
	if err != nil {
		return keyName{}, err
	}
	valueType, _ := xmltree.Attr(e, "", "ValueType")
	k := keyName{text: "a BinarySecurityToken " + fragment(valueType)}
	switch valueType {
	case typeX509:
		var c *x509.Certificate
		if c, err = parseCertificate(content); err == nil {
			k.certs = []*x509.Certificate{c}
		}
	case typePKIPath:
		k.certs, err = readPKIPath(content)
	case typePKCS7:
		k.certs, err = readPKCS7(content)
	default:
		err = policy("a BinarySecurityToken of type %s; taken are X509v3, X509PKIPathv1 and PKCS7", shown(valueType))
	}
	return k, err
}

// readBinary decodes a token or key identifier.
func readBinary(e *etree.Element) ([]byte, error) {
	if encoding, ok := xmltree.Attr(e, "", "EncodingType"); ok && encoding != encodingBase64 {
		return nil, policy("%s is encoded as %s, not as %s", e.Tag, shown(encoding), encodingBase64)
	}
	content, err := decode(e)
	if err == nil && len(content) > maxTokenSize {
		return nil, malformed("%s has %d bytes, more than %d are not read", e.Tag, len(content), maxTokenSize)
	}
	return content, err
}

func readKeyIdentifier(e *etree.Element) (keyName, error) {
	content, err := readBinary(e)
	if err != nil {
		return keyName{}, err
	}
	valueType, _ := xmltree.Attr(e, "", "ValueType")
	switch fragment(valueType) {
	case "X509SubjectKeyIdentifier", "X509v3SubjectKeyIdentifier": // the second: drafts of the profile
		return keyName{
			text:  "the subject key identifier " + hexText(content),
			match: func(c *x509.Certificate) bool { return hasKeyID(c, content) },
		}, nil
	case "ThumbprintSHA1":
		return keyName{
			text: "the SHA-1 thumbprint " + hexText(content),
			match: func(c *x509.Certificate) bool {
				sum := sha1.Sum(c.Raw)
				return bytes.Equal(sum[:], content)
			},
		}, nil
	case "X509v3": // QUIRK(WSS4J): X509KeyIdentifier, the whole certificate as an identifier
		c, err := parseCertificate(content)
		return keyName{text: "the certificate in its KeyIdentifier", certs: []*x509.Certificate{c}}, err
	}
	return keyName{}, policy("a KeyIdentifier of type %s; taken are X509SubjectKeyIdentifier and ThumbprintSHA1", shown(valueType))
}

// fragment is the part of an identifier behind '#'.
func fragment(uri string) string {
	_, name, _ := strings.Cut(uri, "#")
	return shown(name)
}

// readX509Data reads ds:X509Data (XML Signature 1.1 §4.5.4) with one kind of
// content.
func readX509Data(e *etree.Element) (keyName, error) {
	if inline := xmltree.Children(e, nsDS, "X509Certificate"); len(inline) > 0 {
		return readInline(inline)
	}
	named, err := only(e, nsDS, "X509IssuerSerial")
	if err != nil {
		return keyName{}, policy("X509Data without a certificate or one X509IssuerSerial")
	}
	name, err := only(named, nsDS, "X509IssuerName")
	if err != nil {
		return keyName{}, err
	}
	number, err := only(named, nsDS, "X509SerialNumber")
	if err != nil {
		return keyName{}, err
	}
	issuer, text := xmltree.Text(name), strings.TrimSpace(xmltree.Text(number))
	serial, ok := new(big.Int), false
	if len(text) <= maxShown {
		serial, ok = serial.SetString(text, 10)
	}
	if !ok {
		return keyName{}, malformed("X509SerialNumber %s is not a decimal number", shown(text))
	}
	return keyName{
		text: fmt.Sprintf("serial %s issued by %s", serialText(serial), shown(issuer)),
		match: func(c *x509.Certificate) bool {
			return c.SerialNumber.Cmp(serial) == 0 && sameIssuer(issuer, c.RawIssuer)
		},
	}, nil
}

func readInline(inline []*etree.Element) (keyName, error) {
	if len(inline) > maxCertificates {
		return keyName{}, malformed("more than %d certificates in X509Data", maxCertificates)
	}
	k := keyName{text: "the certificate in its X509Data"}
	for _, e := range inline {
		der, err := readBinary(e)
		if err != nil {
			return keyName{}, err
		}
		c, err := parseCertificate(der)
		if err != nil {
			return keyName{}, err
		}
		k.certs = append(k.certs, c)
	}
	return k, nil
}

// claimed reads all certificates that the header carries, as far as they can
// be read.
func claimed(security *etree.Element) (all []*x509.Certificate) {
	tokens := xmltree.Children(security, nsWSSE, "BinarySecurityToken")
	for _, e := range tokens[:min(len(tokens), maxTokens)] {
		if k, err := readToken(e); err == nil {
			all = append(all, k.certs...)
		}
	}
	return all
}
