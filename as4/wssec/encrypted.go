package wssec

import (
	"slices"
	"strings"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Bounds of what is read before anything is known of the sender.
const (
	maxEncryptedKeys = 8    // in a message; real ones have one
	maxPrivate       = 4    // of these, how many are decrypted with a key of ours
	maxEncryptedData = 1000 // parts
	maxWrapped       = 2 << 10
)

// Encrypted is what the wsse:Security of a message says of its encryption.
type Encrypted struct {
	security *etree.Element
	ids      map[string]*etree.Element // of what is in it
	keys     []*encryptedKey
	data     []*encryptedData
}

// EncryptedPart is an attachment that is encrypted.
type EncryptedPart struct {
	ContentID string // without angle brackets
	MediaType string // of its content; empty if that is not told
	Cipher    DataCipher
}

// encryptedKey is an xenc:EncryptedKey.
type encryptedKey struct {
	element    *etree.Element
	method     string
	parameters *etree.Element // EncryptionMethod
	agreement  *etree.Element // AgreementMethod; nil for key transport
	wrapped    []byte
	recipient  keyName
	unnamed    error    // why recipient cannot be read; it may be no business of ours
	lists      []string // ids of what it opens, as far as it says so
}

// encryptedData is an xenc:EncryptedData.
type encryptedData struct {
	EncryptedPart
	cipher dataCipher
	keys   []*encryptedKey // any of which opens it
}

// ReadEncrypted reads xenc:EncryptedKey and xenc:EncryptedData, in any order. It
// gives nil if nothing is encrypted. Errors are ErrMalformed, and ErrPolicy for
// algorithms that are not taken.
func ReadEncrypted(security *etree.Element) (*Encrypted, error) {
	if security == nil {
		return nil, nil
	}
	keys := xmltree.Children(security, nsXENC, "EncryptedKey")
	data := xmltree.Children(security, nsXENC, "EncryptedData")
	if len(keys) == 0 && len(data) == 0 {
		return nil, nil
	}
	if len(data) > maxEncryptedData {
		return nil, malformed("%d parts are encrypted, more than %d are not taken", len(data), maxEncryptedData)
	}
	e := &Encrypted{security: security}
	var twice string
	if e.ids, twice = xmltree.IDs(security); twice != "" {
		return nil, malformed("Id %s occurs twice", shown(twice))
	}
	for _, k := range keys {
		if _, err := e.addKey(k); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, d := range data {
		one, err := e.readPart(d)
		if err != nil {
			return nil, err
		}
		if seen[one.ContentID] {
			return nil, malformed("part %s is encrypted twice", shown(one.ContentID))
		}
		seen[one.ContentID] = true
		e.data = append(e.data, one)
	}
	return e, nil
}

// Parts are the attachments that are encrypted, in the order of the header.
func (e *Encrypted) Parts() []EncryptedPart {
	var all []EncryptedPart
	for _, d := range e.data {
		all = append(all, d.EncryptedPart)
	}
	return all
}

// addKey reads an xenc:EncryptedKey.
func (e *Encrypted) addKey(element *etree.Element) (*encryptedKey, error) {
	if len(e.keys) == maxEncryptedKeys {
		return nil, malformed("more than %d EncryptedKeys", maxEncryptedKeys)
	}
	k := &encryptedKey{element: element}
	var err error
	if k.parameters, err = only(element, nsXENC, "EncryptionMethod"); err != nil {
		return nil, err
	}
	if k.method, err = algorithmOf(k.parameters); err != nil {
		return nil, err
	}
	if k.wrapped, err = readCipherValue(element, maxWrapped); err != nil {
		return nil, err
	}
	if k.agreement, err = e.readRecipient(k); err != nil {
		return nil, err
	}
	if lists := xmltree.Children(element, nsXENC, "ReferenceList"); len(lists) > 0 {
		for _, r := range xmltree.Children(lists[0], nsXENC, "DataReference") {
			uri, _ := xmltree.Attr(r, "", "URI")
			if len(k.lists) == maxEncryptedData {
				return nil, malformed("an EncryptedKey for more than %d parts", maxEncryptedData)
			}
			k.lists = append(k.lists, strings.TrimPrefix(uri, "#"))
		}
	}
	e.keys = append(e.keys, k)
	return k, nil
}

// readRecipient reads for whom a key is. A name that cannot be read matters only
// if no key is for us.
func (e *Encrypted) readRecipient(k *encryptedKey) (agreement *etree.Element, err error) {
	infos := xmltree.Children(k.element, nsDS, "KeyInfo")
	if len(infos) == 0 {
		k.unnamed = policy("an EncryptedKey does not say for whom it is")
		return nil, nil
	}
	if len(infos) > 1 {
		return nil, malformed("an EncryptedKey has %d KeyInfos, not one", len(infos))
	}
	recipient, agreement, err := recipientInfo(infos[0])
	if err != nil {
		return nil, err
	}
	k.recipient, k.unnamed = readKeyInfo(recipient, e.security, e.ids)
	return agreement, nil
}

// readCipherValue decodes CipherData that stands in the XML.
func readCipherValue(e *etree.Element, most int) ([]byte, error) {
	data, err := only(e, nsXENC, "CipherData")
	if err != nil {
		return nil, err
	}
	value, err := only(data, nsXENC, "CipherValue")
	if err != nil {
		return nil, err
	}
	b, err := decode(value)
	if err == nil && len(b) > most {
		return nil, malformed("CipherValue has %d bytes, more than %d are not read", len(b), most)
	}
	return b, err
}

// readPart reads the xenc:EncryptedData of an attachment.
func (e *Encrypted) readPart(element *etree.Element) (*encryptedData, error) {
	d, err := e.readData(element)
	if err != nil {
		return nil, err
	}
	kind, _ := xmltree.Attr(element, "", "Type")
	if kind != "" && kind != typeContentOnly {
		return nil, policy("EncryptedData of type %s in the header; taken are attachments without their headers (Attachment-Content-Only)", shown(kind))
	}
	d.MediaType, _ = xmltree.Attr(element, "", "MimeType")
	data, err := only(element, nsXENC, "CipherData")
	if err != nil {
		return nil, err
	}
	reference, err := only(data, nsXENC, "CipherReference")
	if err != nil {
		return nil, err
	}
	uri, _ := xmltree.Attr(reference, "", "URI")
	var ok bool
	if d.ContentID, ok = ContentID(uri); !ok {
		return nil, malformed("CipherReference %s is no cid: of a part", shown(uri))
	}
	return d, checkTransforms(reference)
}

// checkTransforms: the one transform of a CipherReference says that the content
// of the part is the ciphertext (SwA profile 1.1 §5.5.2).
func checkTransforms(reference *etree.Element) error {
	all := xmltree.Children(reference, nsXENC, "Transforms")
	if len(all) == 0 {
		return nil // there is nothing else that it could be
	}
	transform, err := only(all[0], nsDS, "Transform")
	if err != nil || len(all) > 1 {
		return malformed("a CipherReference has other than one transform")
	}
	algorithm, err := algorithmOf(transform)
	if err == nil && algorithm != transformCipher {
		return policy("transform %s of a CipherReference; taken is Attachment-Ciphertext-Transform", shown(algorithm))
	}
	return err
}

// readData reads what every xenc:EncryptedData has: its cipher and its keys.
func (e *Encrypted) readData(element *etree.Element) (*encryptedData, error) {
	method, err := only(element, nsXENC, "EncryptionMethod")
	if err != nil {
		return nil, err
	}
	uri, err := algorithmOf(method)
	if err != nil {
		return nil, err
	}
	d := &encryptedData{}
	if d.cipher, err = dataCipherByURI(uri); err != nil {
		return nil, err
	}
	d.Cipher = d.cipher.name
	id, _ := xmltree.Attr(element, "", "Id")
	if d.keys, err = e.keysOf(element, id); err == nil && len(d.keys) == 0 {
		err = malformed("EncryptedData %s names no EncryptedKey of this header", shown(id))
	}
	return d, err
}

// keysOf finds the EncryptedKeys for an EncryptedData: first the one that its
// KeyInfo leads to or holds, then those that list it, since a message for
// several recipients has one for each (XML Encryption 1.1 §3.5).
func (e *Encrypted) keysOf(element *etree.Element, id string) ([]*encryptedKey, error) {
	var all []*encryptedKey
	infos := xmltree.Children(element, nsDS, "KeyInfo")
	if len(infos) > 1 {
		return nil, malformed("EncryptedData %s has %d KeyInfos, not one", shown(id), len(infos))
	}
	for _, info := range infos {
		k, err := e.follow(info)
		if err != nil {
			return nil, err
		}
		if k != nil {
			all = append(all, k)
		}
	}
	for _, k := range e.keys {
		if id != "" && slices.Contains(k.lists, id) && !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all, nil
}

// follow gives the EncryptedKey that a KeyInfo holds or leads to, nil if it does
// neither.
func (e *Encrypted) follow(info *etree.Element) (*encryptedKey, error) {
	switch inline := xmltree.Children(info, nsXENC, "EncryptedKey"); len(inline) {
	case 0:
	case 1:
		return e.addKey(inline[0])
	default:
		return nil, malformed("a KeyInfo holds %d EncryptedKeys, not one", len(inline))
	}
	reference := xmltree.Children(info, nsDS, "RetrievalMethod")
	for _, str := range xmltree.Children(info, nsWSSE, "SecurityTokenReference") {
		reference = append(reference, xmltree.Children(str, nsWSSE, "Reference")...)
	}
	if len(reference) != 1 {
		return nil, nil
	}
	uri, _ := xmltree.Attr(reference[0], "", "URI")
	id, local := strings.CutPrefix(uri, "#")
	for _, k := range e.keys {
		if local && e.ids[id] == k.element {
			return k, nil
		}
	}
	return nil, malformed("the key reference %s leads to no EncryptedKey of this header", shown(uri))
}
