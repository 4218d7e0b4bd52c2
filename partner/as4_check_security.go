package partner

import (
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/conf"
)

// checkSecurity finds settings of security that have no effect, or that no
// message can have at once.
func (d *draft) checkSecurity() {
	f := d.file.AS4
	s := f.Security
	if s.Sign == "none" {
		d.idle("as4.security.sign", "as4.security.digest", "as4.security.token")
		if s.Encrypt != "none" {
			d.warning("as4.security.sign", "a signature, or encrypt: none", "whoever has the certificate can encrypt: without a signature nothing shows that a message is ours")
		}
	}
	if s.Encrypt == "none" {
		d.idle("as4.security.encrypt", "as4.security.key_transport", "as4.security.encrypt_token")
	}
	if slices.Contains(f.Receive.Require, "none") && len(f.Receive.Require) > 1 {
		d.problem("as4.receive.require", "none alone, or without none", "none contradicts the rest")
	}
	if d.root.Has("as4.trust.subject") && len(f.Trust.Authorities) == 0 {
		d.warning("as4.trust.subject", "authorities beside it, or remove it", "has no effect: as4.trust.authorities is absent")
	}
	if f.Trust.Subject == "any" && len(f.Trust.Authorities) > 0 {
		d.warning("as4.trust.subject", "party, if their certificates are named so", "whoever has a certificate of the authorities can sign as this partner")
	}
}

// idle warns of keys that mean nothing because another one is none.
func (d *draft) idle(because string, keys ...string) {
	for _, key := range keys {
		if d.root.Has(key) {
			d.warning(key, "remove it", "has no effect: %s is none", because)
		}
	}
}

// checkKeysAS4 finds keys and certificates that the settings need and nobody
// named, or that are of another kind. A partner in set-up need not have them yet.
func (d *draft) checkKeysAS4() {
	f := d.file.AS4
	say := d.problem
	if d.out.Stage == StageSetup {
		say = d.warning
	}
	if f.Security.Encrypt != "none" && len(d.file.Certificates.Encrypt) == 0 && !d.looksUp() {
		say("certificates.encrypt", "a file with the partner's certificate, or as4.security.encrypt: none", "missing: as4.security.encrypt is %s%s", f.Security.Encrypt, d.from("as4.security.encrypt"))
	}
	if len(d.file.Certificates.Verify)+len(f.Trust.Authorities) == 0 {
		const hint = "a file with the partner's certificate, or his authority in as4.trust.authorities"
		switch {
		case f.Receipt.Mode != "none" && *f.Receipt.Signed:
			say("certificates.verify", hint+", or as4.receipt.signed: false", "missing: receipts must be signed%s", d.from("as4.receipt.signed"))
		case d.out.AS4.Template.Receive.Signed:
			say("certificates.verify", hint+", or as4.receive.require: none", "missing: their messages must be signed%s", d.from("as4.receive.require"))
		}
	}
	if f.Security.Sign != "none" {
		d.checkSigner(say)
	}
	if d.out.AS4.Template.Receive.Encrypted && len(ownFor(d.own, UseDecrypt)) == 0 {
		say("as4.receive.require", "add one to keys in edigw.yaml", "edigw.yaml names no key to decrypt with")
	}
	d.checkTransportKeys()
	d.checkAccepted()
	d.checkAllTerms()
}

