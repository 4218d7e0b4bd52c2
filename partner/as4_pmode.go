package partner

import (
	"crypto/x509"
	"fmt"
	"time"

	"edigw/as4"
	"edigw/fault"
)

// PMode is what holds for sending to the partner by AS4 at now, and for a message
// that he pulls: of several keys the newest that has begun and makes the
// signature signs, of several certificates the newest that has begun encrypts,
// all that are valid verify, and all that have not ended decrypt. Passwords are
// read from their files.
//
// The error is ErrUnknown, or a *fault.SettingError that names the key,
// certificate or file at fault, its cause as fault.Local tells it.
func (s *Snapshot) PMode(id string, now time.Time) (as4.PMode, error) {
	p, err := s.speaksAS4(id)
	if err != nil {
		return as4.PMode{}, err
	}
	m := s.receivingAS4(p, now)
	if all := s.lackingAS4(p, m, now); len(all) > 0 {
		return as4.PMode{}, all[0]
	}
	if m.AuthPassword, err = p.Auth.read("auth.basic.password_file"); err != nil {
		return as4.PMode{}, err
	}
	if p.AS4.pull != nil {
		m.PullUser = p.AS4.pull.User
		if m.PullPassword, err = p.AS4.pull.read("as4.pull.password_file"); err != nil {
			return as4.PMode{}, err
		}
	}
	return m, nil
}

// FetchingPMode is what holds at now for fetching the partner's messages by pull
// requests: its MPC is that of as4.fetch, its PullUser ours. The error is
// ErrUnknown, also if nothing is fetched from him, or a *fault.SettingError.
func (s *Snapshot) FetchingPMode(id string, now time.Time) (as4.PMode, error) {
	p, err := s.speaksAS4(id)
	if err != nil {
		return as4.PMode{}, err
	}
	f := p.AS4.Fetch
	if f == nil {
		return as4.PMode{}, fmt.Errorf("%s: nothing is fetched: %w", id, ErrUnknown)
	}
	m := s.receivingAS4(p, now)
	if len(p.AS4.signatures) > 0 && m.Sign.Key == nil {
		return as4.PMode{}, missing("keys", "our signing key", fault.CauseKey, p.AS4.signing(s.own), now)
	}
	m.MPC = f.MPC
	if m.AuthPassword, err = p.Auth.read("auth.basic.password_file"); err != nil {
		return as4.PMode{}, err
	}
	if f.login != nil {
		m.PullUser = f.login.User
		if m.PullPassword, err = f.login.read("as4.fetch.password_file"); err != nil {
			return as4.PMode{}, err
		}
	}
	return m, nil
}

// ReceivingPMode is what holds for messages of the partner at now. It never fails
// for want of a key: what is missing is left out, and whoever needs it says so.
// It holds no password. The error is ErrUnknown.
func (s *Snapshot) ReceivingPMode(id string, now time.Time) (as4.PMode, error) {
	p, ok := s.partners[id]
	if !ok || p.AS4 == nil {
		return as4.PMode{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return s.receivingAS4(p, now), nil
}

// AcknowledgingPMode is what holds for a signal that came at now for a message
// sent at sentAt: it may verify with the certificates valid at either time. The
// error is ErrUnknown.
func (s *Snapshot) AcknowledgingPMode(id string, sentAt, now time.Time) (as4.PMode, error) {
	m, err := s.ReceivingPMode(id, now)
	if err != nil {
		return m, err
	}
	c := s.partners[id].certificates
	m.Verify, m.Lapsed = c.verifying(now, sentAt)
	m.Authorities = c.pool(now, sentAt)
	return m, nil
}

// speaksAS4 is the partner of that id if documents can go to him by AS4.
func (s *Snapshot) speaksAS4(id string) (*Partner, error) {
	p, ok := s.partners[id]
	switch {
	case !ok || p.AS4 == nil:
		return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
	case p.Misconfigured:
		return nil, &fault.SettingError{Key: s.file(id), Why: "the file has mistakes; edigw check lists them", Cause: fault.CauseBuild}
	}
	return p, nil
}

// receivingAS4 fills the template with all keys and certificates that are in
// force.
func (s *Snapshot) receivingAS4(p *Partner, now time.Time) as4.PMode {
	m := p.AS4.Template
	if len(p.AS4.signatures) > 0 {
		m.Sign.Algorithm = p.AS4.signatures[0].algorithm // without a key whoever signs must notice
		if k, algorithm, ok := p.AS4.signer(s.own, now); ok {
			m.Sign.Key, m.Sign.Certificate, m.Sign.Chain, m.Sign.Algorithm = k.signs(), k.certificate(), k.chain, algorithm
		}
	}
	c := p.certificates
	if i := newest(c.encrypt, now); i >= 0 && m.Encrypt.Cipher != "" {
		m.Encrypt.Recipient = c.encrypt[i].certificate()
		if p.AS4.transport == byKey {
			m.Encrypt.Transport = transportOf(transportFor(p.AS4.Profile, c.encrypt[i].kind), m.Encrypt.Cipher)
		}
	}
	m.Verify, m.Lapsed = c.verifying(now)
	m.Authorities = c.pool(now)
	m.Decrypt = openers(s.own, now)
	m.Receive.Clients = c.clients(now)
	return m
}

// lackingAS4 are the keys and certificates that sending needs and of which none
// is in force, each as a *fault.SettingError.
func (s *Snapshot) lackingAS4(p *Partner, m as4.PMode, now time.Time) (out []error) {
	if len(p.AS4.signatures) > 0 && m.Sign.Key == nil {
		out = append(out, missing("keys", "our signing key", fault.CauseKey, p.AS4.signing(s.own), now))
	}
	if m.Encrypt.Cipher != "" && m.Encrypt.Recipient == nil && !p.AS4.Network.Directory {
		out = append(out, missing("certificates.encrypt", "the partner's certificate", fault.CauseBuild, p.certificates.encrypt, now))
	}
	if m.Receipt.Signed && !verifiable(m) {
		out = append(out, p.certificates.missingSigner(now))
	}
	return out
}

// verifiable reports whether there is a certificate that signatures of the
// partner can be verified with.
func verifiable(m as4.PMode) bool { return len(m.Verify) > 0 || m.Authorities != nil }

// missingSigner says which certificate to verify with is not in force.
func (c certificates) missingSigner(now time.Time) error {
	if len(c.verify) == 0 && len(c.authorities) > 0 {
		return missing("as4.trust.authorities", "the authority of the partner's certificate", fault.CauseBuild, c.authorities, now)
	}
	return missing("certificates.verify", "the partner's certificate", fault.CauseBuild, c.verify, now)
}

// verifying are the certificates that verify at one of some times, and those that
// do not.
func (c certificates) verifying(times ...time.Time) (good, lapsed []*x509.Certificate) {
	for _, t := range c.verify {
		if t.inForceAt(times) {
			good = append(good, t.certificate())
		} else {
			lapsed = append(lapsed, t.certificate())
		}
	}
	return good, lapsed
}

// pool are the authorities in force at one of some times; nil if there are none.
func (c certificates) pool(times ...time.Time) *x509.CertPool { return pool(c.authorities, times...) }

func pool(terms []term, times ...time.Time) *x509.CertPool {
	var out *x509.CertPool
	for _, t := range terms {
		if !t.inForceAt(times) {
			continue
		}
		if out == nil {
			out = x509.NewCertPool()
		}
		out.AddCert(t.certificate())
	}
	return out
}
