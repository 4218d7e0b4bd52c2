package partner

import (
	"crypto"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/breaker"
	"edigw/internal/conf"
	"edigw/retry"
)

// draft is a partner file while it is read: what it says, what was found wrong
// with it, and the partner that comes of it.
type draft struct {
	*loader
	id     string
	path   string // for people
	root   *conf.Node
	layers []conf.Layer
	file   file
	report conf.Report
	zone   *time.Location
	out    *Partner
}

// build turns the text of a partner file into a partner. It always returns
// one; if the text has mistakes other than warnings, it is misconfigured and
// has built-in values where the file is wrong.
func (l *loader) build(id, path string, text []byte) *Partner {
	d := &draft{loader: l, id: id, path: path, zone: time.UTC}
	root, problems := conf.Parse(path, text)
	for _, p := range problems {
		d.report.Add(p)
	}
	unreadable := root == nil
	if unreadable {
		root = &conf.Node{Kind: conf.Section, Line: 1}
	}
	d.root = root
	d.layers = l.below.stack(path, root)
	l.below.schema.Decode(&d.file, d.layers, &d.report, conf.Options{Partial: unreadable})
	d.settle()
	d.assemble(string(text))
	if !unreadable {
		d.check()
	}
	conf.Sort(d.report.Problems)
	d.out.Problems = slices.Clip(d.report.Problems)
	d.out.Misconfigured = d.report.Failed()
	return d.out
}

// problem notes a mistake at the line of key, or of its section if the key is
// missing.
func (d *draft) problem(key, hint, format string, args ...any) {
	d.report.Add(d.at(key, hint, fmt.Sprintf(format, args...)))
}

// warning notes what is odd but stops nothing.
func (d *draft) warning(key, hint, format string, args ...any) {
	p := d.at(key, hint, fmt.Sprintf(format, args...))
	p.Warning = true
	d.report.Add(p)
}

// at is a problem with a key. Where another file than the partner's says the
// key, the reason tells which: nobody can find it in his own.
func (d *draft) at(key, hint, reason string) Problem {
	return Problem{File: d.path, Line: d.root.LineOf(key), Key: key, Reason: reason + prefixed("; it is", d.from(key)), Hint: hint}
}

// from says where a value comes from that the partner's file does not say, such
// as " from preset mendelson"; empty if it says it, or nobody does.
func (d *draft) from(key string) string {
	key, _, _ = strings.Cut(key, "[")
	for i, l := range d.layers {
		switch {
		case !l.Root.Has(key):
		case i == 0:
			return ""
		case l.Origin == OriginDefaults:
			return " from defaults in " + l.File
		default:
			return " from " + l.File
		}
	}
	return ""
}

// given reports whether any file says key; what is built in does not count.
func (d *draft) given(key string) bool {
	return slices.ContainsFunc(d.layers, func(l conf.Layer) bool { return l.Root.Has(key) })
}

// prefixed is text with a beginning, or nothing if there is no text.
func prefixed(beginning, text string) string {
	if text == "" {
		return ""
	}
	return beginning + text
}

// settle fills in the values that depend on others.
func (d *draft) settle() {
	f := &d.file
	if f.Name == "" {
		f.Name = d.id
	}
	if zone, err := d.loader.zone(f.Zone); err != nil {
		d.problem("zone", "names are those of the IANA database", "%v", err)
	} else {
		d.zone = zone
	}
	if f.Retention.Payloads == 0 {
		f.Retention.Payloads = d.gateway.Retention.Payloads
	}
	if f.Retention.Evidence == 0 {
		f.Retention.Evidence = d.gateway.Retention.Evidence
	}
	if f.Lane.OnUnknown == "" {
		f.Lane.OnUnknown = string(retry.Resend)
		if window, said := d.duplicates(); said && window == 0 {
			f.Lane.OnUnknown = string(retry.Hold)
		}
	}
	if a := f.AS2; a != nil {
		if a.OurID == "" {
			a.OurID = d.gateway.Identity.AS2
		}
		a.Receive.Require = d.required("as2.receive.require", a.Receive.Require, a.Sign != "none", a.Encrypt != "none")
	}
	if f.AS4 != nil {
		d.settleAS4()
	}
}

// duplicates is how long the partner recognises a repeat.
func (d *draft) duplicates() (window time.Duration, said bool) {
	switch f := &d.file; {
	case f.Protocol == protocolAS4 && f.AS4 != nil:
		return time.Duration(f.AS4.DuplicateWindow), true
	case f.AS2 != nil:
		return time.Duration(f.AS2.DuplicateWindow), true
	}
	return 0, false
}

