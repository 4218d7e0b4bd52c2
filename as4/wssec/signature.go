package wssec

import (
	"bytes"
	"crypto"
	"fmt"
	"slices"
	"strings"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// signature is a ds:Signature as read.
type signature struct {
	method  xmldsig.Method
	text    []byte // the canonical form of SignedInfo
	value   []byte
	keyInfo *etree.Element
}

// readSignature reads the one signature of the header into v: what it says,
// not whether it is true. Of the elements of XML Signature only those of the
// allow-list are taken, each once.
func (v *verifier) readSignature(e *etree.Element) (s signature, err error) {
	info, err := only(e, nsDS, "SignedInfo")
	if err != nil {
		return s, err
	}
	v.report.SignedInfoReferences = xmltree.Children(info, nsDS, "Reference")
	value, err := only(e, nsDS, "SignatureValue")
	if err != nil {
		return s, err
	}
	if s.value, err = decode(value); err != nil {
		return s, err
	}
	if s.keyInfo, err = only(e, nsDS, "KeyInfo"); err != nil {
		return s, err
	}
	if n := len(e.ChildElements()); n != 3 {
		return s, malformed("ds:Signature holds %d elements; SignedInfo, SignatureValue and KeyInfo belong there", n)
	}
	if s.method, err = v.readMethod(info); err != nil {
		return s, err
	}
	v.report.Algorithm = s.method.Name
	if s.text, err = canonicalInfo(info); err != nil {
		return s, err
	}
	return s, v.readReferences()
}

func (v *verifier) readMethod(info *etree.Element) (xmldsig.Method, error) {
	e, err := only(info, nsDS, "SignatureMethod")
	if err != nil {
		return xmldsig.Method{}, err
	}
	uri, _ := xmltree.Attr(e, "", "Algorithm")
	m, ok := xmldsig.MethodByURI(uri)
	switch {
	case !ok:
		return m, policy("the signature algorithm %s is not taken", shown(uri))
	case !v.trust.allows(m.Name):
		return m, policy("the signature algorithm %s is not agreed", m.Name)
	case m.Hash != 0 && m.Hash.Size() < v.trust.Digest.Size():
		return m, policy("the signature algorithm %s is weaker than %s", m.Name, v.trust.Digest)
	case len(e.ChildElements()) > 0:
		return m, policy("the signature algorithm %s has parameters", m.Name)
	}
	return m, nil
}

// canonicalInfo is the text that was signed.
func canonicalInfo(info *etree.Element) ([]byte, error) {
	e, err := only(info, nsDS, "CanonicalizationMethod")
	if err != nil {
		return nil, err
	}
	if n := len(info.ChildElements()) - len(xmltree.Children(info, nsDS, "Reference")); n != 2 {
		return nil, malformed("SignedInfo holds %d elements beside its references; a CanonicalizationMethod and a SignatureMethod belong there", n)
	}
	c14n, err := readC14N(e)
	if err != nil {
		return nil, err
	}
	var text signedText
	if err := xmltree.Canonical(&text, info, c14n); err != nil {
		return nil, malformed("canonical form of SignedInfo: %v", err)
	}
	return text.Bytes(), nil
}

// Bounds of SignedInfo, which is read before it is known who sent it, and whose
// references go back in a receipt.
const (
	maxSignedInfo  = 2 << 20 // bytes of its canonical form
	maxPrefixes    = 100     // of one PrefixList
	maxAllPrefixes = 1000    // of all of them
	inReference    = 6       // elements: Reference, Transforms, Transform, InclusiveNamespaces, DigestMethod, DigestValue
)

// signedText is the canonical form of SignedInfo as it is made.
type signedText struct{ bytes.Buffer }

// Write implements io.Writer.
func (t *signedText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > maxSignedInfo {
		return 0, fmt.Errorf("it has more than %d bytes", maxSignedInfo)
	}
	return t.Buffer.Write(p)
}

// readC14N reads a canonicalization that is taken: exclusive, without comments.
func readC14N(e *etree.Element) (xmltree.Method, error) {
	uri, _ := xmltree.Attr(e, "", "Algorithm")
	switch uri {
	case exclusiveC14N:
	case transformSTR:
		return xmltree.Method{}, policy("the transform STR-Transform, which signs a key reference, is not taken")
	case transformPart:
		return xmltree.Method{}, policy("the transform for attachments %s is used on an element", fragment(uri))
	default:
		return xmltree.Method{}, policy("the transform or canonicalization %s is not taken, only %s", shown(uri), exclusiveC14N)
	}
	children := e.ChildElements()
	if len(children) == 0 {
		return xmltree.Method{}, nil
	}
	if len(children) > 1 || !xmltree.Is(children[0], exclusiveC14N, "InclusiveNamespaces") {
		return xmltree.Method{}, malformed("%s has another parameter than one InclusiveNamespaces", shown(uri))
	}
	list, _ := xmltree.Attr(children[0], "", "PrefixList")
	prefixes := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	if len(prefixes) > maxPrefixes {
		return xmltree.Method{}, malformed("a PrefixList of %d prefixes, more than %d are not taken", len(prefixes), maxPrefixes)
	}
	return xmltree.Method{Prefixes: prefixes}, nil
}

// reference is a ds:Reference with how it is digested.
type reference struct {
	Result
	c14n xmltree.Method // of elements
}

func (v *verifier) readReferences() error {
	all := v.report.SignedInfoReferences
	if len(all) == 0 {
		return malformed("a signature without references")
	}
	if len(all) > v.trust.MaxReferences {
		return policy("the signature has %d references, more than %d are not taken", len(all), v.trust.MaxReferences)
	}
	targets, prefixes := map[string]bool{}, 0
	for _, e := range all {
		uri, _ := xmltree.Attr(e, "", "URI")
		r := reference{Result: Result{Reference: Reference{URI: uri}}}
		err := v.readReference(e, &r)
		if err != nil {
			r.Problem = err.Error()
		}
		v.references = append(v.references, r)
		v.report.References = append(v.report.References, r.Result)
		if err != nil {
			return fmt.Errorf("reference %s: %w", shown(uri), err)
		}
		if prefixes += len(r.c14n.Prefixes); prefixes > maxAllPrefixes {
			return malformed("the PrefixLists of its references have more than %d prefixes", maxAllPrefixes)
		}
		target := uri
		if r.Part != "" {
			target = cidScheme + r.Part
		}
		if targets[target] {
			return malformed("reference %s occurs twice", shown(uri))
		}
		targets[target] = true
	}
	return nil
}

// readReference reads where a reference leads, and how it is digested.
func (v *verifier) readReference(e *etree.Element, r *reference) error {
	if !plainReference(e) {
		return malformed("it holds more than transforms, a digest method and a digest")
	}
	if err := v.readDigest(e, r); err != nil {
		return err
	}
	transforms, err := only(e, nsDS, "Transforms")
	if err != nil {
		return policy("it has no transforms; taken are exclusive canonicalization of an element and the content transform of an attachment")
	}
	transform, err := only(transforms, nsDS, "Transform")
	if n := len(transforms.ChildElements()); err != nil || n != 1 {
		return policy("it has %d transforms, taken is one", n)
	}
	if id, ok := strings.CutPrefix(r.URI, "#"); ok {
		if r.c14n, err = readC14N(transform); err != nil {
			return err
		}
		if r.Element = v.ids[id]; r.Element == nil {
			return fmt.Errorf("%w: no element has this id", ErrSignature)
		}
		return nil
	}
	id, ok := ContentID(r.URI)
	if !ok {
		return policy("its URI leads neither to an element of this message (#id) nor to a part (cid:)")
	}
	r.Part = id
	uri, _ := xmltree.Attr(transform, "", "Algorithm")
	switch {
	case uri == transformWhole:
		return policy("the transform Attachment-Complete, which covers MIME headers, is not taken; sign with Attachment-Content")
	case uri != transformPart:
		return policy("the transform %s of an attachment is not taken", shown(uri))
	case len(transform.ChildElements()) > 0:
		return policy("the transform of an attachment has parameters")
	}
	return nil
}

// plainReference reports whether a ds:Reference holds no more elements than one
// may, and no attributes of other namespaces: it is copied into a receipt.
func plainReference(e *etree.Element) bool {
	all := xmltree.Find(e, func(*etree.Element) bool { return true })
	return len(all) <= inReference && len(e.ChildElements()) <= 3 && !slices.ContainsFunc(all, func(e *etree.Element) bool {
		return slices.ContainsFunc(e.Attr, func(a etree.Attr) bool { return a.Space != "" && a.Space != "xmlns" })
	})
}

func (v *verifier) readDigest(e *etree.Element, r *reference) error {
	m, err := only(e, nsDS, "DigestMethod")
	if err != nil {
		return err
	}
	uri, _ := xmltree.Attr(m, "", "Algorithm")
	digest, ok := xmldsig.DigestByURI(uri)
	if !ok {
		return policy("the digest algorithm %s is not taken", shown(uri))
	}
	if digest.Hash.Size() < v.trust.Digest.Size() {
		return policy("the digest algorithm %s is weaker than %s", digest.Name, v.trust.Digest)
	}
	value, err := only(e, nsDS, "DigestValue")
	if err != nil {
		return err
	}
	r.Digest = digest.Hash
	if r.Value, err = decode(value); err != nil {
		return err
	}
	if len(r.Value) != digest.Hash.Size() {
		return malformed("a digest of %d bytes, %s has %d", len(r.Value), digest.Name, digest.Hash.Size())
	}
	return nil
}

// allows tells whether a signature algorithm is agreed.
func (t Trust) allows(name SignatureAlgorithm) bool {
	for _, a := range t.Algorithms {
		if a == name {
			return true
		}
	}
	return t.Algorithms == nil
}

// withDefaults fills in what is not set.
func (t Trust) withDefaults() (Trust, error) {
	if t.Now.IsZero() {
		return t, setting("verification without a time")
	}
	if t.Digest == 0 {
		t.Digest = crypto.SHA256
	}
	if _, ok := xmldsig.DigestByHash(t.Digest); !ok {
		return t, setting("verification with the digest %s", t.Digest)
	}
	if t.MaxReferences == 0 {
		t.MaxReferences = defaultReferences
	}
	return t, nil
}
