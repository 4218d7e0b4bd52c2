package partner

import (
	"crypto"
	"slices"
	"strings"
	"time"

	"edigw/as4/wssec"
)

// byKey leaves an algorithm to the kind of the key.
const byKey = "by-key"

// signature is an algorithm with the kinds of keys that it takes, the first
// choice first.
type signature struct {
	algorithm wssec.SignatureAlgorithm
	kinds     []keyKind
}

// signatures are what as4.security.sign may become under a profile; none for
// none.
func signatures(profileName, sign string) (out []signature) {
	names := []string{sign}
	switch p := profile(profileName); {
	case sign == "none":
		return nil
	case sign == byKey && p != nil:
		names = p.signs
	}
	for _, name := range names {
		s := signature{wssec.SignatureAlgorithm(name), []keyKind{kindRSA}}
		switch {
		case name == string(wssec.Ed25519):
			s.kinds = []keyKind{kindEd25519}
		case strings.HasPrefix(name, "ecdsa-") && profileName == "bdew":
			s.kinds = []keyKind{kindBrainpool, kindNIST}
		case strings.HasPrefix(name, "ecdsa-") && sign == byKey && profileName != "plain": // else that key is for the energy market
			s.kinds = []keyKind{kindNIST}
		case strings.HasPrefix(name, "ecdsa-"):
			s.kinds = []keyKind{kindNIST, kindBrainpool}
		}
		out = append(out, s)
	}
	return out
}

// takes reports whether a key can make one of the signatures.
func takes(list []signature, kind keyKind) bool {
	return slices.ContainsFunc(list, func(s signature) bool { return slices.Contains(s.kinds, kind) })
}

// signer is the key that signs at now, and how: the first choice of which a key
// is in force, and of its keys the newest that has begun.
func (a *AS4) signer(own []ownKey, now time.Time) (ownKey, wssec.SignatureAlgorithm, bool) {
	for _, s := range a.signatures {
		for _, kind := range s.kinds {
			keys := slices.DeleteFunc(ownFor(own, UseSign), func(k ownKey) bool { return k.kind != kind })
			if i := newest(termsOf(keys), now); i >= 0 {
				return keys[i], s.algorithm, true
			}
		}
	}
	return ownKey{}, "", false
}

// signing are the terms of the own keys that can make the signatures.
func (a *AS4) signing(own []ownKey) []term {
	return termsOf(slices.DeleteFunc(ownFor(own, UseSign), func(k ownKey) bool { return !takes(a.signatures, k.kind) }))
}

// openers are the own keys that may open messages at now.
func openers(own []ownKey, now time.Time) (out []wssec.Opener) {
	for _, k := range ownFor(own, UseDecrypt) {
		if k.opens(now) {
			out = append(out, wssec.Opener{Certificate: k.certificate(), Key: k.key})
		}
	}
	return out
}

// signs is the key as it signs; nil for one that does not.
func (k ownKey) signs() crypto.Signer {
	s, _ := k.key.(crypto.Signer)
	return s
}

// transportFor is the key transport that a certificate's kind of key wants: the
// first of the profile's for it.
func transportFor(profileName string, kind keyKind) string {
	if p := profile(profileName); p != nil {
		if i := slices.IndexFunc(p.transports, func(t string) bool { return carries(t, kind) }); i >= 0 {
			return p.transports[i]
		}
	}
	switch kind {
	case kindRSA:
		return "rsa-oaep-mgf1-sha256"
	case kindX25519:
		return "x25519"
	}
	return "ecdh-es"
}

// carries reports whether a key transport goes to a kind of key.
func carries(transport string, kind keyKind) bool {
	switch transport {
	case "x25519":
		return kind == kindX25519
	case "ecdh-es", "ecdh-es-hkdf":
		return kind == kindNIST || kind == kindBrainpool
	}
	return kind == kindRSA
}
