package partner

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"edigw/as2/smime"
	"edigw/internal/certs"
	"edigw/internal/conf"
)

// leaf is a certificate with what is asked of it often. Parsed, it takes
// several times its size, so it is parsed when it is used first.
type leaf struct {
	der        []byte
	sum        [sha256.Size]byte
	serial     string
	subject    string
	kind       keyKind
	begin, end time.Time // NotBefore, NotAfter
	parsed     atomic.Pointer[x509.Certificate]
}

func newLeaf(c *x509.Certificate) *leaf {
	return &leaf{
		der: bytes.Clone(c.Raw), sum: sha256.Sum256(c.Raw), serial: smime.CertificateID(c).Serial,
		subject: c.Subject.String(), kind: kindOf(publicKey(c)), begin: c.NotBefore, end: c.NotAfter,
	}
}

// certificate is the parsed certificate. It was parsed once when it was
// loaded, so it parses.
func (l *leaf) certificate() *x509.Certificate {
	if c := l.parsed.Load(); c != nil {
		return c
	}
	c, err := certs.ParseCertificate(l.der)
	if err != nil {
		return nil
	}
	l.parsed.Store(c)
	return c
}

// term is when a certificate or key is used: from inclusive, until exclusive.
type term struct {
	*leaf
	file        string // for people: relative to edigw.yaml
	from, until time.Time
}

// begins is when its use begins: as the file says, but not before it is valid.
func (t term) begins() time.Time {
	if t.from.After(t.begin) {
		return t.from
	}
	return t.begin
}

// ends is the first instant at which it is used no more. A certificate is
// valid through its last second (RFC 5280 §4.1.2.5).
func (t term) ends() time.Time {
	end := t.end.Add(time.Second)
	if !t.until.IsZero() && t.until.Before(end) {
		return t.until
	}
	return end
}

// ever reports whether there is a time of its use at all.
func (t term) ever() bool { return t.begins().Before(t.ends()) }

func (t term) inForce(now time.Time) bool {
	return !now.Before(t.begins()) && now.Before(t.ends())
}

// inForceAt reports whether it is in force at one of some times.
func (t term) inForceAt(times []time.Time) bool { return slices.ContainsFunc(times, t.inForce) }

// newest is the index of the term in force that began last, or −1.
func newest(terms []term, now time.Time) int {
	best := -1
	for i, t := range terms {
		if t.inForce(now) && (best < 0 || !t.begins().Before(terms[best].begins())) {
			best = i
		}
	}
	return best
}

// newestOnly reports whether of several certificates for a use only the newest
// is used, not all.
func newestOnly(use string) bool {
	return use == UseSign || use == UseEncrypt || use == UseTLSClient || use == UseTLSServer
}

// certificates are those of one partner.
type certificates struct {
	verify, encrypt []term
	authorities     []term // whose certificates may have signed, too
	publishers      []term // authorities of the SMPs
	trust           []term
	client          []clientKey
	inbound         []term // client certificates that they show us
}

// span is the time of its use, for people.
func (t term) span() string {
	const layout = "2006-01-02"
	return t.begins().UTC().Format(layout) + " to " + t.ends().Add(-time.Second).UTC().Format(layout)
}

// certificates reads the files that the partner file names.
func (d *draft) certificates() certificates {
	f := &d.file
	out := certificates{verify: d.terms(UseVerify, f.Certificates.Verify), encrypt: d.terms(UseEncrypt, f.Certificates.Encrypt), inbound: d.inbound()}
	out.trust = d.bundles("tls.trust", f.TLS.Trust)
	if f.AS4 != nil && f.Protocol == protocolAS4 {
		out.authorities = d.bundles("as4.trust.authorities", f.AS4.Trust.Authorities)
		if f.AS4.SMP != nil {
			out.publishers = d.bundles("as4.smp.authorities", f.AS4.SMP.Authorities)
		}
	}
	for i, c := range f.TLS.Client {
		key := fmt.Sprintf("tls.client[%d]", i)
		if !d.ordered(key, c.From, c.Until) || c.Cert == "" || c.Key == "" {
			continue
		}
		pair, l, err := loadPair(c.Cert, c.Key)
		if err != nil {
			d.unreadable(key+".cert", c.Cert, err)
			continue
		}
		out.client = append(out.client, clientKey{term{l, d.relative(string(c.Cert)), c.From.Begin(d.zone), c.Until.End(d.zone)}, pair})
	}
	return out
}

