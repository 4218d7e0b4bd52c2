package wssec

import (
	"crypto/rsa"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// newWrapper chooses how a key of size bytes comes to the recipient.
func newWrapper(e Encrypting, size int) (wrapper, error) {
	method := e.Transport.Method
	switch method {
	case "", transportOAEP, transportOAEPMGF1P, transportECDHES, transportX25519:
	default:
		return nil, setting("key transport %q is not one of rsa-oaep, rsa-oaep-mgf1p, ecdh-es, x25519", method)
	}
	if pub, ok := e.Recipient.PublicKey.(*rsa.PublicKey); ok {
		if method == transportECDHES || method == transportX25519 {
			return nil, setting("%s needs another key than RSA: %s; rsa-oaep is the one for it", method, describe(e.Recipient))
		}
		return newOAEPWrapper(e, pub, size)
	}
	to, ok := agreeKeyOf(keyOf(e.Recipient))
	if !ok {
		return nil, setting("nothing can be encrypted to the key of %s: taken are RSA, %s", describe(e.Recipient), curveNames())
	}
	fits := transportECDHES
	if to.oid == "" {
		fits = transportX25519
	}
	if method != "" && method != fits {
		return nil, setting("%s does not go with a key on %s: %s; %s is the one for it", method, to.name, describe(e.Recipient), fits)
	}
	return newAgreeWrapper(e, to)
}

// keyUnwrapper decrypts a content key: one operation with a private key of ours.
type keyUnwrapper func() ([]byte, error)

// unwrapper reads how the content key was encrypted to a key of ours.
func (k *encryptedKey) unwrapper(o Opener) (keyUnwrapper, error) {
	if k.agreement != nil {
		return agreeUnwrapper(k.method, k.agreement, k.wrapped, o)
	}
	switch k.method {
	case methodOAEP, methodOAEPMGF1P:
		return oaepUnwrapper(k.parameters, k.wrapped, o)
	}
	return nil, policy("a key is encrypted by %s; taken are RSA-OAEP, ECDH-ES and x25519", shown(fragmentOrAll(k.method)))
}

// recipientInfo finds where an EncryptedKey says for whom it is, and the key
// agreement around that, if there is one.
func recipientInfo(info *etree.Element) (recipient, agreement *etree.Element, err error) {
	all := xmltree.Children(info, nsXENC, "AgreementMethod")
	switch len(all) {
	case 0:
		return info, nil, nil
	case 1:
		recipient, err = only(all[0], nsXENC, "RecipientKeyInfo")
		return recipient, all[0], err
	}
	return nil, nil, malformed("an EncryptedKey has %d AgreementMethods, not one", len(all))
}

// fragmentOrAll is the short name of an algorithm, for people.
func fragmentOrAll(uri string) string {
	if name := fragment(uri); name != "" {
		return name
	}
	return uri
}
