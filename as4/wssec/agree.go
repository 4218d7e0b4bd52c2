package wssec

import (
	"crypto/x509"
	"fmt"
	"strings"

	"edigw/internal/keywrap"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// keyWraps are the symmetric key wraps (XML Encryption 1.1 §5.7.2), by bits.
var keyWraps = []struct {
	bits int
	uri  string
}{
	{128, nsXENC + "kw-aes128"},
	{192, nsXENC + "kw-aes192"},
	{256, nsXENC + "kw-aes256"},
}

// wrapSize is the size in bytes of a key wrap's key; 0: it is none of ours.
func wrapSize(uri string) int {
	for _, w := range keyWraps {
		if w.uri == uri {
			return w.bits / 8
		}
	}
	return 0
}

// agreeWrapper encrypts a key by agreement with an ephemeral key of ours
// (XML Encryption 1.1 §5.6.4, RFC 9231 §2.7).
type agreeWrapper struct {
	recipient *x509.Certificate
	to        agreeKey
	method    string
	derive    derivation
	wrapURI   string
	size      int // of the wrapping key
}

func newAgreeWrapper(e Encrypting, to agreeKey) (*agreeWrapper, error) {
	w := &agreeWrapper{recipient: e.Recipient, to: to, method: methodECDHES}
	if to.oid == "" {
		w.method = methodX25519
	}
	name, h, err := derivationOf(e.Transport, to.oid == "")
	if err != nil {
		return nil, err
	}
	w.derive = newDerivation(name, h)
	for _, k := range keyWraps {
		if k.bits == e.Transport.Wrap || e.Transport.Wrap == 0 && w.size == 0 {
			w.wrapURI, w.size = k.uri, k.bits/8
		}
	}
	if w.size == 0 {
		return nil, setting("key wrap of %d bits is not one of 128, 192, 256", e.Transport.Wrap)
	}
	return w, nil
}

// wrap implements wrapper.
func (w *agreeWrapper) wrap(ek, str *etree.Element, key []byte) (*etree.Element, []byte, error) {
	ek.CreateElement("xenc:EncryptionMethod").CreateAttr("Algorithm", w.wrapURI)
	ours, secret, err := w.to.ephemeral()
	if err != nil {
		return nil, nil, err
	}
	kek, err := w.derive.key(secret, w.size)
	if err != nil {
		return nil, nil, fmt.Errorf("derive a key for %s: %w", describe(w.recipient), err)
	}
	wrapped, err := keywrap.Wrap(kek, key)
	if err != nil {
		return nil, nil, fmt.Errorf("wrap the key of a message for %s: %w", describe(w.recipient), err)
	}
	e := etree.NewElement("xenc:AgreementMethod")
	e.CreateAttr("xmlns:xenc11", nsXENC11)
	e.CreateAttr("xmlns:dsig11", nsDSIG11)
	e.CreateAttr("Algorithm", w.method)
	w.derive.write(e, w.size)
	if err := writeOriginator(e.CreateElement("xenc:OriginatorKeyInfo"), ours); err != nil {
		return nil, nil, fmt.Errorf("encode a key on %s: %w", ours.name, err)
	}
	e.CreateElement("xenc:RecipientKeyInfo").AddChild(str)
	return e, wrapped, nil
}

// writeOriginator writes an ephemeral key: ECKeyValue with the name of its curve
// (XML Signature 1.1 §4.5.2.3), or DEREncodedKeyValue (§4.5.9) for X25519.
func writeOriginator(info *etree.Element, k agreeKey) error {
	if k.oid == "" {
		der, err := k.subjectPublicKeyInfo()
		info.CreateElement("dsig11:DEREncodedKeyValue").SetText(encode(der))
		return err
	}
	value := info.CreateElement("ds:KeyValue").CreateElement("dsig11:ECKeyValue")
	value.CreateElement("dsig11:NamedCurve").CreateAttr("URI", "urn:oid:"+k.oid)
	value.CreateElement("dsig11:PublicKey").SetText(encode(k.point))
	return nil
}

// readOriginator reads an ephemeral key in either form.
func readOriginator(info *etree.Element) (agreeKey, error) {
	if all := xmltree.Children(info, nsDS, "KeyValue"); len(all) == 1 {
		info = all[0]
	}
	if all := xmltree.Children(info, nsDSIG11, "DEREncodedKeyValue"); len(all) == 1 {
		return readDERKey(all[0])
	}
	value, err := only(info, nsDSIG11, "ECKeyValue")
	if err != nil {
		return agreeKey{}, policy("a key agreement whose ephemeral key is neither ECKeyValue nor DEREncodedKeyValue")
	}
	named, err := only(value, nsDSIG11, "NamedCurve")
	if err != nil {
		return agreeKey{}, policy("a key agreement on a curve without a name")
	}
	uri, _ := xmltree.Attr(named, "", "URI")
	c, ok := curveByOID(strings.TrimPrefix(uri, "urn:oid:"))
	if !ok {
		return agreeKey{}, policy("a key agreement on the curve %s; taken are %s", shown(uri), curveNames())
	}
	public, err := only(value, nsDSIG11, "PublicKey")
	if err != nil {
		return agreeKey{}, err
	}
	point, err := decode(public)
	if err != nil {
		return agreeKey{}, err
	}
	return c.key(point)
}

func readDERKey(e *etree.Element) (agreeKey, error) {
	der, err := readBinary(e)
	if err != nil {
		return agreeKey{}, err
	}
	pub, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return agreeKey{}, malformed("DEREncodedKeyValue cannot be read: %v", err)
	}
	k, ok := agreeKeyOf(pub)
	if !ok {
		return agreeKey{}, policy("a key agreement with a key of type %T; taken are %s", pub, curveNames())
	}
	return k, nil
}

func curveNames() string {
	var names []string
	for _, c := range agreeCurves() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// agreeUnwrapper reads how a key was wrapped for a key of ours. All that it
// refuses is in the message for everyone to see.
func agreeUnwrapper(wrap string, agreement *etree.Element, wrapped []byte, o Opener) (keyUnwrapper, error) {
	size := wrapSize(wrap)
	if size == 0 {
		return nil, policy("key wrap %s in a key agreement; taken are kw-aes128, kw-aes192 and kw-aes256", shown(wrap))
	}
	method, err := algorithmOf(agreement)
	if err != nil {
		return nil, err
	}
	if method != methodECDHES && method != methodX25519 {
		return nil, policy("key agreement %s; taken are ECDH-ES and x25519", shown(method))
	}
	d, err := readDerivation(agreement, size)
	if err != nil {
		return nil, err
	}
	originator, err := only(agreement, nsXENC, "OriginatorKeyInfo")
	if err != nil {
		return nil, err
	}
	peer, err := readOriginator(originator)
	if err != nil {
		return nil, err
	}
	ours, ok := agreeKeyOf(keyOf(o.Certificate))
	if !ok || ours.name != peer.name {
		return nil, malformed("the ephemeral key is on %s, and the key is for %s, which has none there", peer.name, describe(o.Certificate))
	}
	return func() ([]byte, error) {
		secret, err := agree(o.Key, peer)
		if err != nil {
			return nil, err
		}
		kek, err := d.key(secret, size)
		if err != nil {
			return nil, err
		}
		return keywrap.Unwrap(kek, wrapped)
	}, nil
}
