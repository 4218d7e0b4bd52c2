package wssec

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/beevik/etree"
	"golang.org/x/crypto/cryptobyte"
	cryptoasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// writeToken writes how a certificate is named: the SecurityTokenReference, and
// the BinarySecurityToken that it refers to, nil for names only. wsse and wsu
// are prefixes that stand for their namespaces where both are put.
func writeToken(t Token, leaf *x509.Certificate, chain []*x509.Certificate, wsse, wsu string) (str, bst *etree.Element, err error) {
	str = etree.NewElement(wsse + ":SecurityTokenReference")
	switch t {
	case TokenBST, "":
		return str, carry(str, wsse, wsu, typeX509, leaf.Raw), nil
	case TokenPKIPath, TokenPKCS7:
		write, valueType := writePKIPath, typePKIPath
		if t == TokenPKCS7 {
			write, valueType = writePKCS7, typePKCS7
		}
		content, err := write(leaf, chain)
		if err != nil {
			return nil, nil, fmt.Errorf("encode certificates: %w", err)
		}
		return str, carry(str, wsse, wsu, valueType, content), nil
	case TokenSKI:
		if len(leaf.SubjectKeyId) == 0 { // X.509 token profile 1.1.1 §3.2.1: the value of the extension
			return nil, nil, setting("%s has no subject key identifier: name it by issuer-serial or thumbprint", describe(leaf))
		}
		identify(str, wsse, typeSKI, leaf.SubjectKeyId)
	case TokenThumbprint:
		sum := sha1.Sum(leaf.Raw)
		identify(str, wsse, typeThumbprint, sum[:])
	case TokenIssuerSerial:
		if err := writeIssuerSerial(str, leaf); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, setting("token %q is not one of bst, pkipath, pkcs7, ski, thumbprint, issuer-serial", t)
	}
	return str, nil, nil
}

// carry makes a BinarySecurityToken and the Reference to it.
func carry(str *etree.Element, wsse, wsu, valueType string, content []byte) *etree.Element {
	id := newID()
	bst := etree.NewElement(wsse + ":BinarySecurityToken")
	bst.CreateAttr("EncodingType", encodingBase64)
	bst.CreateAttr("ValueType", valueType)
	bst.CreateAttr(wsu+":Id", id)
	bst.SetText(encode(content))
	if valueType == typePKIPath || valueType == typePKCS7 { // Basic Security Profile 1.1 R5212, R5215
		str.CreateAttr("xmlns:wsse11", nsWSSE11)
		str.CreateAttr("wsse11:TokenType", valueType)
	}
	reference := str.CreateElement(wsse + ":Reference")
	reference.CreateAttr("URI", "#"+id)
	reference.CreateAttr("ValueType", valueType)
	return bst
}

func identify(str *etree.Element, wsse, valueType string, content []byte) {
	e := str.CreateElement(wsse + ":KeyIdentifier")
	e.CreateAttr("EncodingType", encodingBase64)
	e.CreateAttr("ValueType", valueType)
	e.SetText(encode(content))
}

func writeIssuerSerial(str *etree.Element, leaf *x509.Certificate) error {
	issuer, ok := nameText(leaf.RawIssuer)
	if !ok {
		return setting("the issuer of %s cannot be written as text: name it by thumbprint", describe(leaf))
	}
	data := str.CreateElement("ds:X509Data")
	data.CreateAttr("xmlns:ds", nsDS)
	e := data.CreateElement("ds:X509IssuerSerial")
	e.CreateElement("ds:X509IssuerName").SetText(issuer)
	e.CreateElement("ds:X509SerialNumber").SetText(leaf.SerialNumber.String())
	return nil
}

// newID makes an NCName that occurs nowhere else.
func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return "id-" + hex.EncodeToString(b)
}

// computedKeyID is method (1) of RFC 5280 §4.2.1.2, for certificates that do
// not carry the extension.
func computedKeyID(c *x509.Certificate) []byte {
	in := cryptobyte.String(c.RawSubjectPublicKeyInfo)
	var info cryptobyte.String
	var key []byte
	if !in.ReadASN1(&info, cryptoasn1.SEQUENCE) || !info.SkipASN1(cryptoasn1.SEQUENCE) || !info.ReadASN1BitStringAsBytes(&key) {
		return nil
	}
	sum := sha1.Sum(key)
	return sum[:]
}

func hasKeyID(c *x509.Certificate, id []byte) bool {
	return len(id) > 0 && (bytes.Equal(id, c.SubjectKeyId) || bytes.Equal(id, computedKeyID(c)))
}

// describe names a certificate for people: what they can compare with their
// own files, printable and bounded.
func describe(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	subject, ok := nameText(c.RawSubject)
	if !ok {
		subject = "an unreadable name"
	}
	return fmt.Sprintf("the certificate of %s, serial %s (SHA-256 %s)", shown(subject), serialText(c.SerialNumber), hexText(sum[:]))
}

// serialText is a serial number as certificates are shown everywhere: in
// hexadecimal.
func serialText(n *big.Int) string {
	if n.Sign() == 0 {
		return "00"
	}
	return hexText(n.Bytes())
}

func hexText(b []byte) string {
	var parts []string
	for _, c := range b[:min(len(b), maxShown/4)] {
		parts = append(parts, fmt.Sprintf("%02X", c))
	}
	return strings.Join(parts, ":")
}