// required is what their messages must be: as the key says, or else as ours are.
func (d *draft) required(key string, said []string, signed, encrypted bool) []string {
	if len(said) > 0 {
		return said
	}
	var out []string
	if signed {
		out = append(out, "signed")
	}
	if encrypted {
		out = append(out, "encrypted")
	}
	if len(out) == 0 {
		out = []string{"none"}
	}
	if d.given(key) {
		d.warning(key, "none, if unsigned and unencrypted messages may come; else remove the key", "names nothing, which is as if it were absent: %s", strings.Join(out, ", "))
	}
	return out
}

// derived are the values of settle, for the list of effective settings.
func (d *draft) derived() map[string]string {
	f := &d.file
	out := map[string]string{
		"name": f.Name, "lane.on_unknown": f.Lane.OnUnknown,
		"retention.payloads": f.Retention.Payloads.String(), "retention.evidence": f.Retention.Evidence.String(),
	}
	if f.AS2 != nil {
		out["as2.our_id"] = f.AS2.OurID
		out["as2.receive.require"] = strings.Join(f.AS2.Receive.Require, ", ")
	}
	if f.AS4 != nil {
		d.derivedAS4(out)
	}
	return out
}

// assemble makes the partner of the file.
func (d *draft) assemble(text string) {
	f := &d.file
	p := &Partner{
		ID: d.id, Name: f.Name, Zone: d.zone, Stage: Stage(f.Stage), Protocol: f.Protocol, Preset: f.Preset,
		Owner:     Owner{f.Owner.Team, string(f.Owner.Mail), f.Owner.Phone, f.Owner.Note},
		Timeout:   Timeout{time.Duration(f.Time.Connect), time.Duration(f.Time.Send), time.Duration(f.Time.Response)},
		Retry:     f.Retry.policy(),
		Breaker:   f.Breaker.policy(),
		Notify:    Notify{Quiet: f.Alerts.Quiet.span, Tier: f.Alerts.Tier},
		Backlog:   Backlog{f.Backlog.Messages, int64(f.Backlog.Size)},
		Retention: Retention{time.Duration(f.Retention.Payloads), time.Duration(f.Retention.Evidence)},
		WarnBy:    time.Duration(f.WarnBy), DeliverBy: time.Duration(f.DeliverBy),
		AllowEmpty: f.Empty == "allow", CheckEnvelope: f.Check == "envelope", KeepOverdue: f.AfterDeadline == "keep",
		Proxy:  d.proxy(),
		source: text, below: d.below,
	}
	for _, m := range f.Alerts.Mail {
		p.Notify.Mail = append(p.Notify.Mail, string(m))
	}
	if f.Auth.Basic != nil {
		p.Auth = &Auth{f.Auth.Basic.User, f.Auth.Basic.Password}
	}
	if w := f.Inbox.Webhook; w != nil {
		p.Webhook = &Webhook{string(w.URL), w.Secret}
	}
	d.out = p
	p.Lane = d.lane()
	if f.AS2 != nil && f.Protocol == protocolAS2 {
		p.AS2 = d.as2()
		p.FreshID = f.AS2.FreshID
	}
	if f.AS4 != nil && f.Protocol == protocolAS4 {
		p.AS4 = d.as4()
		p.FreshID = f.AS4.FreshID
	}
	p.Duplicates, _ = d.duplicates()
	p.certificates = d.certificates()
	p.marks = p.mark()
}

func (r retryFile) policy() retry.Policy {
	return retry.Policy{Base: time.Duration(r.Base), Cap: time.Duration(r.Cap), Factor: r.Factor, Attempts: r.Attempts, Jitter: r.Jitter}
}

func (b breakerFile) policy() breaker.Policy {
	return breaker.Policy{
		Failures: b.Failures, Within: time.Duration(b.Within), Consecutive: b.Consecutive,
		Cooldown: time.Duration(b.Cooldown), MaxCooldown: time.Duration(b.MaxCooldown),
	}
}

func (d *draft) lane() Lane {
	f := d.file.Lane
	out := Lane{
		Concurrency: f.Concurrency, Rate: float64(f.Rate), Connections: f.Connections,
		AfterDead: AfterDead(f.AfterDead), OnUnknown: retry.OnUnknown(f.OnUnknown), OnOpen: OnOpen(d.file.Breaker.OnOpen),
		HoldAfter: f.HoldAfter, ReplayRate: float64(f.ReplayRate),
		Calendar: newCalendar(d.id, d.spans("lane.windows", f.Windows), d.spans("lane.blackouts", f.Blackouts)),
	}
	if r := d.file.Breaker.AutoReplay; r != nil && r.Word == "" {
		out.AutoReplay = &AutoReplay{time.Duration(r.MaxAge), r.Max}
	}
	return out
}

