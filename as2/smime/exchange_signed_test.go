package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"edigw/internal/testfixture"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"sync"
	"testing"
)

// signedForm is a form of SignedData. Without anything else it is detached, has
// signed attributes, and holds the signers' certificates.
type signedForm struct {
	form      string
	signers   []signedBy
	pss       bool
	bare      bool // no signed attributes
	keyID     bool
	protected bool // RFC 6211
	chain     bool // the signer's issuer is embedded too
	none      bool // no certificate is embedded
	opaque    bool
	pieces    bool              // opaque, of indefinite length
	dash      map[string]string // directions that do not go, and why
}

// signedBy is a signer: a key of signedParties and the digest.
type signedBy struct {
	name string
	hash crypto.Hash
}

// branch is a certificate that a branch office of a small hierarchy signs with.
var branch = sync.OnceValue(func() (b struct{ root, issuer, leaf party }) {
	authority := func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }
	b.root = issued("root.northwind.example", 0x71, party{}, authority)
	b.issuer = issued("issuer.northwind.example", 0x72, b.root, authority)
	b.leaf = issued("branch.northwind.example", 0x73, b.issuer, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
	return b
})

// nameless has a certificate without a key identifier.
var nameless = sync.OnceValue(func() party {
	return issued("nameless.northwind.example", 0x74, party{}, func(*x509.Certificate) {})
})

// issued makes a P-256 key and its certificate, signed by itself without an issuer.
func issued(name string, serial int64, by party, edit func(*x509.Certificate)) party {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name, Organization: []string{"Northwind"}},
		NotBefore: signedAt.AddDate(-1, 0, 0), NotAfter: signedAt.AddDate(9, 0, 0), BasicConstraintsValid: true,
	}
	edit(c)
	if by.key == nil {
		by = party{key: key, cert: c}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, key.Public(), by.key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return party{key: key, cert: cert}
}

var signedParties = sync.OnceValue(func() map[string]party {
	return map[string]party{
		"rsa": partner(), "p256": p256(), "p384": p384(), "p521": p521(),
		"branch": branch().leaf, "issuer": branch().issuer, "nameless": nameless(),
	}
})

const (
	noPSS      = "knows no RSASSA-PSS"
	noKeyID    = "knows no key identifiers"
	noneOpaque = "edigw signs detached only"
)