// words are kinds of keys for people.
func kindWords(kinds []keyKind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// checkSigner wants a key of ours that can make the signature, whose certificate
// the token can name.
func (d *draft) checkSigner(say func(key, hint, format string, args ...any)) {
	f := d.file.AS4.Security
	if len(ownFor(d.own, UseSign)) == 0 {
		say("as4.security.sign", "add one to keys in edigw.yaml, or sign: none", "edigw.yaml names no key to sign with")
		return
	}
	fit := slices.DeleteFunc(ownFor(d.own, UseSign), func(k ownKey) bool { return !takes(d.out.AS4.signatures, k.kind) })
	if len(fit) == 0 {
		var algorithms []string
		var kinds []keyKind
		for _, s := range d.out.AS4.signatures {
			algorithms, kinds = append(algorithms, string(s.algorithm)), append(kinds, s.kinds...)
		}
		what := f.Sign
		if f.Sign == byKey {
			what += ", which with profile " + d.file.AS4.Profile + " is " + strings.Join(algorithms, " or ")
		}
		say("as4.security.sign", "add such a key to keys in edigw.yaml, or write the algorithm of one that is there", "is %s, but none of keys with use sign is a key of kind %s", what, kindWords(kinds))
	}
	for _, k := range fit {
		if f.Token == string(wssec.TokenSKI) && len(k.certificate().SubjectKeyId) == 0 {
			d.problem("as4.security.token", "issuer-serial or bst", "%s, serial %s, has no key identifier that it could be named by", k.file, k.serial)
		}
	}
}

// checkTransportKeys finds certificates that we encrypt to, now or later, of
// another kind than the key transport is for: every message would die.
func (d *draft) checkTransportKeys() {
	f, terms := d.file.AS4.Security, d.out.certificates.encrypt
	if f.Encrypt == "none" {
		return
	}
	allowed := []string{f.KeyTransport}
	if p := profile(d.file.AS4.Profile); f.KeyTransport == byKey && p != nil {
		allowed = p.transports
	}
	now := newest(terms, d.now)
	for i, t := range terms {
		if i != now && !d.now.Before(t.begins()) {
			continue // it has ended, or another has followed it
		}
		if !slices.ContainsFunc(allowed, func(transport string) bool { return carries(transport, t.kind) }) {
			d.problem("as4.security.key_transport", transportHint(d.file.AS4.Profile, t.kind), "%s is for another kind of key than %s, serial %s, holds: %s", strings.Join(allowed, " or "), t.file, t.serial, keyWords(t.certificate()))
		}
		if f.EncryptToken == string(wssec.TokenSKI) && len(t.certificate().SubjectKeyId) == 0 {
			d.problem("as4.security.encrypt_token", "auto or issuer-serial", "%s, serial %s, has no key identifier that it could be named by", t.file, t.serial)
		}
	}
}

// transportHint never names a key transport that the profile forbids.
func transportHint(name string, kind keyKind) string {
	fit := transportFor(name, kind)
	p := profile(name)
	if p == nil || slices.Contains(p.transports, fit) {
		return fit + ", or ask the partner for another certificate"
	}
	var wanted []string
	for _, t := range p.transports {
		word := "an elliptic curve"
		switch {
		case carries(t, kindRSA):
			word = "an RSA"
		case carries(t, kindX25519):
			word = "an X25519"
		}
		if !slices.Contains(wanted, word) {
			wanted = append(wanted, word)
		}
	}
	return fmt.Sprintf("ask the partner for %s certificate (the profile allows %s only)", strings.Join(wanted, " or "), strings.Join(p.transports, " or "))
}

// checkAccepted finds certificates of theirs with which no signature can be made
// that as4.receive.algorithms lets pass.
func (d *draft) checkAccepted() {
	list := d.file.AS4.Receive.Algorithms
	if len(list) == 0 {
		return
	}
	var accepted []signature
	for _, name := range list {
		accepted = append(accepted, signatures("", name)...)
	}
	for _, t := range d.out.certificates.verify {
		if d.now.Before(t.ends()) && !takes(accepted, t.kind) {
			d.problem("as4.receive.algorithms", "add the algorithm that they sign with, or remove the list", "%s, serial %s, holds %s: no signature with it is among %s", t.file, t.serial, keyWords(t.certificate()), strings.Join(list, ", "))
		}
	}
}

// checkProfile warns of what breaks a rule of the profile.
func (d *draft) checkProfile() {
	f := d.file.AS4
	p := profile(f.Profile)
	if p == nil || len(p.musts) == 0 {
		return
	}
	is := d.effectiveValues()
	for _, m := range p.musts {
		value, known := is[m.key]
		switch {
		case m.key == "as4.receipt.mode" && d.out.AS4.Pulled():
		case m.given && !d.has(m.key):
			d.breaks(p, m.key, m.section, m.something(), "it is missing")
		case m.absent && d.given(m.key) && first(d.layers, m.key) != "none":
			d.breaks(p, m.key, m.section, "none", "it has one")
		case len(m.is) == 0 || slices.Contains(m.is, value):
		case !known:
			d.breaks(p, m.key, m.section, m.wants(), "it is missing")
		default:
			d.breaks(p, m.key, m.section, m.wants(), "it is "+clip(value))
		}
	}
	d.checkCommon(p)
}

// wants are the values allowed, for people; by-key is one of the others.
func (m must) wants() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(m.is), func(v string) bool { return v == byKey && len(m.is) > 1 }), " or ")
}

