package partner

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/internal/exchange"
)

// ErrUnknown says that no partner has that id, or that it speaks another
// protocol.
var ErrUnknown = errors.New("no such partner of this protocol")

// Agreement is what holds for sending to the partner at now: of several keys
// the newest that has begun signs, of several certificates the newest that has
// begun encrypts, all that are valid verify, and all that have not ended decrypt.
// The password is read from its file.
//
// The error is ErrUnknown, or an *fault.SettingError that names the key,
// certificate or file at fault, its cause as fault.Local tells it.
func (s *Snapshot) Agreement(id string, now time.Time) (as2.Agreement, error) {
	p, ok := s.partners[id]
	if !ok || p.AS2 == nil {
		return as2.Agreement{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	if p.Misconfigured {
		return as2.Agreement{}, &fault.SettingError{Key: s.file(id), Why: "the file has mistakes; edigw check lists them", Cause: fault.CauseBuild}
	}
	a := s.receiving(p, now)
	if all := s.lacking(p, a, now); len(all) > 0 {
		return as2.Agreement{}, all[0]
	}
	var err error
	if a.AuthPassword, err = p.Auth.read("auth.basic.password_file"); err != nil {
		return as2.Agreement{}, err
	}
	return a, nil
}

// read is the password, empty if there is no login. The error is a
// *fault.SettingError about the key.
func (a *Auth) read(key string) (string, error) {
	if a == nil {
		return "", nil
	}
	password, err := a.Password.Read()
	if err != nil {
		return "", &fault.SettingError{Key: key, Why: err.Error(), Cause: fault.CauseBuild}
	}
	return password, nil
}

// lacking are the keys and certificates that sending needs and of which none is
// in force, each as an *fault.SettingError.
func (s *Snapshot) lacking(p *Partner, a as2.Agreement, now time.Time) (out []error) {
	lacks := func(is bool, key, what string, cause fault.Cause, terms []term) {
		if is {
			out = append(out, missing(key, what, cause, terms, now))
		}
	}
	signing, opening := termsOf(forAS2(s.own, UseSign)), termsOf(forAS2(s.own, UseDecrypt))
	lacks(a.Sign != 0 && newest(signing, now) < 0, "keys", "our signing key", fault.CauseKey, signing)
	lacks(a.Encrypt != "" && len(a.Recipients) == 0, "certificates.encrypt", "the partner's certificate", fault.CauseBuild, p.certificates.encrypt)
	lacks(p.AS2.EncryptToSelf && newest(opening, now) < 0, "keys", "our certificate to encrypt to, too (as2.encrypt_to_self),", fault.CauseKey, opening)
	lacks(a.MDN.Signed && len(a.Verify) == 0, "certificates.verify", "the partner's certificate", fault.CauseBuild, p.certificates.verify)
	return out
}

// Receiving is what holds for messages of the partner at now. It never fails
// for want of a key: what is missing is left out, and whoever needs it says
// so. The error is ErrUnknown.
func (s *Snapshot) Receiving(id string, now time.Time) (as2.Agreement, error) {
	p, ok := s.partners[id]
	if !ok || p.AS2 == nil {
		return as2.Agreement{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return s.receiving(p, now), nil
}

// Acknowledging is what holds for an acknowledgement that came at now for a
// message sent at sentAt: it may verify with the certificates valid at either
// time. The error is ErrUnknown.
func (s *Snapshot) Acknowledging(id string, sentAt, now time.Time) (as2.Agreement, error) {
	a, err := s.Receiving(id, now)
	if err != nil {
		return a, err
	}
	a.Verify, _ = s.partners[id].certificates.verifying(now, sentAt)
	return a, nil
}

// receiving fills the template with all keys and certificates that are in
// force.
func (s *Snapshot) receiving(p *Partner, now time.Time) as2.Agreement {
	a := p.AS2.Template
	signing := forAS2(s.own, UseSign)
	if i := newest(termsOf(signing), now); i >= 0 {
		k := signing[i]
		a.SigningKey, a.SigningCertificate = k.signs(), k.certificate()
		if p.AS2.AttachChain {
			a.SigningChain = k.chain
		}
	}
	opening := forAS2(s.own, UseDecrypt)
	for _, k := range opening {
		if r, ok := k.recipient(); ok && k.opens(now) {
			a.Decrypt = append(a.Decrypt, r)
		}
	}
	c := p.certificates
	if i := newest(c.encrypt, now); i >= 0 {
		a.Recipients = []*x509.Certificate{c.encrypt[i].certificate()}
		if own := newest(termsOf(opening), now); own >= 0 && p.AS2.EncryptToSelf {
			a.Recipients = append(a.Recipients, opening[own].certificate())
		}
	}
	a.Verify, a.Lapsed = c.verifying(now)
	a.Receive.Clients = c.clients(now)
	return a
}

// clients are the client certificates that a partner may show us: nil if none
// is asked of him, empty if none of his is in force.
func (c certificates) clients(now time.Time) []*x509.Certificate {
	if len(c.inbound) == 0 {
		return nil
	}
	out := []*x509.Certificate{}
	for _, t := range c.inbound {
		if t.inForce(now) {
			out = append(out, t.certificate())
		}
	}
	return out
}

// OwnCertificate is our certificate in force at now for a use, UseSign or
// UseDecrypt: of several the newest that has begun, which partners should
// have. Keys of kinds that AS4 alone uses count if there are no others. The error
// is an *fault.SettingError.
func (s *Snapshot) OwnCertificate(use string, now time.Time) (*x509.Certificate, error) {
	terms := termsOf(forAS2(s.own, use))
	if len(terms) == 0 {
		terms = ownTerms(s.own, use)
	}
	i := newest(terms, now)
	if i < 0 {
		return nil, missing("keys", "our certificate to "+use, fault.CauseKey, terms, now)
	}
	return terms[i].certificate(), nil
}

// StagedCertificate is the newest of our certificates for a use, UseSign or
// UseDecrypt, that is listed and whose use has not begun: partners need it
// before. The error is for people.
func (s *Snapshot) StagedCertificate(use string, now time.Time) (*x509.Certificate, error) {
	var found *term
	terms := ownTerms(s.own, use)
	for i := range terms {
		if t := &terms[i]; t.ever() && now.Before(t.begins()) && (found == nil || found.begins().Before(t.begins())) {
			found = t
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no certificate to %s waits for its day: what edigw.yaml lists is in use or has ended", use)
	}
	return found.certificate(), nil
}

// OwnCertificateOf is our certificate with a fingerprint, "9A:1C:…".
func (s *Snapshot) OwnCertificateOf(sha256 string) (*x509.Certificate, bool) {
	for _, k := range s.own {
		if colons(k.sum[:]) == sha256 {
			return k.certificate(), true
		}
	}
	return nil, false
}

// missing says which key or certificate is not in force: the next to begin if
// there is one, else the last that ended.
func missing(key, what string, cause fault.Cause, terms []term, now time.Time) error {
	e := &fault.SettingError{Key: key, Cause: cause, Why: what + " is missing"}
	var next, last *term
	for i := range terms {
		t := &terms[i]
		if t.begins().After(now) && (next == nil || t.begins().Before(next.begins())) {
			next = t
		}
		if last == nil || t.ends().After(last.ends()) {
			last = t
		}
	}
	switch {
	case next != nil:
		e.Suspect = next.serial
		e.Why = fmt.Sprintf("%s in %s, serial %s, is not used before %s", what, next.file, next.serial, next.begins().UTC().Format(time.RFC3339))
	case last != nil:
		e.Suspect = last.serial
		e.Why = fmt.Sprintf("%s in %s, serial %s, ended %s", what, last.file, last.serial, last.ends().Add(-time.Second).UTC().Format(time.RFC3339))
	}
	return e
}

// Transport is how to reach the partner; clock is asked at every handshake.
// Make a new client from it when TransportKey changes. The error is
// ErrUnknown, or an *fault.SettingError.
func (s *Snapshot) Transport(id string, clock func() time.Time) (exchange.Settings, error) {
	p, ok := s.partners[id]
	if !ok {
		return exchange.Settings{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	now := clock()
	out := exchange.Settings{Connect: p.Timeout.Connect, Connections: p.Lane.Connections, Now: clock}
	for _, t := range p.certificates.trust {
		if t.inForce(now) {
			out.Trust = append(out.Trust, t.certificate())
		}
	}
	// Where everything that is trusted has ended, the handshake shall say so:
	// it is the partner who must renew, and the lane that waits for him.
	if len(out.Trust) == 0 {
		for _, t := range p.certificates.trust {
			if c := t.certificate(); now.After(c.NotAfter) {
				out.Trust = append(out.Trust, c)
			}
		}
	}
	// An empty list would mean the system's authorities, whom this partner's
	// file does not trust.
	if len(p.certificates.trust) > 0 && len(out.Trust) == 0 {
		return exchange.Settings{}, missing("tls.trust", "the certificate of the partner's server", fault.CauseBuild, p.certificates.trust, now)
	}
	if client := p.certificates.client; len(client) > 0 {
		out.Client = func() (*tls.Certificate, error) {
			i := newest(clientTerms(client), clock())
			if i < 0 {
				return nil, missing("tls.client", "our client certificate", fault.CauseKey, clientTerms(client), clock())
			}
			return client[i].pair, nil
		}
	}
	if p.Proxy != nil {
		proxy, err := p.Proxy.target()
		if err != nil {
			return exchange.Settings{}, &fault.SettingError{Key: "proxy", Why: err.Error(), Cause: fault.CauseBuild}
		}
		out.Proxy, out.Except = proxy, p.Proxy.Except
	}
	return out, nil
}

// TransportKey changes whenever Transport would give another result: with a
// setting, with a certificate that begins or ends, with the file of the
// proxy's password. It holds no secret. An unknown id has the key "".
func (s *Snapshot) TransportKey(id string, now time.Time) string {
	p, ok := s.partners[id]
	if !ok {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, p.Timeout.Connect, p.Lane.Connections)
	for _, t := range p.certificates.trust {
		fmt.Fprintf(h, "trust %x %t\n", t.sum, t.inForce(now))
	}
	for _, k := range p.certificates.client {
		fmt.Fprintf(h, "client %x %d %d\n", k.sum, k.from.Unix(), k.until.Unix())
	}
	if p.Proxy != nil {
		fmt.Fprintf(h, "proxy %q %q %q %s\n", p.Proxy.URL, p.Proxy.User, p.Proxy.Except, touched(p.Proxy.Password))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// touched changes when the file of a secret does, without its content.
func touched(s conf.Secret) string {
	if s.IsZero() {
		return ""
	}
	info, err := os.Stat(s.File())
	if err != nil {
		return s.File()
	}
	return fmt.Sprintf("%s %d %d", s.File(), info.Size(), info.ModTime().UnixNano())
}

// ServerTLS is the certificate of the partners' listener, and what it asks of
// clients; nil for plain HTTP. Whose certificate a client shows is compared
// with as2.Receive.Clients: here every one will do, self-signed and ended ones
// too.
func (s *Snapshot) ServerTLS() (*tls.Certificate, tls.ClientAuthType) {
	if s.tls == nil {
		return nil, tls.NoClientCert
	}
	auth := tls.NoClientCert
	if l := s.gateway.Listen.Partners; l != nil && l.TLS != nil {
		switch l.TLS.Client {
		case "request":
			auth = tls.RequestClientCert
		case "require":
			auth = tls.RequireAnyClientCert
		}
	}
	return s.tls.pair, auth
}
