package interop

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// seal is how a message is secured, in the words of a profile. It is read from the
// wire: a product that takes more than was agreed would not notice that a setting
// has no effect.
type seal struct {
	sign, digest, token             string
	encrypt, transport              string
	encryptToken                    string
	covered, sealed, packed, listed []string // names of elements, hrefs of payloads
}

// envelopeOf is the SOAP envelope of a message: its first part if it has several.
func envelopeOf(p passed) (*etree.Document, error) {
	text := p.request
	if kind, params, err := mime.ParseMediaType(p.header.Get("Content-Type")); err == nil && strings.HasPrefix(kind, "multipart/") {
		part, err := multipart.NewReader(bytes.NewReader(text), params["boundary"]).NextRawPart()
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(part); err != nil {
			return nil, err
		}
		text = b.Bytes()
	}
	return xmltree.Parse(text, xmltree.Limits{})
}

// sealOf reads an envelope.
func sealOf(d *etree.Document) (s seal) {
	if signed := d.FindElement("//Signature"); signed != nil {
		s.sign = algorithm(signed, "SignedInfo/SignatureMethod")
		s.token = tokenOf(d, signed.FindElement("KeyInfo/SecurityTokenReference"))
		for _, r := range signed.FindElements("SignedInfo/Reference") {
			s.digest = strings.TrimPrefix(s.digest+" "+algorithm(r, "DigestMethod"), " ")
			s.covered = append(s.covered, target(d, r.SelectAttrValue("URI", "")))
		}
		s.digest = only(strings.Fields(s.digest))
	}
	if wrapped := d.FindElement("//EncryptedKey"); wrapped != nil {
		s.wrapping(d, wrapped)
	}
	var ciphers []string
	for _, e := range d.FindElements("//EncryptedData") {
		ciphers = append(ciphers, algorithm(e, "EncryptionMethod"))
		if at := e.FindElement("CipherData/CipherReference"); at != nil {
			s.sealed = append(s.sealed, at.SelectAttrValue("URI", ""))
		}
	}
	s.encrypt = only(ciphers)
	for _, p := range d.FindElements("//PayloadInfo/PartInfo") {
		href := p.SelectAttrValue("href", "")
		s.listed = append(s.listed, href)
		for _, one := range p.FindElements("PartProperties/Property") {
			if one.SelectAttrValue("name", "") == "CompressionType" && one.Text() == "application/gzip" {
				s.packed = append(s.packed, href)
			}
		}
	}
	return s
}

// wrapping reads how the content key reaches the recipient.
func (s *seal) wrapping(d *etree.Document, wrapped *etree.Element) {
	named := wrapped.FindElement("KeyInfo/SecurityTokenReference")
	agreed := wrapped.FindElement("KeyInfo/AgreementMethod")
	if agreed == nil {
		s.transport = algorithm(wrapped, "EncryptionMethod")
		if s.transport == "rsa-oaep" {
			s.transport += "-" + strings.Replace(algorithm(wrapped, "EncryptionMethod/MGF"), "mgf1", "mgf1-", 1)
		}
	} else {
		s.transport = strings.ToLower(algorithm(wrapped, "KeyInfo/AgreementMethod"))
		if derived := algorithm(agreed, "KeyDerivationMethod"); s.transport == "ecdh-es" && derived == "hkdf" {
			s.transport += "-hkdf"
		} else if (s.transport == "ecdh-es") != (derived == "ConcatKDF") {
			s.transport += " by " + derived
		}
		named = agreed.FindElement("RecipientKeyInfo/SecurityTokenReference")
	}
	s.encryptToken = tokenOf(d, named)
}

// algorithm is the name at the end of an algorithm's URI.
func algorithm(e *etree.Element, path string) string {
	at := e.FindElement(path)
	if at == nil {
		return ""
	}
	uri := at.SelectAttrValue("Algorithm", "")
	return strings.TrimPrefix(uri[strings.LastIndex(uri, "#")+1:], "eddsa-")
}

// only is the one value that all have; where they differ, all of them.
func only(all []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " ")
}

// target names what a reference is to: an element, or a part by its href.
func target(d *etree.Document, uri string) string {
	if id, inside := strings.CutPrefix(uri, "#"); inside {
		if e := byID(d, id); e != nil {
			return e.Tag
		}
	}
	return uri
}

// byID finds the element that has an Id, whatever the namespace of the attribute.
func byID(d *etree.Document, id string) *etree.Element {
	for _, e := range d.FindElements("//*") {
		for _, a := range e.Attr {
			if a.Key == "Id" && a.Value == id {
				return e
			}
		}
	}
	return nil
}

