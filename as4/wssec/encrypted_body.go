package wssec

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// maxBody bounds an encrypted Body: it is held in memory, as all XML is.
const maxBody = 4 << 20

// Body decrypts what a SOAP Body holds if that is xenc:EncryptedData, and puts
// it in its place; without it nothing is done. The signature is over what stands
// there then. Errors are those of Decrypt, ErrMalformed and ErrPolicy; that what
// was decrypted is not XML is ErrDecrypt too, since it says what it is, and anybody
// can send what he overheard.
func (o *Opening) Body(body *etree.Element) error {
	all := xmltree.Children(body, nsXENC, "EncryptedData")
	if len(all) == 0 {
		return nil
	}
	element := all[0]
	if len(body.ChildElements()) != 1 {
		return malformed("a Body holds EncryptedData and something else")
	}
	if kind, _ := xmltree.Attr(element, "", "Type"); kind != "" && kind != typeElementContent && kind != typeElement {
		return policy("EncryptedData of type %s in the Body; taken are an element and its content", shown(kind))
	}
	d, err := o.encrypted.readData(element)
	if err != nil {
		return err
	}
	if !anyOf(d.keys, o.secrets) {
		return malformed("the key of the Body is not for us")
	}
	value, err := readCipherValue(element, maxBody)
	if err != nil {
		return err
	}
	var plain bytes.Buffer
	if err := open(&plain, bytes.NewReader(value), o.contentKey(d)); err != nil {
		return err
	}
	nodes, err := parseContent(body, plain.Bytes())
	if err != nil {
		return fmt.Errorf("%w: what stands in the Body is not XML: %w", ErrDecrypt, err)
	}
	at := element.Index()
	body.RemoveChild(element)
	for i, n := range nodes {
		body.InsertChildAt(at+i, n)
	}
	return nil
}

// parseContent reads XML that stands in body, with the namespaces of there.
func parseContent(body *etree.Element, content []byte) ([]etree.Token, error) {
	var text bytes.Buffer
	text.WriteString("<content")
	seen := map[string]bool{}
	for e := body; e != nil; e = e.Parent() {
		for _, a := range e.Attr {
			name := a.FullKey()
			if (a.Space != "xmlns" && name != "xmlns") || seen[name] {
				continue
			}
			seen[name] = true
			text.WriteString(" " + name + `="`)
			_ = xml.EscapeText(&text, []byte(a.Value)) // a Buffer takes everything
			text.WriteByte('"')
		}
	}
	text.WriteByte('>')
	text.Write(content)
	text.WriteString("</content>")
	doc, err := xmltree.Parse(text.Bytes(), xmltree.Limits{})
	if err != nil {
		return nil, err
	}
	return slices.Clone(doc.Root().Child), nil
}
