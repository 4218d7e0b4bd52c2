package xmldsig

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"edigw/internal/certs"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Namespace is that of XML Signature.
const Namespace = "http://www.w3.org/2000/09/xmldsig#"

// Algorithms of canonicalization and the transform of enveloped signatures (XML
// Signature 1.1 §6.5, §6.6.4).
const (
	inclusiveC14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	exclusiveC14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
	enveloped     = Namespace + "enveloped-signature"
)

// MaxRSABits bounds the keys of strangers.
const MaxRSABits = 8192

// maxCertificates bounds what a signature carries.
const maxCertificates = 16

// Errors of VerifyEnveloped. Each is wrapped with what was found.
var (
	ErrUnsigned  = errors.New("it is not signed")
	ErrMalformed = errors.New("the signature is malformed")
	ErrPolicy    = errors.New("the signature is of a kind that is not taken")
	ErrSignature = errors.New("the signature does not verify")
)

// Signer is whose signature it is, as it says itself.
type Signer struct {
	Certificate *x509.Certificate   // whose key made the signature
	Carried     []*x509.Certificate // all that came with it; trusted for nothing
}

// VerifyEnveloped checks the one signature that is a child of the root and covers
// all the rest of the document, and takes it out of the tree: what remains is
// exactly what was signed. Whether the signer is to be trusted, and whether its
// certificate is in force, is the caller's to ask. After an error the tree is to
// be thrown away.
func VerifyEnveloped(d *etree.Document) (Signer, error) {
	root := d.Root()
	all := xmltree.Children(root, Namespace, "Signature")
	switch len(all) {
	case 0:
		return Signer{}, ErrUnsigned
	case 1:
	default:
		return Signer{}, malformed("it has %d of them", len(all))
	}
	s, err := readSignature(all[0])
	if err != nil {
		return Signer{}, err
	}
	root.RemoveChild(all[0])
	sum := s.digest.Hash.New()
	if err := xmltree.CanonicalDocument(sum, d, s.content); err != nil {
		return Signer{}, malformed("%v", err)
	}
	if got := sum.Sum(nil); !bytes.Equal(got, s.want) {
		return Signer{}, fmt.Errorf("%w: the document was changed after it was signed, its digest is %s and the signature has %s", ErrSignature,
			base64.StdEncoding.EncodeToString(got), base64.StdEncoding.EncodeToString(s.want))
	}
	for _, c := range s.carried {
		if KindOf(c.PublicKey) == s.method.Kind && s.method.Verify(c.PublicKey, s.text, s.value) {
			return Signer{c, s.carried}, nil
		}
	}
	return Signer{}, fmt.Errorf("%w: it was made with the key of none of the %d certificates in it", ErrSignature, len(s.carried))
}

// signature is an enveloped signature as read.
type signature struct {
	method  Method
	text    []byte // the canonical form of SignedInfo
	value   []byte
	digest  Digest
	content xmltree.Method // of the document
	want    []byte         // its digest
	carried []*x509.Certificate
}

func readSignature(e *etree.Element) (s signature, err error) {
	var info, value, key *etree.Element
	for local, to := range map[string]**etree.Element{"SignedInfo": &info, "SignatureValue": &value, "KeyInfo": &key} {
		if *to, err = Only(e, Namespace, local); err != nil {
			return s, malformed("%v", err)
		}
	}
	if s.value, err = Binary(value); err != nil {
		return s, malformed("%v", err)
	}
	if err := s.readMethods(info); err != nil {
		return s, err
	}
	if err := s.readReference(info); err != nil {
		return s, err
	}
	return s, s.readKey(key)
}

func (s *signature) readMethods(info *etree.Element) error {
	if n := len(info.ChildElements()); n > 3 {
		return malformed("SignedInfo holds %d elements; a CanonicalizationMethod, a SignatureMethod and a Reference belong there", n)
	}
	m, err := Only(info, Namespace, "SignatureMethod")
	if err != nil {
		return malformed("%v", err)
	}
	var ok bool
	if s.method, ok = MethodByURI(algorithm(m)); !ok || len(m.ChildElements()) > 0 {
		return policy("the signature algorithm %.200q", algorithm(m))
	}
	c, err := Only(info, Namespace, "CanonicalizationMethod")
	if err != nil {
		return malformed("%v", err)
	}
	form, err := canonicalization(c)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := xmltree.Canonical(&text, info, form); err != nil {
		return malformed("%v", err)
	}
	s.text = text.Bytes()
	return nil
}

