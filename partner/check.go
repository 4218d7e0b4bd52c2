package partner

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"edigw/as2"
	"edigw/breaker"
	"edigw/internal/conf"
	"edigw/retry"
)

// check finds settings that are each well formed but do not fit together.
func (d *draft) check() {
	d.checkProtocol()
	d.checkPolicies()
	d.checkLane()
	d.checkDeadline()
	d.checkRetention()
	d.checkTransport()
	switch {
	case d.out.AS2 != nil:
		d.checkAS2()
		d.checkMessage()
		d.checkReceipt()
		d.checkKeys()
	case d.out.AS4 != nil:
		d.checkAS4()
	}
}

func (d *draft) checkProtocol() {
	f := &d.file
	if f.Preset != "" && d.below.preset(f.Preset) == nil {
		names := d.below.presetNames()
		hint := "one of: " + strings.Join(names, ", ")
		if near := conf.Nearest(f.Preset, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.problem("preset", hint, "no preset %q", f.Preset)
	}
	d.checkOther()
}

// checkPolicies puts the built-in policy in the place of one that cannot work:
// a misconfigured partner still accepts documents.
func (d *draft) checkPolicies() {
	if faults := d.out.Retry.Validate(); len(faults) > 0 {
		for _, p := range faults {
			d.problem("retry."+p.Key, p.Hint, "%s", p.Reason)
		}
		d.out.Retry = retry.Default()
	}
	if faults := d.out.Breaker.Validate(); len(faults) > 0 {
		for _, p := range faults {
			d.problem("breaker."+p.Key, p.Hint, "%s", p.Reason)
		}
		d.out.Breaker = breaker.Default()
	}
}

func (d *draft) checkLane() {
	f, p := &d.file, d.out
	if p.Lane.AfterDead == DeadBlock && p.Lane.OnOpen != OpenHold {
		d.problem("lane.after_dead", "set breaker.on_open: hold, or after_dead: continue", "block needs breaker.on_open: hold")
	}
	if p.Lane.AutoReplay != nil && p.Lane.OnOpen == OpenHold {
		d.warning("breaker.auto_replay", "remove it", "has nothing to do: with on_open: hold an outage makes no letters")
	}
	switch {
	case p.AS2 != nil && p.Lane.OnUnknown == retry.Wait && f.AS2.MDN.Mode != "async":
		d.problem("lane.on_unknown", "resend or hold, or as2.mdn.mode: async", "wait needs asynchronous receipts")
	case p.AS4 != nil && p.Lane.OnUnknown == retry.Wait && f.AS4.Receipt.Mode != "async":
		d.problem("lane.on_unknown", "resend or hold, or as4.receipt.mode: async", "wait needs receipts that come later")
	}
	if window, said := d.duplicates(); said && p.Lane.OnUnknown == retry.Resend && window == 0 {
		d.problem("lane.on_unknown", "hold, which is the value if the key is absent", "resend would make duplicates: duplicate_window is none")
	}
}

// checkDeadline refuses a deadline that a closed window alone, with the
// retries after it, would use up (delivery.md §3).
func (d *draft) checkDeadline() {
	p := d.out
	if p.WarnBy > 0 && p.DeliverBy > 0 && p.WarnBy >= p.DeliverBy {
		d.warning("warn_by", "less than deliver_by", "comes after the deadline")
	}
	if d.given("after_deadline") && p.KeepOverdue && p.DeliverBy == 0 {
		d.warning("after_deadline", "", "only callers' deadlines count: deliver_by is absent")
	}
	if p.DeliverBy == 0 {
		return
	}
	_, horizon := p.Retry.Horizon()
	closed := p.Lane.Calendar.longestClosed(d.now)
	if need := closed + horizon; p.DeliverBy < need {
		d.problem("deliver_by", "at least "+conf.Duration(need.Round(time.Minute)+time.Minute).String(),
			"shorter than the longest time without sending (%v) and the retries (%v)", conf.Duration(closed.Round(time.Minute)), conf.Duration(horizon.Round(time.Second)))
	}
}

func (d *draft) checkRetention() {
	if r := d.out.Retention; r.Payloads < r.Evidence {
		key := "retention.payloads"
		if !d.root.Has(key) && d.root.Has("retention.evidence") {
			key = "retention.evidence"
		}
		d.problem(key, "payloads at least as long as evidence", "payloads would go (%v) before their evidence (%v)", conf.Duration(r.Payloads), conf.Duration(r.Evidence))
	}
}

func (d *draft) checkTransport() {
	f := &d.file
	d.checkProxy()
	if b := f.Auth.Basic; b != nil {
		if strings.ContainsAny(b.User, ":\r\n") {
			d.problem("auth.basic.user", "", "holds a colon or line end (RFC 7617 §2)")
		}
		d.checkSecret("auth.basic.password_file", b.Password)
	}
	d.checkWebhook()
	if !strings.HasPrefix(d.out.URL(), "http:") {
		return
	}
	if f.Auth.Basic != nil {
		d.warning("auth.basic", "use https", "the password goes over the wire unprotected")
	}
	if len(f.TLS.Trust)+len(f.TLS.Client) > 0 {
		d.warning("tls", "use https", "has no effect on an http URL")
	}
}

func (d *draft) checkProxy() {
	p := d.file.Proxy
	if p == nil || p.Word != "" {
		return
	}
	if reason := p.fault(); reason != "" {
		d.problem("proxy", "", "%s", reason)
	}
	if !p.Password.IsZero() {
		d.checkSecret("proxy.password_file", p.Password)
	}
}

// checkSecret reads a secret once, so that a wrong path is found now and not
// in the night.
func (d *draft) checkSecret(key string, s conf.Secret) {
	if s.IsZero() {
		return // a missing key was reported already
	}
	reason, odd := secretFault(s, d.relative(s.File()))
	switch {
	case reason != "" && odd:
		d.warning(key, "chmod 600", "%s", reason)
	case reason != "":
		d.problem(key, "a file with the secret alone", "%s", reason)
	}
}

// secretFault says what is wrong with a secret's file; odd is what works but
// should not be.
func secretFault(s conf.Secret, name string) (reason string, odd bool) {
	if _, err := s.Read(); err != nil {
		return fmt.Sprintf("cannot read %s: %v", name, plain(err)), false
	}
	if info, err := os.Stat(s.File()); err == nil && info.Mode().Perm()&0o007 != 0 {
		return name + " can be read by everybody", true
	}
	return "", false
}

// printable reports whether s can stand in a header line.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func (d *draft) checkAS2() {
	f := d.file.AS2
	if as2.CheckName(f.ID) != nil {
		d.problem("as2.id", "RFC 4130 §6.2", "not an AS2 name: 1 to 128 printable ASCII characters")
	}
	switch {
	case f.OurID == "":
		d.problem("as2.our_id", "here, or as identity.as2 in edigw.yaml", "missing: who we are")
	case as2.CheckName(f.OurID) != nil:
		d.problem("as2.our_id", "RFC 4130 §6.2", "not an AS2 name: 1 to 128 printable ASCII characters")
	}
	if f.OurID == f.ID && f.ID != "" {
		d.problem("as2.id", "the partner's own name", "is our own name, too")
	}
	if !printable(f.Subject) {
		d.problem("as2.subject", "", "holds characters that are not printable ASCII")
	}
	if f.ContentType != "auto" && (!printable(f.ContentType) || !strings.Contains(f.ContentType, "/")) {
		d.problem("as2.content_type", "such as application/edi-x12, or auto", "%q is not of the form type/subtype", f.ContentType)
	}
	if slices.Contains(f.Receive.Require, "none") && len(f.Receive.Require) > 1 {
		d.problem("as2.receive.require", "none alone, or without none", "none contradicts the rest")
	}
}

