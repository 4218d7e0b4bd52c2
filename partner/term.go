package partner

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"sync/atomic"
	"time"

	"edigw/as2/smime"
	"edigw/internal/conf"
)

// leaf is a certificate with what is asked of it often. Parsed, it takes
// several times its size, so it is parsed when it is used first.
type leaf struct {
	der        []byte
	sum        [sha256.Size]byte
	serial     string
	subject    string
	begin, end time.Time // NotBefore, NotAfter
	parsed     atomic.Pointer[x509.Certificate]
}

func newLeaf(c *x509.Certificate) *leaf {
	return &leaf{
		der: bytes.Clone(c.Raw), sum: sha256.Sum256(c.Raw), serial: smime.CertificateID(c).Serial,
		subject: c.Subject.String(), begin: c.NotBefore, end: c.NotAfter,
	}
}

// certificate is the parsed certificate. It was parsed once when it was
// loaded, so it parses.
func (l *leaf) certificate() *x509.Certificate {
	if c := l.parsed.Load(); c != nil {
		return c
	}
	c, err := x509.ParseCertificate(l.der)
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

func (t term) inForce(now time.Time) bool {
	return !now.Before(t.begins()) && now.Before(t.ends())
}

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

// certificates are those of one partner.
type certificates struct {
	verify, encrypt []term
	trust           []term
	client          []clientKey
}

// span is the time of its use, for people.
func (t term) span() string {
	const layout = "2006-01-02"
	return t.begins().UTC().Format(layout) + " to " + t.ends().Add(-time.Second).UTC().Format(layout)
}

// certificates reads the files that the partner file names.
func (d *draft) certificates() certificates {
	f := &d.file
	out := certificates{verify: d.terms("certificates.verify", f.Certificates.Verify, x509.UnknownPublicKeyAlgorithm),
		encrypt: d.terms("certificates.encrypt", f.Certificates.Encrypt, x509.RSA)}
	for i, c := range f.TLS.Trust {
		key := fmt.Sprintf("tls.trust[%d]", i)
		if !d.ordered(key, c.From, c.Until) || c.File == "" {
			continue
		}
		list, err := d.bundle(string(c.File))
		if err != nil {
			d.unreadable(key+".file", c.File, err)
		}
		for _, l := range list {
			out.trust = append(out.trust, term{l, d.relative(string(c.File)), c.From.Begin(d.zone), c.Until.End(d.zone)})
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

// terms reads certificates for one use; kind is the only kind of key that
// suits, if there is such a one.
func (d *draft) terms(key string, files []certificateFile, kind x509.PublicKeyAlgorithm) []term {
	var out []term
	for i, c := range files {
		key := fmt.Sprintf("%s[%d]", key, i)
		if !d.ordered(key, c.From, c.Until) || c.File == "" {
			continue
		}
		end, err := d.end(string(c.File))
		switch {
		case err != nil:
			d.unreadable(key+".file", c.File, err)
		case kind != x509.UnknownPublicKeyAlgorithm && end.kind != kind:
			d.problem(key+".file", "ask for an RSA certificate", "%s holds a key of kind %v; encryption needs %v", d.relative(string(c.File)), end.kind, kind)
		default:
			out = append(out, term{end.leaf, d.relative(string(c.File)), c.From.Begin(d.zone), c.Until.End(d.zone)})
		}
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