// bundles reads certificates of which one file may hold several.
func (d *draft) bundles(key string, files []certificateFile) (out []term) {
	for i, c := range files {
		key := fmt.Sprintf("%s[%d]", key, i)
		if !d.ordered(key, c.From, c.Until) || c.File == "" {
			continue
		}
		list, err := d.bundle(string(c.File))
		if err != nil {
			d.unreadable(key+".file", c.File, err)
		}
		for _, l := range list {
			out = append(out, term{l, d.relative(string(c.File)), c.From.Begin(d.zone), c.Until.End(d.zone)})
		}
	}
	return out
}

// another says which certificate to ask for instead.
func another(protocol string) string {
	if protocol == protocolAS4 {
		return "ask the partner for one whose key as4.security can use"
	}
	return "ask the partner for an RSA certificate"
}

// terms reads certificates for one use.
func (d *draft) terms(use string, files []certificateFile) []term {
	var out []term
	for i, c := range files {
		key := fmt.Sprintf("certificates.%s[%d]", use, i)
		if !d.ordered(key, c.From, c.Until) || c.File == "" {
			continue
		}
		end, err := d.end(string(c.File))
		switch {
		case err != nil:
			d.unreadable(key+".file", c.File, err)
			continue
		case end.misfits[serving{d.file.Protocol, use}] != "":
			d.problem(key+".file", another(d.file.Protocol), "%s holds %s", d.relative(string(c.File)), end.misfits[serving{d.file.Protocol, use}])
			continue
		case end.weak != "":
			d.warning(key+".file", "ask the partner for a new one", "%s holds %s", d.relative(string(c.File)), end.weak)
		}
		if !d.theirs(key+".file", c.File, end) {
			continue
		}
		out = append(out, term{end.leaf, d.relative(string(c.File)), c.From.Begin(d.zone), c.Until.End(d.zone)})
	}
	return out
}

// theirs refuses a certificate of ours in the place of a partner's, unless the
// partner is ourselves, and warns of a private key in its file.
func (d *draft) theirs(key string, file conf.Path, end endCertificate) bool {
	if !d.ourselves() && slices.ContainsFunc(d.own, func(k ownKey) bool { return k.sum == end.sum }) {
		d.problem(key, "the file with the partner's certificate", "%s, serial %s, is our own certificate", d.relative(string(file)), end.serial)
		return false
	}
	if end.private {
		d.warning(key, "keep the certificate alone; if the key is the partner's, tell him that others have it", "%s holds a private key, too", d.relative(string(file)))
	}
	return true
}

// ourselves reports whether documents to the partner come back to this gateway.
func (d *draft) ourselves() bool {
	to, err := url.Parse(d.out.URL())
	if err != nil {
		return false
	}
	base, err := url.Parse(d.gateway.PartnerURL())
	return loopback(to.Hostname()) || err == nil && to.Host != "" && to.Host == base.Host
}

// inbound reads the client certificates that the partner shows our listener.
func (d *draft) inbound() []term {
	var out []term
	for i, c := range d.file.TLS.Inbound {
		key := fmt.Sprintf("tls.inbound[%d]", i)
		if !d.ordered(key, c.From, c.Until) || c.File == "" {
			continue
		}
		end, err := d.end(string(c.File))
		if err != nil {
			d.unreadable(key+".file", c.File, err)
			continue
		}
		if !d.theirs(key+".file", c.File, end) {
			continue
		}
		out = append(out, term{end.leaf, d.relative(string(c.File)), c.From.Begin(d.zone), c.Until.End(d.zone)})
	}
	return out
}

func (d *draft) ordered(key string, from, until conf.Moment) bool {
	if from.IsZero() || until.IsZero() || until.End(d.zone).After(from.Begin(d.zone)) {
		return true
	}
	d.problem(key+".until", "", "ends before it begins")
	return false
}

func (d *draft) unreadable(key string, path conf.Path, err error) {
	d.problem(key, "PEM, DER or P7B; paths begin at the folder of this file", "cannot read %s: %v", d.relative(string(path)), err)
}
