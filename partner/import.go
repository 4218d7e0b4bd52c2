package partner

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/internal/selfsigned"
)

// Why a certificate or key is not imported, by errors.Is.
var (
	ErrCertificateUse        = errors.New("no such use: a partner's are verify, encrypt, tls-trust and, alone, tls-client; our own are sign and decrypt")
	ErrCertificateUnreadable = errors.New("not one certificate in PEM, DER or P7B")
	ErrCertificateKind       = errors.New("the certificate's kind of key does not suit")
	ErrCertificateEnded      = errors.New("the certificate has ended")
	ErrCertificateFrom       = errors.New("the certificate ends before it is used")
	ErrCertificateListed     = errors.New("the certificate is listed already")
	ErrKey                   = errors.New("not one private key with its certificate, as P12 or PEM")
	ErrPassword              = errors.New("the password of the P12 is wrong")
	ErrNoPassword            = errors.New("the P12 needs a password")
	ErrPartnerFile           = errors.New("the settings file cannot be changed by program")
)

// Import is a certificate, or a key of ours with its certificate, that is to be
// used.
type Import struct {
	Owner    string    // a partner's id, or OwnerGateway
	Use      []string  // of UseVerify, UseEncrypt, UseTLSTrust; UseTLSClient alone; OwnerGateway: of UseSign, UseDecrypt
	Data     []byte    // a certificate in PEM, DER or P7B; a key in P12, or PEM with its certificates
	Password string    // of the P12
	From     time.Time // of its use; zero: at once, and then also where only the newest is used
}

