package wssec

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // OAEP's default (RFC 8017 A.2.1); its security does not rest on it
	"crypto/x509"
	"fmt"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// maxLabel bounds the label of OAEP, which nearly nobody writes.
const maxLabel = 1 << 10

// oaepHashes are the hashes of RSA-OAEP (XML Encryption 1.1 §5.5.2): as
// DigestMethod and as mask.
var oaepHashes = []struct {
	hash        crypto.Hash
	digest, mgf string
}{
	{crypto.SHA1, nsDS + "sha1", nsXENC11 + "mgf1sha1"},
	{crypto.SHA224, moreFirst + "sha224", nsXENC11 + "mgf1sha224"},
	{crypto.SHA256, nsXENC + "sha256", nsXENC11 + "mgf1sha256"},
	{crypto.SHA384, moreFirst + "sha384", nsXENC11 + "mgf1sha384"},
	{crypto.SHA512, nsXENC + "sha512", nsXENC11 + "mgf1sha512"},
}

// oaepWrapper encrypts a key by RSA-OAEP.
type oaepWrapper struct {
	recipient   *x509.Certificate
	pub         *rsa.PublicKey
	method      string
	options     rsa.OAEPOptions
	digest, mgf string // identifiers; mgf is empty where it is not written
}

func newOAEPWrapper(e Encrypting, pub *rsa.PublicKey, size int) (*oaepWrapper, error) {
	w := &oaepWrapper{recipient: e.Recipient, pub: pub, method: methodOAEP}
	w.options.Hash, w.options.MGFHash = e.Transport.Digest, e.Transport.MGF
	if w.options.Hash == 0 {
		w.options.Hash = crypto.SHA256
	}
	older := e.Transport.Method == transportOAEPMGF1P
	switch {
	case older && w.options.MGFHash == 0:
		w.options.MGFHash = crypto.SHA1
	case older && w.options.MGFHash != crypto.SHA1:
		return nil, setting("%s has a mask by SHA-1 always, not by %v; rsa-oaep can have others", transportOAEPMGF1P, w.options.MGFHash)
	case w.options.MGFHash == 0:
		w.options.MGFHash = crypto.SHA256
	}
	for _, h := range oaepHashes {
		if h.hash == w.options.Hash {
			w.digest = h.digest
		}
		if h.hash == w.options.MGFHash {
			w.mgf = h.mgf
		}
	}
	if w.digest == "" || w.mgf == "" {
		return nil, setting("OAEP with the digest %v and a mask by %v: each is one of SHA-1, SHA-224, SHA-256, SHA-384, SHA-512", w.options.Hash, w.options.MGFHash)
	}
	if older {
		w.method, w.mgf = methodOAEPMGF1P, ""
	}
	if pub.Size() < size+2*w.options.Hash.Size()+2 { // RFC 8017 §7.1.1
		return nil, setting("an RSA key of %d bits is too short for OAEP with %v: %s", pub.N.BitLen(), w.options.Hash, describe(e.Recipient))
	}
	return w, nil
}

// wrap implements wrapper.
func (w *oaepWrapper) wrap(ek, str *etree.Element, key []byte) (*etree.Element, []byte, error) {
	method := ek.CreateElement("xenc:EncryptionMethod")
	method.CreateAttr("Algorithm", w.method)
	method.CreateElement("ds:DigestMethod").CreateAttr("Algorithm", w.digest)
	if w.mgf != "" {
		mgf := method.CreateElement("xenc11:MGF")
		mgf.CreateAttr("xmlns:xenc11", nsXENC11)
		mgf.CreateAttr("Algorithm", w.mgf)
	}
	wrapped, err := rsa.EncryptOAEPWithOptions(rand.Reader, w.pub, key, &w.options)
	if err != nil {
		return nil, nil, fmt.Errorf("encrypt the key of a message to %s: %w", describe(w.recipient), err)
	}
	return str, wrapped, nil
}

// readOAEP reads the parameters of RSA-OAEP. Without a DigestMethod it is SHA-1,
// and without an MGF the mask is by SHA-1 whatever the digest (XML Encryption 1.1
// §5.5.2).
// QUIRK(WSS4J): an MGF counts for the older name of the method too, where the
// standard knows none.
func readOAEP(method *etree.Element) (*rsa.OAEPOptions, error) {
	o := &rsa.OAEPOptions{Hash: crypto.SHA1, MGFHash: crypto.SHA1}
	digest, err := parameter(method, nsDS, "DigestMethod")
	if err != nil {
		return nil, err
	}
	mgf, err := parameter(method, nsXENC11, "MGF")
	if err != nil {
		return nil, err
	}
	if digest == nsXENC+"sha384" { // XML Encryption 1.1 §5.8.3; XML Signature and everybody write the other one
		digest = moreFirst + "sha384"
	}
	digestKnown, mgfKnown := digest == "", mgf == ""
	for _, h := range oaepHashes {
		if h.digest == digest {
			o.Hash, digestKnown = h.hash, true
		}
		if h.mgf == mgf {
			o.MGFHash, mgfKnown = h.hash, true
		}
	}
	switch {
	case !digestKnown:
		return nil, policy("RSA-OAEP with the digest %s", shown(digest))
	case !mgfKnown:
		return nil, policy("RSA-OAEP with the mask generation %s", shown(mgf))
	}
	labels := xmltree.Children(method, nsXENC, "OAEPparams")
	switch {
	case len(labels) > 1:
		return nil, malformed("an EncryptionMethod has %d OAEPparams, not one", len(labels))
	case len(labels) == 1 && xmltree.Text(labels[0]) != "":
		if o.Label, err = decode(labels[0]); err != nil {
			return nil, err
		}
	}
	if len(o.Label) > maxLabel {
		return nil, malformed("OAEPparams has %d bytes, more than %d are not read", len(o.Label), maxLabel)
	}
	return o, nil
}

// parameter gives the Algorithm of a child that there may be once; "" if there
// is none.
func parameter(e *etree.Element, space, local string) (string, error) {
	all := xmltree.Children(e, space, local)
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		return algorithmOf(all[0])
	}
	return "", malformed("%s has %d children %s, not one", e.Tag, len(all), local)
}

// algorithmOf gives the Algorithm attribute, which must be there.
func algorithmOf(e *etree.Element) (string, error) {
	a, _ := xmltree.Attr(e, "", "Algorithm")
	if a == "" {
		return "", malformed("%s names no Algorithm", e.Tag)
	}
	return a, nil
}

// oaepUnwrapper decrypts a key by RSA-OAEP.
func oaepUnwrapper(method *etree.Element, wrapped []byte, o Opener) (keyUnwrapper, error) {
	options, err := readOAEP(method)
	if err != nil {
		return nil, err
	}
	key, ok := o.Key.(crypto.Decrypter)
	if !ok {
		return nil, policy("a key is encrypted by RSA-OAEP to a key that is not RSA: %s", describe(o.Certificate))
	}
	return func() ([]byte, error) { return key.Decrypt(rand.Reader, wrapped, options) }, nil
}