// readReference reads the one reference: all of the document but the signature.
func (s *signature) readReference(info *etree.Element) error {
	r, err := Only(info, Namespace, "Reference")
	if err != nil {
		return malformed("%v", err)
	}
	if uri, ok := xmltree.Attr(r, "", "URI"); !ok || uri != "" {
		return policy("a reference to %.200q; taken is one to the whole document", uri)
	}
	t, err := Only(r, Namespace, "Transforms")
	if err != nil {
		return malformed("%v", err)
	}
	transforms := xmltree.Children(t, Namespace, "Transform")
	if n := len(transforms); n != len(t.ChildElements()) || n == 0 || n > 2 || algorithm(transforms[0]) != enveloped || len(transforms[0].ChildElements()) > 0 {
		return policy("its transforms; taken are enveloped-signature and, behind it, a canonicalization")
	}
	s.content = xmltree.Method{Inclusive: true} // XML Signature 1.1 §4.4.3.2
	if len(transforms) == 2 {
		if s.content, err = canonicalization(transforms[1]); err != nil {
			return err
		}
	}
	m, err := Only(r, Namespace, "DigestMethod")
	if err != nil {
		return malformed("%v", err)
	}
	var ok bool
	if s.digest, ok = DigestByURI(algorithm(m)); !ok {
		return policy("the digest algorithm %.200q", algorithm(m))
	}
	v, err := Only(r, Namespace, "DigestValue")
	if err != nil {
		return malformed("%v", err)
	}
	if s.want, err = Binary(v); err != nil {
		return malformed("%v", err)
	}
	return nil
}

func canonicalization(e *etree.Element) (xmltree.Method, error) {
	switch uri := algorithm(e); {
	case len(e.ChildElements()) > 0:
		return xmltree.Method{}, policy("a canonicalization with parameters")
	case uri == inclusiveC14N:
		return xmltree.Method{Inclusive: true}, nil
	case uri == exclusiveC14N:
		return xmltree.Method{}, nil
	default:
		return xmltree.Method{}, policy("the canonicalization %.200q", uri)
	}
}

func (s *signature) readKey(info *etree.Element) error {
	for _, data := range xmltree.Children(info, Namespace, "X509Data") {
		for _, e := range xmltree.Children(data, Namespace, "X509Certificate") {
			if len(s.carried) == maxCertificates {
				return malformed("it carries more than %d certificates", maxCertificates)
			}
			der, err := Binary(e)
			if err != nil {
				return malformed("%v", err)
			}
			c, err := certs.ParseCertificate(der)
			if err != nil {
				return malformed("a certificate in it cannot be read: %v", err)
			}
			if pub, ok := c.PublicKey.(*rsa.PublicKey); ok && pub.N.BitLen() > MaxRSABits {
				return policy("an RSA key of %d bits, more than %d", pub.N.BitLen(), MaxRSABits)
			}
			s.carried = append(s.carried, c)
		}
	}
	if len(s.carried) == 0 {
		return policy("it carries no certificate")
	}
	return nil
}

func algorithm(e *etree.Element) string {
	uri, _ := xmltree.Attr(e, "", "Algorithm")
	return uri
}

// Only gives the one child of this name.
func Only(e *etree.Element, space, local string) (*etree.Element, error) {
	all := xmltree.Children(e, space, local)
	if len(all) != 1 {
		return nil, fmt.Errorf("%s has %d children %s, not one", e.Tag, len(all), local)
	}
	return all[0], nil
}

// Binary reads the base64 content of an element, which may be wrapped. Elements
// in it would be left out by us and not by others.
func Binary(e *etree.Element) ([]byte, error) {
	if len(e.ChildElements()) > 0 {
		return nil, fmt.Errorf("%s is not base64, it holds elements", e.Tag)
	}
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, xmltree.Text(e))
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil, fmt.Errorf("%s is not base64", e.Tag)
	}
	return b, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func policy(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPolicy, fmt.Sprintf(format, args...))
}
