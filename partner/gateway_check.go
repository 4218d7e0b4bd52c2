package partner

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"edigw/internal/conf"
)

// gatewayDraft is edigw.yaml while it is read.
type gatewayDraft struct {
	*loader
	file   string
	report conf.Report
}

func (d *gatewayDraft) problem(key, hint, format string, args ...any) {
	d.report.Add(Problem{File: d.file, Line: d.root.LineOf(key), Key: key, Reason: fmt.Sprintf(format, args...), Hint: hint})
}

func (d *gatewayDraft) warning(key, hint, format string, args ...any) {
	d.report.Add(Problem{File: d.file, Line: d.root.LineOf(key), Key: key, Reason: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
}

// loadGateway reads edigw.yaml and the own keys that it names into the loader.
// It reports whether they can be used.
func (l *loader) loadGateway() ([]Problem, bool) {
	d := &gatewayDraft{loader: l, file: l.relative(l.path)}
	text, err := l.text, error(nil)
	if text == nil {
		text, err = readSettings(l.path)
	}
	if err != nil {
		return []Problem{{File: d.file, Reason: fmt.Sprintf("cannot read it: %v", err), Hint: "edigw init writes one"}}, false
	}
	root, problems := conf.Parse(d.file, text)
	if root == nil {
		return problems, false
	}
	for _, p := range problems {
		d.report.Add(p)
	}
	d.root = root
	err = d.decode()
	if err != nil {
		return []Problem{{File: d.file, Reason: err.Error()}}, false
	}
	d.check()
	d.loadKeys()
	conf.Sort(d.report.Problems)
	return d.report.Problems, !d.report.Failed()
}

// decode reads the gateway's settings and what they say for all partners. An
// error is a mistake in this program's own descriptions.
func (d *gatewayDraft) decode() error {
	schema, err := conf.Describe(Gateway{})
	if err != nil {
		return err
	}
	partners, err := conf.Describe(file{})
	if err != nil {
		return err
	}
	presets, err := Presets()
	if err != nil {
		return err
	}
	d.gateway = new(Gateway)
	d.schema = schema
	schema.Decode(d.gateway, []conf.Layer{d.layer()}, &d.report, conf.Options{})
	if n := d.gateway.Defaults.Node; n != nil && n.Kind != conf.Section {
		if n.Kind != conf.Empty {
			d.problem("defaults", "any keys of a partner file", "must be a section")
		}
		d.gateway.Defaults.Node = nil
	}
	d.below = newLayers(partners, presets, d.gateway, d.root, d.file, d.dir)
	d.checkDefaults(partners)
	return nil
}

// layer is edigw.yaml as the only layer of its own settings.
func (d *gatewayDraft) layer() conf.Layer {
	return conf.Layer{Origin: OriginGateway, File: d.file, Dir: d.dir, Root: d.root}
}

// checkDefaults reads the defaults as if they were a partner file, so that a
// mistake is told once and at its place.
func (d *gatewayDraft) checkDefaults(partners *conf.Schema) {
	var report conf.Report
	layer := d.below.defaults
	layer.Silent = false
	partners.Decode(new(file), []conf.Layer{layer}, &report, conf.Options{Partial: true})
	properties := &draft{loader: d.loader, path: d.file, root: layer.Root, layers: []conf.Layer{layer}}
	properties.properties("as4.properties")
	properties.properties("as4.part_properties")
	for _, p := range append(report.Problems, properties.report.Problems...) {
		p.Key = "defaults." + p.Key
		d.report.Add(p)
	}
	for _, key := range []string{"name", "preset", "owner", "as2.id", "as2.url", "as4.to", "as4.url"} {
		if d.root.Has("defaults." + key) {
			d.problem("defaults."+key, "write it into the partner files", "differs from partner to partner")
		}
	}
}

func (d *gatewayDraft) check() {
	g := d.gateway
	if name := g.Identity.Domain; name != "" && !domain(name) {
		d.problem("identity.domain", "a domain name of yours, such as edi.acme.example", "cannot stand in a Message-ID")
	}
	if r := g.Retention; r.Payloads < r.Evidence {
		d.problem("retention.payloads", "payloads at least as long as evidence", "payloads would go (%v) before their evidence (%v)", r.Payloads, r.Evidence)
	}
	if p := g.Proxy; p != nil {
		if reason := p.fault(); reason != "" {
			d.problem("proxy", "", "%s", reason)
		}
		if p.Word == "inherit" {
			d.problem("proxy", "none, or a section with url", "there is nothing to inherit from")
		}
		d.checkSecret("proxy.password_file", p.Password)
	}
	d.checkListen()
	d.checkAlerts()
}

// domain reports whether s can be the right side of a Message-ID.
func domain(s string) bool {
	return len(s) <= 200 && s != "" && !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..") &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.')
		})
}