func (d *draft) checkReceipt() {
	f := d.file.AS2
	switch {
	case f.MDN.Mode != "async":
		if d.root.Has("as2.mdn.wait") {
			d.problem("as2.mdn.wait", "remove it, or set mode: async", "only an asynchronous receipt is waited for")
		}
	case d.gateway.PartnerURL() == "":
		d.problem("as2.mdn.mode", "set listen.partners.base_url in edigw.yaml", "async needs a URL of ours where the partner posts receipts")
	case d.out.AS2.Wait < time.Minute:
		d.warning("as2.mdn.wait", "60m is usual", "under a minute: most partners answer later")
	}
	if f.MDN.Mode == "none" && (d.root.Has("as2.mdn.signed") || d.root.Has("as2.mdn.algorithm")) {
		d.warning("as2.mdn", "remove signed and algorithm", "no receipt is asked for")
	}
	for i, u := range f.Receive.ReceiptURLs {
		if parsed, err := url.Parse(string(u)); err == nil && parsed.Scheme == "http" {
			d.warning(fmt.Sprintf("as2.receive.receipt_urls[%d]", i), "use https if the partner can", "receipts to it can be read on the way")
		}
	}
}

// checkKeys finds keys and certificates that the settings need and nobody
// named. A partner in set-up need not have them yet.
func (d *draft) checkKeys() {
	f := d.file.AS2
	say := d.problem
	if d.out.Stage == StageSetup {
		say = d.warning
	}
	if f.Encrypt != "none" && len(d.file.Certificates.Encrypt) == 0 {
		say("certificates.encrypt", "a file with the partner's certificate, or as2.encrypt: none", "missing: as2.encrypt is %s%s", f.Encrypt, d.from("as2.encrypt"))
	}
	if len(d.file.Certificates.Verify) == 0 {
		switch {
		case f.MDN.Mode != "none" && f.MDN.Signed:
			say("certificates.verify", "a file with the partner's certificate, or as2.mdn.signed: false", "missing: receipts must be signed%s", d.from("as2.mdn.signed"))
		case d.out.AS2.Template.Receive.Signed:
			say("certificates.verify", "a file with the partner's certificate, or as2.receive.require: none", "missing: their messages must be signed%s", d.from("as2.receive.require"))
		}
	}
	if f.Sign != "none" && !d.hasKey("sign") {
		say("as2.sign", "add one to keys in edigw.yaml, or sign: none", "edigw.yaml names no key to sign with")
	}
	if d.out.AS2.Template.Receive.Encrypted && !d.hasKey("decrypt") {
		say("as2.receive.require", "add one to keys in edigw.yaml", "edigw.yaml names no key to decrypt with")
	}
	d.checkAllTerms()
}