var signedForms = []signedForm{
	{form: "RSA PKCS #1, SHA-1", signers: []signedBy{{"rsa", crypto.SHA1}}},
	{form: "RSA PKCS #1, SHA-256", signers: []signedBy{{"rsa", crypto.SHA256}}},
	{form: "RSA PKCS #1, SHA-384", signers: []signedBy{{"rsa", crypto.SHA384}}},
	{form: "RSA PKCS #1, SHA-512", signers: []signedBy{{"rsa", crypto.SHA512}}},
	{form: "RSA PKCS #1, SHA-256, no signed attributes", signers: []signedBy{{"rsa", crypto.SHA256}}, bare: true},
	{form: "RSA-PSS, SHA-256", signers: []signedBy{{"rsa", crypto.SHA256}}, pss: true, dash: mozilla(noPSS)},
	{form: "RSA-PSS, SHA-384", signers: []signedBy{{"rsa", crypto.SHA384}}, pss: true, dash: mozilla(noPSS)},
	{form: "RSA-PSS, SHA-512", signers: []signedBy{{"rsa", crypto.SHA512}}, pss: true, dash: mozilla(noPSS)},
	{form: "RSA-PSS, SHA-256, no signed attributes", signers: []signedBy{{"rsa", crypto.SHA256}}, pss: true, bare: true, dash: mozilla(noPSS)},
	{form: "ECDSA P-256, SHA-256", signers: []signedBy{{"p256", crypto.SHA256}}},
	{form: "ECDSA P-384, SHA-384", signers: []signedBy{{"p384", crypto.SHA384}}},
	{form: "ECDSA P-521, SHA-512", signers: []signedBy{{"p521", crypto.SHA512}}},
	{form: "ECDSA P-256, SHA-256, no signed attributes", signers: []signedBy{{"p256", crypto.SHA256}}, bare: true},
	{form: "certificate and its issuer's embedded", signers: []signedBy{{"branch", crypto.SHA256}}, chain: true},
	{form: "no certificate embedded", signers: []signedBy{{"rsa", crypto.SHA256}}, none: true,
		dash: map[string]string{"mozilla→we": "always embeds its own"}},
	{form: "signer named by key identifier", signers: []signedBy{{"rsa", crypto.SHA256}}, keyID: true, dash: mozilla(noKeyID)},
	{form: "signer named by a computed key identifier", signers: []signedBy{{"nameless", crypto.SHA256}}, keyID: true,
		dash: map[string]string{
			"we→openssl": "wants it in the certificate", "openssl→we": "wants it in the certificate",
			"we→bouncy":  "computes it in another way",
			"we→mozilla": noKeyID, "mozilla→we": noKeyID,
		}},
	{form: "two signers, RSA and ECDSA", signers: []signedBy{{"rsa", crypto.SHA256}, {"p384", crypto.SHA384}}},
	{form: "algorithm protection", signers: []signedBy{{"rsa", crypto.SHA256}}, protected: true,
		dash: map[string]string{"openssl→we": "does not write it", "mozilla→we": "does not write it"}},
	{form: "algorithm protection, RSA-PSS", signers: []signedBy{{"rsa", crypto.SHA384}}, pss: true, protected: true,
		dash: map[string]string{"openssl→we": "does not write it", "we→mozilla": noPSS, "mozilla→we": noPSS}},
	{form: "opaque", signers: []signedBy{{"rsa", crypto.SHA256}}, opaque: true,
		dash: map[string]string{"we→openssl": noneOpaque, "we→bouncy": noneOpaque, "we→mozilla": noneOpaque}},
	{form: "opaque, of indefinite length", signers: []signedBy{{"p256", crypto.SHA256}}, opaque: true, pieces: true,
		dash: map[string]string{
			"we→openssl": noneOpaque, "we→bouncy": noneOpaque, "we→mozilla": noneOpaque,
			"mozilla→we": "does not write it",
		}},
}

func mozilla(reason string) map[string]string {
	return map[string]string{"we→mozilla": reason, "mozilla→we": reason}
}

func (f signedForm) judge(t *testing.T, row exchanged, direction string, exchange func() error) {
	t.Helper()
	row.judge(t, direction, f.dash[direction], !f.opaque, exchange)
}

func exchangedSignatures(t *testing.T) []exchanged {
	content := payload(70_001)
	o, b := judges(t, content, signedParties())
	o.party("root", branch().root)
	for i, f := range signedForms {
		if !f.opaque {
			ours := f.sign(t, content)
			if err := f.verifies(ours, content); err != nil {
				t.Errorf("%s, read by ourselves: %v", f.form, err)
			}
			o.write(fmt.Sprint("ours.", i), ours)
			b.verify(t, fmt.Sprint("ours.", i), ours, f)
		}
		b.sign(fmt.Sprint("theirs.", i), f)
	}
	b.run(t)
	var rows []exchanged
	for i, f := range signedForms {
		row := newExchanged("signed: " + f.form)
		ours, theirs := fmt.Sprint("ours.", i), fmt.Sprint("theirs.", i)
		f.judge(t, row, "we→openssl", func() error { return f.opensslVerifies(o, ours, content) })
		f.judge(t, row, "openssl→we", func() error {
			message, err := f.opensslSigns(o)
			return errors.Join(err, f.verifies(message, content))
		})
		f.judge(t, row, "we→bouncy", func() error { return b.verdict(t, ours) })
		f.judge(t, row, "bouncy→we", func() error {
			if err := b.verdict(t, theirs); err != nil {
				return err
			}
			return f.verifies(testfixture.Read(t, filepath.Join(b.dir, theirs)), content)
		})
		f.judge(t, row, "we→mozilla", func() error { return f.mozillaVerifies(testfixture.Read(t, filepath.Join(o.dir, ours)), content) })
		f.judge(t, row, "mozilla→we", func() error {
			message, err := f.mozillaSigns(content)
			return errors.Join(err, f.verifies(message, content))
		})
		rows = append(rows, row)
	}
	return rows
}