func (d *gatewayDraft) checkListen() {
	g := d.gateway
	p := g.Listen.Partners
	if p == nil {
		d.warning("listen.partners", "address: \":4080\"", "missing: nothing can be received, and no asynchronous receipts")
		return
	}
	if p.Address == g.Listen.Console.Address && !strings.HasSuffix(string(p.Address), ":0") {
		d.problem("listen.console.address", "another port", "is that of listen.partners: partners must not reach the console")
	}
	if p.TLS != nil && p.TLS.Cert != "" && p.TLS.Key != "" {
		pair, l, err := loadPair(p.TLS.Cert, p.TLS.Key)
		if err != nil {
			d.problem("listen.partners.tls", "PEM, paths begin at the folder of this file", "cannot read %s: %v", d.relative(string(p.TLS.Cert)), err)
			return
		}
		d.tls = &clientKey{term{leaf: l, file: d.relative(string(p.TLS.Cert))}, pair}
		d.checkTerms("listen.partners.tls", "", []term{d.tls.term})
	}
}

func (d *gatewayDraft) checkAlerts() {
	a := d.gateway.Alerts
	if a == nil || a.Mail == nil && a.Slack == nil {
		d.warning("alerts", "a section alerts with mail or slack", "nobody is told when something goes wrong")
		return
	}
	if _, err := d.zone(a.Zone); err != nil {
		d.problem("alerts.zone", "names are those of the IANA database", "%v", err)
	}
	for _, channel := range a.Order {
		if channel == "mail" && a.Mail == nil || channel == "slack" && a.Slack == nil {
			d.problem("alerts.order", "remove it, or describe the channel", "%s is no channel here", channel)
		}
	}
	if m := a.Mail; m != nil {
		switch {
		case m.User != "" && m.Password.IsZero():
			d.problem("alerts.mail.password_file", "a file with the password", "missing: user is given")
		case m.User == "" && !m.Password.IsZero():
			d.problem("alerts.mail.user", "the user at the server", "missing: password_file is given")
		case m.User != "" && m.TLS == "none" && !loopback(m.Host):
			d.problem("alerts.mail.tls", "starttls or tls", "none would show the password to everybody on the way")
		}
		d.checkSecret("alerts.mail.password_file", m.Password)
	}
	if s := a.Slack; s != nil {
		d.checkSecret("alerts.slack.webhook_file", s.Webhook)
		if text, err := s.Webhook.Read(); err == nil && text != "" && !webhookURL(text) {
			d.problem("alerts.slack.webhook_file", "https://…, or http on loopback", "the file does not hold a webhook's URL")
		}
	}
}

// webhookURL reports whether s is https, or http to this machine.
func webhookURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (d *gatewayDraft) checkSecret(key string, s conf.Secret) {
	if s.IsZero() {
		return
	}
	reason, odd := secretFault(s, d.relative(s.File()))
	switch {
	case reason != "" && odd:
		d.warning(key, "chmod 600", "%s", reason)
	case reason != "":
		d.problem(key, "a file with the secret alone", "%s", reason)
	}
}

// loadKeys reads the own keys.
func (d *gatewayDraft) loadKeys() {
	for i, k := range d.gateway.Keys {
		key := fmt.Sprintf("keys[%d]", i)
		if k.File == "" || len(k.Use) == 0 {
			continue // reported already
		}
		own, err := loadKey(k, d.relative(string(k.File)))
		if err != nil {
			d.problem(key+".file", "a P12 with password_file, or PEM with key and certificate", "cannot use %s: %v", d.relative(string(k.File)), err)
			continue
		}
		if !own.until.IsZero() && !own.until.After(own.from) {
			d.problem(key+".until", "", "ends before it begins")
		}
		d.own = append(d.own, own)
	}
	for _, use := range []string{UseSign, UseDecrypt} {
		terms := ownTerms(d.own, use)
		for _, members := range successions(terms, false) {
			group := pick(terms, members)
			for _, f := range flaws(use, group, d.now) {
				d.warning("keys", f.hint, "to %s: %s", use, f.reason)
			}
			if !d.report.Failed() {
				d.checkTerms("keys", "to "+use+": ", group)
			}
		}
	}
}

// checkTerms warns if no key or certificate of ours for a use is in force.
func (d *gatewayDraft) checkTerms(key, use string, terms []term) {
	if len(terms) > 0 && newest(terms, d.now) < 0 {
		why, hint := idle(terms, d.now)
		d.warning(key, cmp.Or(hint, "edigw cert new makes a successor"), "%s%s%s", use, noneInForce, why)
	}
}

// DoorDescriptors is what the two listeners need at least for connections from
// outside; where the limit on open files leaves more, they take a share of it.
const DoorDescriptors = 512

// Descriptors is how many file descriptors the gateway needs at least: two for
// each exchange, the socket and its file, some of its own, and those of the
// listeners.
func (g *Gateway) Descriptors() int { return 2*g.Limits.Sockets + 200 + DoorDescriptors }

// CheckDescriptors tells a limit of the process on open files that is too low
// for limits.sockets; ok is true if it suffices.
func (g *Gateway) CheckDescriptors(limit uint64) (p Problem, ok bool) {
	if need := uint64(g.Descriptors()); limit < need {
		return Problem{
			File: "edigw.yaml", Key: "limits.sockets",
			Reason: fmt.Sprintf("%d exchanges at once, and the listeners, need %d open files; this process may have %d", g.Limits.Sockets, need, limit),
			Hint:   fmt.Sprintf("raise the limit (systemd: LimitNOFILE=%d), or lower limits.sockets", need),
		}, false
	}
	return Problem{}, true
}

// DigestZone is the zone of the daily digest.
func (a *Alerts) DigestZone() *time.Location {
	zone, err := time.LoadLocation(a.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}
