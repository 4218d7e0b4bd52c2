package partner

import (
	"crypto/rsa"
	"crypto/x509"
	"strings"

	"edigw/as2/smime"
)

// checkMessage finds settings of what we send that no message can have at once.
func (d *draft) checkMessage() {
	f := d.file.AS2
	if f.ContentType != "auto" && strings.HasPrefix(strings.ToLower(f.ContentType), "multipart/") {
		d.problem("as2.content_type", "auto, or the type of one document", "%q has parts: what is handed in as such keeps its type without this setting", f.ContentType)
	}
	if f.Protection && f.Sign != "none" && !f.SignedAttributes {
		d.problem("as2.algorithm_protection", "false, or signed_attributes: true", "is a signed attribute, and signed_attributes is false")
	}
	if f.Sign == "none" {
		for _, key := range []string{"as2.signature", "as2.algorithm_protection", "as2.signed_attributes", "as2.attach_certificate"} {
			if d.root.Has(key) {
				d.warning(key, "remove it", "has no effect: as2.sign is none")
			}
		}
		if c := smime.Cipher(f.Encrypt); f.Encrypt != "none" && c.Kind() == smime.EnvelopedData {
			d.warning("as2.sign", "sha256, or a cipher with GCM", "%s without a signature does not show that the document was changed on its way", f.Encrypt)
		}
	}
	if f.Encrypt == "none" {
		for _, key := range []string{"as2.key_transport", "as2.encrypt_to_self"} {
			if d.root.Has(key) {
				d.warning(key, "remove it", "has no effect: as2.encrypt is none")
			}
		}
	} else if f.EncryptToSelf && !d.hasKey(UseDecrypt) {
		d.problem("as2.encrypt_to_self", "add one to keys in edigw.yaml, or encrypt_to_self: false", "edigw.yaml names no key to decrypt with")
	}
	d.checkKeyTransport()
	d.checkVersion()
}

// checkKeyTransport finds certificates that we encrypt to, now or later, whose
// RSA key is too short for how the key of a message is wrapped: every message
// would die. PKCS #1 v1.5 fits all that misfit lets through.
func (d *draft) checkKeyTransport() {
	t, terms := d.out.AS2.Template, d.out.certificates.encrypt
	if t.Encrypt == "" || !t.Transport.OAEP {
		return
	}
	now := newest(terms, d.now)
	for i, c := range terms {
		if i != now && !d.now.Before(c.begins()) {
			continue // it has ended, or another has followed it
		}
		cert := c.certificate()
		o := smime.EncryptOptions{Cipher: t.Encrypt, Recipients: []*x509.Certificate{cert}, Transport: t.Transport}
		if key, ok := cert.PublicKey.(*rsa.PublicKey); ok && !encrypts(o) {
			d.problem("as2.key_transport", "rsa-pkcs1, or ask the partner for a longer key", "%s holds an RSA key of %d bits, which is too short for it", c.file, key.N.BitLen())
		}
	}
}

func encrypts(o smime.EncryptOptions) bool {
	_, err := smime.EncryptedSize(0, o)
	return err == nil
}

// checkVersion refuses what the AS2-Version that we claim does not have, or has
// given up.
func (d *draft) checkVersion() {
	f := d.file.AS2
	switch f.Version {
	case "1.0":
		if f.Compress != "none" {
			d.problem("as2.version", "1.1 or more, or compress: none", "1.0 has no compression (RFC 5402 §6)%s", prefixed("; as2.compress is", d.from("as2.compress")))
		}
	case "1.3":
		for _, o := range d.out.AS2.Template.Outdated() {
			d.problem(o.Key, stronger[o.Key]+", or a version below 1.3", "AS2 1.3%s does not allow %s", d.from("as2.version"), o.What)
		}
		if f.Encrypt != "none" && !d.given("as2.encrypt_to_self") {
			d.warning("as2.encrypt_to_self", "true, or false to say that you do not want it", "missing: AS2 1.3 recommends that the sender can open what it sent")
		}
	}
}

// stronger are the settings to take instead of those that AS2 1.3 has given up.
var stronger = map[string]string{
	"as2.sign": "sha256", "as2.encrypt": "aes128-cbc", "as2.key_transport": "rsa-oaep-sha256",
	"as2.mdn.algorithm": "sha256", "as2.receive.mic.unsigned": "asked or sha256",
}
