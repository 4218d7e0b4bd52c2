package partner

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkCurve warns of keys on other curves than that of the German energy market.
func (d *draft) checkCurve(p *Profile) {
	const section = "BDEW AS4 1.1 §2.2.6"
	if k, _, ok := d.out.AS4.signer(d.own, d.now); ok && k.kind != kindBrainpool {
		d.breaks(p, "keys", section, "a key on brainpoolP256r1", fmt.Sprintf("%s holds %s", k.file, keyWords(k.certificate())))
	}
	for key, terms := range map[string][]term{"certificates.verify": d.out.certificates.verify, "certificates.encrypt": d.out.certificates.encrypt} {
		if i := newest(terms, d.now); i >= 0 && terms[i].kind != kindBrainpool {
			d.breaks(p, key, section, "a key on brainpoolP256r1", fmt.Sprintf("%s holds %s", terms[i].file, keyWords(terms[i].certificate())))
		}
	}
}

// checkSignedBy warns of a certificate of theirs with which none of the profile's
// signatures can be made.
func (d *draft) checkSignedBy(p *Profile) {
	terms := d.out.certificates.verify
	i := newest(terms, d.now)
	if i < 0 || takes(signatures(p.Name, byKey), terms[i].kind) {
		return
	}
	d.breaks(p, "certificates.verify", p.section("as4.security.sign"), "signatures by "+strings.Join(p.signs, " or "),
		fmt.Sprintf("%s holds %s", terms[i].file, keyWords(terms[i].certificate())))
}

// checkOpened warns when no key of ours opens what the profile lets them send.
func (d *draft) checkOpened(p *Profile) {
	own := ownFor(d.own, UseDecrypt)
	if !d.out.AS4.Template.Receive.Encrypted || len(own) == 0 { // of none is told elsewhere
		return
	}
	if !slices.ContainsFunc(own, func(k ownKey) bool { return k.opens(d.now) && p.opens(k.kind, d.theirKind()) }) {
		d.breaks(p, "keys", p.section("as4.security.key_transport"), "what they send encrypted by "+strings.Join(p.transports, " or "),
			"no key with use decrypt is of such a kind: they could not encrypt to us")
	}
}

// theirKind is the kind of key that we encrypt to; kindOther if there is none.
func (d *draft) theirKind() keyKind { return newestKind(d.out.certificates.encrypt, d.now) }

func newestKind(terms []term, now time.Time) keyKind {
	if i := newest(terms, now); i >= 0 {
		return terms[i].kind
	}
	return kindOther
}

// opens reports whether they may encrypt to a key of ours of that kind. Of a profile
// with editions for RSA and for elliptic curves, the kind that we encrypt to says
// which one they speak. A brainpool key is for the energy market.
func (p *Profile) opens(ours, theirs keyKind) bool {
	carries := func(kind keyKind) bool {
		return slices.ContainsFunc(p.transports, func(t string) bool { return carries(t, kind) })
	}
	editions := len(p.musts) > 0 && carries(kindRSA) && carries(kindX25519) && theirs != kindOther
	switch {
	case !carries(ours), ours == kindBrainpool && p.Name != "bdew" && p.Name != "plain":
		return false
	case editions:
		return (ours == kindRSA) == (theirs == kindRSA)
	}
	return true
}

// Opening lists our certificates to which a partner who speaks AS4 shall encrypt:
// those of the kind that we encrypt to, which he can do; or else all that his
// profile has a key transport for. None if what he sends needs no encryption.
func (s *Snapshot) Opening(id string, now time.Time) []CertificateInfo {
	p, ok := s.partners[id]
	if !ok || p.AS4 == nil || !p.AS4.Template.Receive.Encrypted {
		return nil
	}
	own, rules, theirs := ownFor(s.own, UseDecrypt), profile(p.AS4.Profile), newestKind(p.certificates.encrypt, now)
	var like, all []CertificateInfo
	for i, info := range s.ownInfos(UseDecrypt, now) {
		if !info.InUse || rules == nil || !rules.opens(own[i].kind, theirs) {
			continue
		}
		all = append(all, info)
		if own[i].kind == theirs {
			like = append(like, info)
		}
	}
	if len(like) > 0 {
		return like
	}
	return all
}
