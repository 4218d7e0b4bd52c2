package wssec

import (
	"bytes"
	"crypto"
	"fmt"
	"slices"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Covered is what a signature is to cover.
type Covered struct {
	Elements []*etree.Element // each gets a wsu:Id if it has none
	Parts    []Digested
}

// Digested is a part with its digest, by a Digester over its media type and
// the hash of Signing.
type Digested struct {
	ContentID string // without angle brackets
	Digest    []byte
}

// Sign appends a signature over elements and parts to the wsse:Security of an
// envelope, behind the BinarySecurityToken if the token is one that carries
// certificates. All is digested as it stands: nothing in the elements, nor the
// namespaces declared around them, may change afterwards. It gives the
// references, elements first, in the order of c.
//
// What does not fit on our side is ErrSetting; other errors are those of the
// key. It blocks as long as the key does. After an error the header is to be
// thrown away.
func Sign(security *etree.Element, c Covered, s Signing) ([]Reference, error) {
	m, digest, err := s.check()
	if err != nil {
		return nil, err
	}
	if err := c.check(security, digest.Hash); err != nil {
		return nil, err
	}
	str, bst, err := writeToken(s.Token, s.Certificate, s.Chain, prefixFor(security, nsWSSE, "wsse"), prefixFor(security, nsWSU, "wsu"))
	if err != nil {
		return nil, err
	}
	if bst != nil {
		security.AddChild(bst)
	}
	signature := security.CreateElement("ds:Signature")
	signature.CreateAttr("xmlns:ds", nsDS)
	info := signature.CreateElement("ds:SignedInfo")
	info.CreateElement("ds:CanonicalizationMethod").CreateAttr("Algorithm", exclusiveC14N)
	info.CreateElement("ds:SignatureMethod").CreateAttr("Algorithm", m.URI)
	references, err := c.references(digest)
	if err != nil {
		return nil, err
	}
	for i, r := range references {
		transform := exclusiveC14N
		if i >= len(c.Elements) {
			transform = transformPart
		}
		r.write(info, digest, transform)
	}
	var text bytes.Buffer
	if err := xmltree.Canonical(&text, info, xmltree.Method{}); err != nil {
		return nil, fmt.Errorf("canonical form of SignedInfo: %w", err)
	}
	value, err := m.Sign(s.Key, text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("sign with the key of %s: %w", describe(s.Certificate), err)
	}
	signature.CreateElement("ds:SignatureValue").SetText(encode(value))
	signature.CreateElement("ds:KeyInfo").AddChild(str)
	return references, nil
}

// check holds key, certificate and algorithms together.
func (s Signing) check() (xmldsig.Method, xmldsig.Digest, error) {
	if s.Key == nil || s.Certificate == nil {
		return xmldsig.Method{}, xmldsig.Digest{}, setting("key or certificate for signing is missing")
	}
	m, ok := xmldsig.MethodByName(s.Algorithm)
	if !ok {
		return xmldsig.Method{}, xmldsig.Digest{}, setting("signature algorithm %q is not known", s.Algorithm)
	}
	if s.Digest == 0 {
		s.Digest = crypto.SHA256
	}
	digest, ok := xmldsig.DigestByHash(s.Digest)
	if !ok {
		return xmldsig.Method{}, xmldsig.Digest{}, setting("signing with the digest %s", s.Digest)
	}
	if kind := xmldsig.KindOf(s.Certificate.PublicKey); kind != m.Kind {
		return xmldsig.Method{}, xmldsig.Digest{}, setting("%s needs a key of kind %s, and %s has one of kind %s", m.Name, m.Kind, describe(s.Certificate), kind)
	}
	own, ok := s.Certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !own.Equal(s.Key.Public()) {
		return xmldsig.Method{}, xmldsig.Digest{}, setting("the key does not belong to %s", describe(s.Certificate))
	}
	return m, digest, nil
}

// check holds what is to be covered against the place of the signature.
func (c Covered) check(security *etree.Element, h crypto.Hash) error {
	if !xmltree.Is(security, nsWSSE, "Security") || security.Parent() == nil {
		return setting("a signature goes into a wsse:Security that stands in an envelope")
	}
	if len(xmltree.Children(security, nsDS, "Signature")) > 0 {
		return setting("the header is signed already")
	}
	if len(c.Elements)+len(c.Parts) == 0 {
		return setting("nothing to sign")
	}
	for _, e := range c.Elements {
		for up := security; up != nil; up = up.Parent() {
			if up == e {
				return setting("%s holds the signature itself and cannot be signed", e.FullTag())
			}
		}
	}
	for i, p := range c.Parts {
		if len(p.Digest) != h.Size() {
			return setting("the digest of part %s has %d bytes, %s has %d", shown(p.ContentID), len(p.Digest), h, h.Size())
		}
		if slices.ContainsFunc(c.Parts[:i], func(q Digested) bool { return p.ContentID == q.ContentID }) || p.ContentID == "" {
			return setting("two parts with the Content-ID %q, or one without", p.ContentID)
		}
	}
	return nil
}

// references digests the elements.
func (c Covered) references(digest xmldsig.Digest) ([]Reference, error) {
	var all []Reference
	for _, e := range c.Elements {
		id, err := ensureID(e)
		if err != nil {
			return nil, err
		}
		sum := digest.Hash.New()
		if err := xmltree.Canonical(sum, e, xmltree.Method{}); err != nil {
			return nil, fmt.Errorf("canonical form of %s: %w", e.FullTag(), err)
		}
		all = append(all, Reference{URI: "#" + id, Digest: digest.Hash, Value: sum.Sum(nil)})
	}
	for _, p := range c.Parts {
		all = append(all, Reference{URI: PartURI(p.ContentID), Digest: digest.Hash, Value: p.Digest})
	}
	return all, nil
}

func (r Reference) write(info *etree.Element, digest xmldsig.Digest, transform string) {
	e := info.CreateElement("ds:Reference")
	e.CreateAttr("URI", r.URI)
	e.CreateElement("ds:Transforms").CreateElement("ds:Transform").CreateAttr("Algorithm", transform)
	e.CreateElement("ds:DigestMethod").CreateAttr("Algorithm", digest.URI)
	e.CreateElement("ds:DigestValue").SetText(encode(r.Value))
}

// ensureID gives the wsu:Id of an element, a new one if it has none.
func ensureID(e *etree.Element) (string, error) {
	id, ok := xmltree.Attr(e, nsWSU, "Id")
	if !ok {
		id = newID()
		e.CreateAttr(prefixFor(e, nsWSU, "wsu")+":Id", id)
	}
	if !isNCName(id) {
		return "", setting("the wsu:Id %s of %s is no NCName", shown(id), e.FullTag())
	}
	return id, nil
}

// isNCName holds an id to what every stack takes: letters and digits of ASCII,
// "-", "_" and ".", and no digit, "-" or "." in front.
func isNCName(id string) bool {
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return id != ""
}

// prefixFor gives a prefix that stands for a namespace at an element: one that
// is in scope, or the wanted one with digits behind it, declared there.
func prefixFor(e *etree.Element, space, want string) string {
	taken := map[string]bool{}
	for up := e; up != nil; up = up.Parent() {
		for _, a := range up.Attr {
			if a.Space != "xmlns" || taken[a.Key] {
				continue
			}
			if a.Value == space {
				return a.Key
			}
			taken[a.Key] = true
		}
	}
	prefix := want
	for i := 1; taken[prefix]; i++ {
		prefix = fmt.Sprintf("%s%d", want, i)
	}
	e.CreateAttr("xmlns:"+prefix, space)
	return prefix
}