// sign is what we make of the form.
func (f signedForm) sign(t testing.TB, content []byte) []byte {
	t.Helper()
	digests := map[crypto.Hash][]byte{}
	var signers []SignOptions
	for _, s := range f.signers {
		options := signedParties()[s.name].options(s.hash)
		options.PSS, options.NoAttributes, options.KeyID = f.pss, f.bare, f.keyID
		options.AlgorithmProtection, options.OmitCertificates = f.protected, f.none
		if f.chain {
			options.Chain = branch().issuer.pins()
		}
		digests[s.hash] = sumOf(s.hash, content)
		signers = append(signers, options)
	}
	sig, err := SignDetachedTogether(digests, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// verifies reads what another product made: it must be of the form that the row
// says, good by every signer, and bad over other content.
func (f signedForm) verifies(message, content []byte) error {
	if message == nil {
		return nil // the other product's error says why
	}
	pinned := stranger().pins()
	for _, s := range f.signers {
		pinned = append(pinned, signedParties()[s.name].cert)
	}
	got, sd, v, err := f.read(message, digestOf(content), pinned)
	if err != nil {
		return err
	}
	if f.opaque && !bytes.Equal(got, content) {
		return errors.New("other content came out")
	}
	for _, r := range v.Signers {
		if r.Err != nil {
			return r.Err
		}
	}
	if err := f.is(sd); err != nil {
		return err
	}
	other := bytes.Clone(content)
	other[1000] ^= 1
	if f.opaque {
		message = bytes.Replace(message, content[1000:1100], other[1000:1100], 1)
	}
	if _, _, _, err := f.read(message, digestOf(other), pinned); !errors.Is(err, ErrDigest) && !errors.Is(err, ErrSignature) {
		return fmt.Errorf("over other content: %w", err)
	}
	return nil
}

// read verifies a message; content comes out of an opaque one.
func (f signedForm) read(message []byte, digest func(crypto.Hash) ([]byte, error), pinned []*x509.Certificate) (
	content []byte, sd *signedData, v *Verification, err error,
) {
	if !f.opaque {
		if sd, err = parseDetached(message); err != nil {
			return nil, nil, nil, err
		}
		v, err = VerifyDetached(message, digest, pinned)
		return nil, sd, v, err
	}
	s, err := NewSignedReader(bytes.NewReader(message), Limits{})
	if err != nil {
		return nil, nil, nil, err
	}
	if content, err = io.ReadAll(s); err != nil {
		return nil, nil, nil, err
	}
	v, err = s.Verify(pinned)
	return content, s.rest, v, err
}

// is holds a message to the form.
func (f signedForm) is(sd *signedData) error {
	certificates := len(f.signers)
	switch {
	case f.chain:
		certificates = 2
	case f.none:
		certificates = 0
	}
	if len(sd.certificates) != certificates || len(sd.signers) != len(f.signers) {
		return fmt.Errorf("%d signers and %d certificates, want %d and %d",
			len(sd.signers), len(sd.certificates), len(f.signers), certificates)
	}
	for _, s := range sd.signers {
		switch {
		case s.signed == f.bare:
			return fmt.Errorf("signed attributes: %v", s.signed)
		case (s.alg.oid == oidRSAPSS) != f.pss:
			return fmt.Errorf("algorithm %s", oidText(s.alg.oid))
		case (s.id.keyID != nil) != f.keyID:
			return fmt.Errorf("signer is named as %s", s.id.text())
		case s.protection == nil && f.protected:
			return errors.New("no algorithm protection")
		}
	}
	return nil
}