// checkAllTerms looks at the certificates of every use.
func (d *draft) checkAllTerms() {
	c := d.out.certificates
	d.checkTerms("certificates.verify", UseVerify, c.verify)
	d.checkTerms("certificates.encrypt", UseEncrypt, c.encrypt)
	d.checkTerms("tls.trust", UseTLSTrust, c.trust)
	d.checkTerms("tls.client", UseTLSClient, clientTerms(c.client))
	d.checkTerms("as4.trust.authorities", UseAuthority, c.authorities)
	d.checkInbound()
}

// hasKey reports whether there is a key of ours for a use of AS2.
func (d *draft) hasKey(use string) bool { return len(forAS2(d.own, use)) > 0 }

// checkInbound finds client certificates that nobody asks for.
func (d *draft) checkInbound() {
	terms := d.out.certificates.inbound
	d.checkTerms("tls.inbound", UseTLSIn, terms)
	if len(d.file.TLS.Inbound) == 0 {
		return
	}
	l := d.gateway.Listen.Partners
	if l == nil || l.TLS == nil || l.TLS.Client == "none" {
		d.problem("tls.inbound", "set listen.partners.tls.client: request in edigw.yaml, or remove the list", "their client certificate is never asked for, so every message of theirs would be refused")
	}
}

// checkTerms warns if none of the certificates for a use is in force, and of
// how they follow each other.
func (d *draft) checkTerms(key, use string, terms []term) {
	for _, f := range flaws(use, terms, d.now) {
		d.warning(key, f.hint, "%s", f.reason)
	}
	if len(terms) == 0 || newest(terms, d.now) >= 0 {
		return
	}
	why, hint := idle(terms, d.now)
	d.warning(key, cmp.Or(hint, "get the successor from its owner"), "%s%s", noneInForce, why)
}