// Imported is a certificate that was taken into use.
type Imported struct {
	File      string    `json:"file"`     // that was written, relative to edigw.yaml
	Settings  string    `json:"settings"` // the settings file, which lists it now
	Use       []string  `json:"use"`      // lists that it was added to
	Subject   string    `json:"subject"`
	Serial    string    `json:"serial"` // "4F:22"
	SHA256    string    `json:"sha256"` // "9A:1C:…"
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// Import takes a certificate or key into use. It writes it below keys/ beside
// edigw.yaml, a password below secrets/, and lists it in the partner's file, or
// a key of ours in edigw.yaml, behind what is listed there; every other byte of
// that file stays. The new text is loaded before it replaces the old one; if any
// step fails nothing changes. A list that has the certificate already is left
// alone. It counts from the next reload on, as does whatever else was changed in
// that file.
//
// Errors, by errors.Is: ErrUnknown, those above; or a fault of the disk. None
// holds the password. It may be called concurrently, also by several processes.
func (s *Snapshot) Import(in Import, now time.Time) (Imported, error) {
	if _, ok := s.partners[in.Owner]; !ok && in.Owner != OwnerGateway {
		return Imported{}, fmt.Errorf("%s: %w", in.Owner, ErrUnknown)
	}
	m, err := acceptable(in, s.protocol(in.Owner), now)
	if err != nil {
		return Imported{}, err
	}
	unlock, err := lockFolder(s.dir)
	if err != nil {
		return Imported{}, err
	}
	defer unlock()
	i := importer{snapshot: s, in: in, now: now, material: m, leaf: newLeaf(m.cert), target: s.target(in.Owner)}
	if err := i.read(); err != nil {
		return Imported{}, err
	}
	if err := i.edit(); err != nil {
		return Imported{}, err
	}
	if err := i.write(); err != nil {
		return Imported{}, err
	}
	out := m.imported(i.uses)
	out.File, out.Settings = i.relative(i.files[0].path), i.target.name()
	return out, nil
}

// Preview says what Import would take out of the data, so that somebody can
// compare the fingerprint first. It reads and changes no file. Errors are those
// of Import about the data; a kind of key that only one protocol uses is no error
// here.
func Preview(in Import, now time.Time) (Imported, error) {
	m, err := acceptable(in, protocolAS4, now)
	if err != nil {
		return Imported{}, err
	}
	return m.imported(in.Use), nil
}

// material is what was found in the data.
type material struct {
	cert *x509.Certificate
	id   *identity // with its key; nil: a certificate alone
}

func (m material) imported(uses []string) Imported {
	c := m.cert
	return Imported{Use: uses, Subject: c.Subject.String(), Serial: smime.CertificateID(c).Serial, SHA256: smime.Fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// HoldsKey reports whether what serves a use is a key of ours.
func HoldsKey(use string) bool { return use == UseSign || use == UseDecrypt || use == UseTLSClient }

// protocol is what a partner speaks; empty for the gateway.
func (s *Snapshot) protocol(owner string) string {
	if p := s.partners[owner]; p != nil {
		return p.Protocol
	}
	return ""
}

// acceptable reads what is to be imported and refuses what could not serve.
func acceptable(in Import, protocol string, now time.Time) (m material, err error) {
	if err := in.fits(); err != nil {
		return m, err
	}
	if HoldsKey(in.Use[0]) {
		m, err = in.key()
	} else {
		m, err = in.certificate(protocol)
	}
	if err != nil {
		return m, err
	}
	t := term{leaf: newLeaf(m.cert), from: in.From}
	if now.Before(t.ends()) && !t.ever() {
		return m, fmt.Errorf("%w: from is %s, and serial %s is valid through %s", ErrCertificateFrom, in.From.UTC().Format(time.RFC3339), t.serial, m.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	if !now.Before(t.ends()) {
		return m, fmt.Errorf("%w: serial %s is valid through %s", ErrCertificateEnded, t.serial, m.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	return m, nil
}

// fits refuses uses that the owner has not, or that do not go together.
func (in Import) fits() error {
	can := []string{UseVerify, UseEncrypt, UseTLSTrust}
	switch {
	case in.Owner == OwnerGateway:
		can = []string{UseSign, UseDecrypt}
	case len(in.Use) == 1 && in.Use[0] == UseTLSClient:
		can = in.Use
	}
	if len(in.Use) == 0 {
		return ErrCertificateUse
	}
	for _, u := range in.Use {
		if !slices.Contains(can, u) {
			return fmt.Errorf("%q: %w", u, ErrCertificateUse)
		}
	}
	return nil
}

// certificate reads a partner's certificate.
func (in Import) certificate(protocol string) (m material, err error) {
	if len(in.Data) > maxCertificateFile {
		return m, fmt.Errorf("%w: larger than %d bytes", ErrCertificateUnreadable, maxCertificateFile)
	}
	certs, err := parseCertificates(in.Data)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrCertificateUnreadable, err)
	}
	if m.cert, err = single(certs); err != nil {
		return m, fmt.Errorf("%w: %w", ErrCertificateUnreadable, err)
	}
	for _, u := range in.Use {
		if why := misfit(protocol, u, m.cert); why != "" {
			return m, fmt.Errorf("%w: it has %s", ErrCertificateKind, why)
		}
	}
	return m, nil
}

// key reads a key of ours.
func (in Import) key() (m material, err error) {
	if len(in.Data) > maxCertificateFile {
		return m, fmt.Errorf("%w: larger than %d bytes", ErrKey, maxCertificateFile)
	}
	id, err := parseIdentity(in.Data, in.Password)
	switch {
	case errors.Is(err, errPassword):
		return m, ErrPassword
	case errors.Is(err, errNoPassword):
		return m, ErrNoPassword
	case err != nil:
		return m, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if err := id.suits(in.Use); err != nil {
		return m, fmt.Errorf("%w: it has %w", ErrCertificateKind, err)
	}
	return material{id.cert, &id}, nil
}

// newFile is a file that an import writes; there says that it exists so.
type newFile struct {
	path  string
	data  []byte
	there bool
}

// filed gives the content of the files, the certificate's or key's first, as
// they are named below the folder of edigw.yaml.
func (m material) filed(in Import) ([]newFile, error) {
	serial := strings.Trim(strings.ReplaceAll(smime.CertificateID(m.cert).Serial, ":", ""), "…")
	name := in.Owner + "-" + serial
	switch {
	case m.id == nil:
		return []newFile{{path: "keys/" + name + ".pem", data: certificatesPEM(m.cert)}}, nil
	case in.Owner != OwnerGateway: // crypto/tls reads PEM
		private, err := selfsigned.KeyPEM(m.id.key.(crypto.Signer)) // what does not sign does not suit this use
		if err != nil {
			return nil, err
		}
		data := append(certificatesPEM(append([]*x509.Certificate{m.cert}, m.id.chain...)...), private...)
		return []newFile{{path: "keys/" + in.Owner + "-client-" + serial + ".pem", data: data}}, nil
	case armoured(in.Data):
		return []newFile{{path: "keys/" + name + ".pem", data: in.Data}}, nil
	}
	files := []newFile{{path: "keys/" + name + ".p12", data: in.Data}}
	if in.Password != "" {
		files = append(files, newFile{path: "secrets/" + name, data: []byte(in.Password)})
	}
	return files, nil
}

func certificatesPEM(list ...*x509.Certificate) (out []byte) {
	for _, c := range list {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}