// tokenOf says how a certificate is named.
func tokenOf(d *etree.Document, r *etree.Element) string {
	if r == nil {
		return "nothing"
	}
	if r.FindElement("X509Data/X509IssuerSerial") != nil {
		return "issuer-serial"
	}
	kind := ""
	if e := r.FindElement("KeyIdentifier"); e != nil {
		kind = e.SelectAttrValue("ValueType", "")
	}
	if e := r.FindElement("Reference"); e != nil {
		if held := byID(d, strings.TrimPrefix(e.SelectAttrValue("URI", ""), "#")); held != nil {
			kind = held.SelectAttrValue("ValueType", "")
		}
	}
	kind = kind[strings.LastIndex(kind, "#")+1:]
	return cmp.Or(map[string]string{
		"X509v3": "bst", "X509PKIPathv1": "pkipath", "PKCS7": "pkcs7", "X509SubjectKeyIdentifier": "ski", "ThumbprintSHA1": "thumbprint",
	}[kind], "token "+kind)
}

// judgeSeal compares how a message was secured with what the profile says: the
// signature covers header, Body and every payload, and every payload is encrypted
// and compressed.
func (p as4Profile) judgeSeal(s seal, r *result) {
	same := func(what, got, want string) {
		if got != want {
			r.add("%s on the wire: %q", what, got)
		}
	}
	var attached []string
	for _, href := range s.listed {
		if strings.HasPrefix(href, "cid:") {
			attached = append(attached, href)
		}
	}
	wantAttached := len(p.payloads)
	if p.body {
		wantAttached = 0
	}
	if len(attached) != wantAttached || len(s.listed) != len(p.payloads) {
		r.add("%d payloads on the wire, %d of them attached", len(s.listed), len(attached))
	}
	if p.signed() {
		same("signature", s.sign, p.sign)
		same("digest", s.digest, p.digest)
		same("signer", s.token, p.token)
		same("signed parts", sorted(s.covered), sorted(append([]string{"Messaging", "Body"}, attached...)))
	} else {
		same("signature", s.sign, "")
	}
	if p.encrypted() {
		same("cipher", s.encrypt, p.encrypt)
		same("key transport", s.transport, p.transport)
		same("encrypted parts", sorted(s.sealed), sorted(attached))
		if p.encryptToken != "auto" {
			same("recipient", s.encryptToken, p.encryptToken)
		}
	} else {
		same("cipher", s.encrypt, "")
	}
	packed := attached
	if p.plain {
		packed = nil
	}
	same("compressed parts", sorted(s.packed), sorted(packed))
}

func sorted(all []string) string { return fmt.Sprint(slices.Sorted(slices.Values(all))) }

// judgeNames compares who writes to whom about what with what was agreed: a peer
// takes a message whatever it says there.
func (t as4Terms) judgeNames(d *etree.Document, way direction, r *result) {
	text := func(path, attribute string) string {
		e := d.FindElement("//UserMessage/" + path)
		if e == nil {
			return ""
		}
		if attribute != "" {
			return e.SelectAttrValue(attribute, "")
		}
		return e.Text()
	}
	from, fromType, to, toType := t.Edigw, t.EdigwType, t.Peer, t.PeerType
	if way == fromPeer {
		from, fromType, to, toType = t.Peer, t.PeerType, t.Edigw, t.EdigwType
	}
	for _, one := range []struct{ what, got, want string }{
		{"From", text("PartyInfo/From/PartyId", ""), from},
		{"type of From", text("PartyInfo/From/PartyId", "type"), fromType},
		{"To", text("PartyInfo/To/PartyId", ""), to},
		{"type of To", text("PartyInfo/To/PartyId", "type"), toType},
		{"AgreementRef", text("CollaborationInfo/AgreementRef", ""), t.Agreement},
		{"type of AgreementRef", text("CollaborationInfo/AgreementRef", "type"), t.AgreementType},
		{"Service", text("CollaborationInfo/Service", ""), t.Service},
		{"type of Service", text("CollaborationInfo/Service", "type"), t.ServiceType},
		{"Action", text("CollaborationInfo/Action", ""), t.Action},
	} {
		if one.got != one.want {
			r.add("%s on the wire: %q", one.what, one.got)
		}
	}
	talk := text("CollaborationInfo/ConversationId", "")
	switch {
	case t.Conversation == "none" && talk != "", t.Conversation == "" && talk == "",
		way == toPeer && t.Conversation != "none" && t.Conversation != "" && talk != t.Conversation:
		r.add("ConversationId on the wire: %q", talk)
	}
}

// judgeWire looks at a message as it went over the wire.
func (c as4Cell) judgeWire(p passed, all papers, r *result) {
	d, err := envelopeOf(p)
	if err != nil {
		r.add("the envelope: %v", err)
		return
	}
	c.profile.judgeSeal(sealOf(d), r)
	c.terms.judgeNames(d, c.direction, r)
	for i, one := range all {
		if c.profile.encrypted() && len(one.body) > 1 && bytes.Contains(p.request, one.body[:min(len(one.body), 100)]) {
			r.add("payload %d can be read on the wire", i+1)
		}
	}
}