// spans reads windows or blackouts; those with mistakes are left out.
func (d *draft) spans(key string, list []window) []span {
	var out []span
	for i, w := range list {
		key := fmt.Sprintf("%s[%d]", key, i)
		zone := d.zone
		if w.Zone != "" {
			z, err := d.loader.zone(w.Zone)
			if err != nil {
				d.problem(key+".zone", "names are those of the IANA database", "%v", err)
				continue
			}
			zone = z
		}
		s := span{cron: w.Cron, length: time.Duration(w.For), zone: zone, from: w.From.Begin(zone), to: w.To.End(zone), note: w.Note}
		once := !w.From.IsZero() || !w.To.IsZero()
		switch {
		case !w.Cron.IsZero() && once:
			d.problem(key, "either cron and for, or from and to", "both again and again, and once")
		case !w.Cron.IsZero() && w.For == 0:
			d.problem(key+".for", "such as 14h", "missing: how long it lasts")
		case w.Cron.IsZero() && (w.From.IsZero() || w.To.IsZero()):
			d.problem(key, "either cron and for, or from and to", "says not when it begins and ends")
		case w.Cron.IsZero() && !s.to.After(s.from):
			d.problem(key+".to", "", "ends before it begins")
		default:
			out = append(out, s)
		}
	}
	return out
}

// proxy is the proxy on the way to the partner; nil if there is none.
func (d *draft) proxy() *Proxy {
	switch p := d.file.Proxy; {
	case p == nil || p.Word == "inherit":
		if g := d.gateway.Proxy; g != nil && g.Word == "" {
			return g
		}
		return nil
	case p.Word == "none":
		return nil
	default:
		return p
	}
}

// digest is the hash that a setting names; 0 for none.
func digest(name string) crypto.Hash {
	h, _ := smime.HashByName(name)
	return h
}

// keyTransports are the values of as2.key_transport (RFC 8017 §7, RFC 4055 §4.1).
// The last one is what Java makes of a digest that nobody told it to use for the
// mask, too. QUIRK(pyas2lib): reads none with SHA-512.
var keyTransports = map[string]smime.KeyTransport{
	"rsa-pkcs1":                 {},
	"rsa-oaep-sha1":             {OAEP: true, Hash: crypto.SHA1, MGF: crypto.SHA1},
	"rsa-oaep-sha256":           {OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA256},
	"rsa-oaep-sha384":           {OAEP: true, Hash: crypto.SHA384, MGF: crypto.SHA384},
	"rsa-oaep-sha512":           {OAEP: true, Hash: crypto.SHA512, MGF: crypto.SHA512},
	"rsa-oaep-sha256-mgf1-sha1": {OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA1},
}

func (d *draft) as2() *AS2 {
	f := d.file.AS2
	t := as2.Agreement{
		From: f.OurID, To: f.ID, URL: string(f.URL), Subject: f.Subject, Version: f.Version,
		Sign: digest(f.Sign), PSS: f.Signature == "rsa-pss", NoAttributes: !f.SignedAttributes, AlgorithmProtection: f.Protection,
		OmitCertificate: f.AttachCert == "none", KeyID: f.CertificateID == "key-id", DashlessNames: f.DigestNames == "rfc3851",
		Transport: keyTransports[f.KeyTransport],
		Compress:  as2.Compression(f.Compress), TransferEncoding: as2.TransferEncoding(f.TransferEncoding),
		Chunked: f.Transfer == "chunked", ExpectContinue: f.ExpectContinue,
		MDN: as2.MDNRequest{Mode: as2.MDNMode(f.MDN.Mode), Signed: f.MDN.Signed && f.MDN.Mode != "none", Algorithm: digest(f.MDN.Algorithm)},
		Receive: as2.Receive{
			Signed: slices.Contains(f.Receive.Require, "signed"), Encrypted: slices.Contains(f.Receive.Require, "encrypted"), Digest: digest(f.Receive.Digest),
			MIC: as2.MICRules{Unsigned: digest(f.Receive.MIC.Unsigned), CompressedBody: f.Receive.MIC.Compressed == "body", EncodedBody: f.Receive.MIC.Base64 == "encoded"},
		},
	}
	if f.Encrypt != "none" {
		t.Encrypt = smime.Cipher(f.Encrypt)
	}
	if t.MDN.Mode == as2.MDNAsync {
		t.MDN.URL = d.gateway.PartnerURL() + "/as2"
	}
	for _, u := range f.Receive.ReceiptURLs {
		t.Receive.ReceiptURLs = append(t.Receive.ReceiptURLs, string(u))
	}
	if d.file.Auth.Basic != nil {
		t.AuthUser = d.file.Auth.Basic.User
	}
	return &AS2{
		Template: t, ContentType: f.ContentType, Wait: time.Duration(f.MDN.Wait),
		EncryptToSelf: f.EncryptToSelf && f.Encrypt != "none", AttachChain: f.AttachCert == "chain",
	}
}