// breaks warns that a key breaks a rule of the profile.
func (d *draft) breaks(p *Profile, key, section, wants, is string) {
	origin := ""
	if d.root != nil && !d.root.Has(key) && is != "it is missing" {
		origin = d.from(key)
	}
	d.report.Add(Problem{
		File: d.path, Line: d.root.LineOf(key), Key: key, Warning: true,
		Reason: fmt.Sprintf("profile %s wants %s (%s), and %s%s", p.Name, wants, section, is, origin),
		Hint:   "or as4.profile: plain, if both sides agreed on something else",
	})
}

// effectiveValues are the settings that somebody gave, or that follow from others,
// as text.
func (d *draft) effectiveValues() map[string]string {
	out := map[string]string{}
	var all []Setting
	d.below.schema.Decode(new(file), d.layers, new(conf.Report), conf.Options{Settings: &all})
	for _, set := range d.settled(all) {
		if !(set.Origin == OriginBuiltIn && strings.HasPrefix(set.Value, "(")) {
			out[set.Key] = set.Value
		}
	}
	return out
}

// checkCommon warns of what breaks the rules that the profiles share, and of what
// has to do with keys.
func (d *draft) checkCommon(p *Profile) {
	t := d.out.AS4.Template
	section := p.section("as4.security.sign")
	for _, side := range []struct {
		key string
		ids []ebms.PartyID
	}{{"as4.to", t.To.IDs}, {"as4.from", t.From.IDs}} {
		if len(side.ids) > 1 {
			d.breaks(p, side.key, p.section("as4.to.type", "as4.body"), "exactly one party id", fmt.Sprintf("it has %d", len(side.ids)))
		}
	}
	if strings.HasPrefix(d.out.URL(), "http:") && !d.ourselves() {
		d.breaks(p, "as4.url", section, "https", "it is http")
	}
	const pulling = "eDelivery AS4 1.15 §1.5.5"
	f := d.file.AS4
	if f.Fetch != nil && f.Fetch.MPC == ebms.DefaultMPC {
		d.breaks(p, "as4.fetch.mpc", pulling, "a channel of our own", "it is the default one")
	}
	if d.out.AS4.Pulled() && ebms.Partition(f.MPC) == ebms.DefaultMPC {
		d.breaks(p, "as4.mpc", pulling, "a channel of the partner's own", "it is the default one, which is everybody's")
	}
	if r := t.Receive; f.Security.Sign != "none" && !r.Signed || f.Security.Encrypt != "none" && !r.Encrypted {
		d.breaks(p, "as4.receive.require", section, "their messages as secure as ours", "weaker ones are taken")
	}
	for _, name := range []string{OriginalSender, FinalRecipient} {
		if slices.ContainsFunc(d.file.AS4.properties, func(n namedProperty) bool {
			return n.Name == name && n.Value != "" && n.Type == "" && p.Name == "peppol"
		}) {
			d.breaks(p, "as4.properties."+name, section, "type iso6523-actorid-upis", "it has none")
		}
	}
	if p.Name == "bdew" {
		d.checkCurve(p)
	} else {
		d.checkSignedBy(p)
	}
	d.checkOpened(p)
}
