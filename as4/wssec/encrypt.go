package wssec

import (
	"crypto/rand"
	"io"

	"github.com/beevik/etree"
)

// Encrypter encrypts the attachments of one message with one fresh key
// (SwA profile 1.1 §5.5, XML Encryption 1.1 §3). It is not safe for concurrent
// use.
type Encrypter struct {
	cipher dataCipher
	key    []byte
	ek     *etree.Element // xenc:EncryptedKey, without its ReferenceList
	ekID   string
	bst    *etree.Element // of the recipient; nil if it is only named
	data   []*etree.Element
	refs   []string // of the parts
}

// wrapper encrypts a content key to the recipient.
type wrapper interface {
	// wrap writes the EncryptionMethod into an xenc:EncryptedKey, and gives
	// what stands in its KeyInfo around str, and the encrypted key.
	wrap(ek *etree.Element, str *etree.Element, key []byte) (info *etree.Element, wrapped []byte, err error)
}

// NewEncrypter makes the key and encrypts it to the recipient. What does not fit
// together is ErrSetting.
func NewEncrypter(e Encrypting) (*Encrypter, error) {
	if e.Recipient == nil {
		return nil, setting("there is no certificate of the recipient to encrypt with")
	}
	x := &Encrypter{ekID: newID()}
	var err error
	if x.cipher, err = dataCipherByName(e.Cipher); err != nil {
		return nil, err
	}
	x.key = make([]byte, x.cipher.size)
	rand.Read(x.key) // never fails
	w, err := newWrapper(e, x.cipher.size)
	if err != nil {
		return nil, err
	}
	str, bst, err := recipientToken(e)
	if err != nil {
		return nil, err
	}
	x.bst = bst
	return x, x.encryptKey(w, str)
}

// recipientToken writes how the recipient's certificate is named.
func recipientToken(e Encrypting) (str, bst *etree.Element, err error) {
	t := e.Token
	if t == "" {
		t = TokenSKI
		if len(e.Recipient.SubjectKeyId) == 0 {
			t = TokenIssuerSerial
		}
	}
	return writeToken(t, e.Recipient, nil, "wsse", "wsu")
}

// encryptKey writes xenc:EncryptedKey.
func (x *Encrypter) encryptKey(w wrapper, str *etree.Element) error {
	ek := encryptedElement("EncryptedKey", x.ekID)
	info, wrapped, err := w.wrap(ek, str, x.key)
	if err != nil {
		return err
	}
	ek.CreateElement("ds:KeyInfo").AddChild(info)
	ek.CreateElement("xenc:CipherData").CreateElement("xenc:CipherValue").SetText(encode(wrapped))
	x.ek = ek
	return nil
}

// encryptedElement begins an element of XML Encryption that stands by itself:
// it declares the prefixes that are used in it.
func encryptedElement(tag, id string) *etree.Element {
	e := etree.NewElement("xenc:" + tag)
	e.CreateAttr("xmlns:xenc", nsXENC)
	e.CreateAttr("xmlns:ds", nsDS)
	e.CreateAttr("xmlns:wsse", nsWSSE)
	e.CreateAttr("Id", id)
	return e
}

// Part encrypts one attachment as it is written: nonce, ciphertext and tag go to
// w in chunks of at most 64 KiB, the last of them with Close, which must be
// called and does not close w. The type is what the content was before; parts
// are noted in the order of the calls. A Content-ID may be given once.
func (x *Encrypter) Part(w io.Writer, contentID, mimeType string) io.WriteCloser {
	id := newID()
	e := encryptedElement("EncryptedData", id)
	e.CreateAttr("xmlns:wsse11", nsWSSE11)
	if mimeType != "" {
		e.CreateAttr("MimeType", mimeType)
	}
	e.CreateAttr("Type", typeContentOnly)
	e.CreateElement("xenc:EncryptionMethod").CreateAttr("Algorithm", x.cipher.uri)
	str := e.CreateElement("ds:KeyInfo").CreateElement("wsse:SecurityTokenReference")
	str.CreateAttr("wsse11:TokenType", tokenEncryptedKey)
	str.CreateElement("wsse:Reference").CreateAttr("URI", "#"+x.ekID)
	reference := e.CreateElement("xenc:CipherData").CreateElement("xenc:CipherReference")
	reference.CreateAttr("URI", PartURI(contentID))
	reference.CreateElement("xenc:Transforms").CreateElement("ds:Transform").CreateAttr("Algorithm", transformCipher)
	x.data, x.refs = append(x.data, e), append(x.refs, id)
	return newSealer(w, x.key)
}

// Write appends xenc:EncryptedKey and an xenc:EncryptedData for each part to a
// wsse:Security whose prefixes are those of NewSecurity. Call it once, after the
// parts were closed and before Sign: receivers take the elements in the order in
// which they stand (SOAP Message Security 1.1.1 §5), and the signature is of what
// was before encryption.
func (x *Encrypter) Write(security *etree.Element) {
	if x.bst != nil {
		security.AddChild(x.bst)
	}
	if len(x.refs) > 0 {
		list := x.ek.CreateElement("xenc:ReferenceList")
		for _, id := range x.refs {
			list.CreateElement("xenc:DataReference").CreateAttr("URI", "#"+id)
		}
	}
	security.AddChild(x.ek)
	for _, e := range x.data {
		security.AddChild(e)
	}
}
