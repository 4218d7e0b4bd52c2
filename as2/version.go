package as2

import (
	"crypto"
	"strings"

	"edigw/as2/smime"
)

// as2Version is what we claim where nothing else was settled: 1.1 says that
// compression is understood, 1.2 that EDIINT-Features is (RFC 6017 §2), 1.3
// that the rules of RFC 4130's successor hold.
const as2Version = "1.2"

// The other versions of AS2.
const (
	version10 = "1.0"
	version11 = "1.1"
	version13 = "1.3"
)

// features are the optional parts of AS2 that we take part in (RFC 6017 §3):
// several attachments are received (RFC 6362), and a repeated Message-ID gets
// the MDN that the first one got.
const features = "multiple-attachments, AS2-Reliability"

// version is the AS2-Version of what is sent under an agreement.
func (a Agreement) version() string {
	if a.Version == "" {
		return as2Version
	}
	return a.Version
}

// versionHeaders say what we speak: the version, who we are where that version
// wants it told, and the features from 1.2 on.
func (a Agreement) versionHeaders() []Field {
	h := []Field{{"AS2-Version", a.version()}}
	switch a.version() {
	case version10, version11:
		return h
	case version13:
		h = append(h, Field{"AS2-Product", versionedProduct(product(a))})
	}
	return append(h, Field{"EDIINT-Features", features})
}

// versionedProduct makes name:version of name/version, as AS2-Product has it.
func versionedProduct(p string) string {
	name, version, _ := strings.Cut(p, "/")
	if version == "" {
		version = "unknown"
	}
	return name + ":" + version
}

// checkVersion refuses what the version that we claim does not have, or does
// not let its speakers send any more.
func checkVersion(a Agreement) error {
	switch a.version() {
	case version10:
		if compresses(a) {
			return badSetting("as2.version", "1.0 has no compression (RFC 5402 §6): set 1.1 or more")
		}
		return nil
	case version11, as2Version:
		return nil
	case version13:
		for _, f := range a.Outdated() {
			return badSetting(f.Key, "AS2 1.3 does not allow %s", f.What)
		}
		return nil
	}
	return badSetting("as2.version", "unknown value %q", a.Version)
}

// OutdatedSetting is one whose algorithm two partners of AS2 1.3 must not use
// any more.
type OutdatedSetting struct {
	Key  string // "as2.sign"
	What string // "SHA-1"
}

// Outdated lists the settings of an agreement under which something would be
// sent that AS2 1.3 has given up: SHA-1, MD5, triple DES and RC2.
func (a Agreement) Outdated() []OutdatedSetting {
	const sha1 = "SHA-1"
	var out []OutdatedSetting
	add := func(on bool, key, what string) {
		if on {
			out = append(out, OutdatedSetting{key, what})
		}
	}
	add(a.Sign == crypto.SHA1, "as2.sign", sha1)
	add(a.Encrypt == smime.TripleDES, "as2.encrypt", "triple DES")
	t := a.Transport
	add(encrypts(a) && t.OAEP && (t.Hash == 0 || t.Hash == crypto.SHA1 || t.MGF == crypto.SHA1), "as2.key_transport", sha1)
	add(a.MDN.Mode != MDNNone && a.MDN.Mode != "" && a.MDN.Algorithm == crypto.SHA1, "as2.mdn.algorithm", sha1)
	add(a.Receive.MIC.Unsigned == crypto.SHA1, "as2.receive.mic.unsigned", sha1)
	return out
}
