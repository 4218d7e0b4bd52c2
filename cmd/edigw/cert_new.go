package main

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/internal/exchange"
	"edigw/internal/selfsigned"
	"edigw/partner"
)

// edPair is the kind of key pair that eDelivery AS4 2.0 is made for: one key signs,
// the other decrypts.
const edPair = "ed25519-x25519"

// CertNew makes a key and its certificate.
type CertNew struct {
	Name  string `arg:"" help:"Common name, such as our AS2 name."`
	Out   string `required:"" help:"File for key and certificate; the certificate alone goes beside it as .crt. With ed25519-x25519, -sign and -decrypt come before the ending."`
	Kind  string `default:"rsa-2048" help:"rsa-2048, rsa-3072, rsa-4096, p-256, p-384, p-521, brainpoolP256r1, ed25519 or ed25519-x25519; ask partners first whether they read others than RSA."`
	Years int    `default:"3" help:"Valid for so many years."`
	Host  string `help:"For a TLS server, or our login at one: its name."`
}

// Help is shown by --help.
func (CertNew) Help() string {
	return "Examples:\n  edigw cert new ACME-AS2 --out keys/acme-2027.pem\n" +
		"  edigw cert new ACME-AS4 --kind ed25519-x25519 --out keys/acme-as4.pem\n" +
		"Then list it in edigw.yaml with a from: date, and give the .crt to partners in time.\n\n" +
		"What profiles of AS4 want: edelivery-1.15, peppol and ics2 rsa; edelivery-2.0 ed25519-x25519, or p-256;\n" +
		"entsog rsa for edition 3.6, ed25519-x25519 or p-256 for 4.0; bdew brainpoolP256r1, one for signing and one for decryption.\n" +
		"An X25519 key signs nothing, not even its own certificate: ed25519-x25519 makes both keys, and the one that signs\n" +
		"messages signs that certificate, too."
}

// madeKey is what was written of one key.
type madeKey struct {
	Key    string   `json:"key"`
	Public string   `json:"certificate"`
	Serial string   `json:"serial"`
	SHA256 string   `json:"sha256"`
	Kind   string   `json:"kind"`
	Use    []string `json:"use"`
	cert   *x509.Certificate
	pem    []byte // of the key
}

// Run writes all files or none; existing ones are never overwritten.
func (c *CertNew) Run(e *env) error {
	if err := c.sensible(); err != nil {
		return err
	}
	made, err := c.make()
	if err != nil {
		return err
	}
	var files []newFile
	for _, m := range made {
		public := selfsigned.CertificatePEM(m.cert)
		files = append(files, newFile{m.Key, slices.Concat(m.pem, public)}, newFile{m.Public, public})
	}
	if err := writeNewFiles(files); err != nil {
		return err
	}
	for _, m := range made {
		e.say("%s (key and certificate) and %s (for partners) written", m.Key, m.Public)
		e.say("%s", describe(m.cert))
	}
	if c.Host == "" {
		e.say("Used as soon as keys in edigw.yaml lists it; one that follows another of its kind there has from:, a day that partners know.")
		for _, m := range made {
			e.say("  - {use: [%s], file: %s}", strings.Join(m.Use, ", "), fromSettings(e.config, m.Key))
		}
	}
	return e.result(struct {
		madeKey
		Items []madeKey `json:"items"`
	}{made[0], made})
}

// sensible refuses what no certificate can be.
func (c *CertNew) sensible() error {
	if c.Years < 1 || c.Years > 30 {
		return wrong("--years must be from 1 to 30")
	}
	kinds := append(selfsigned.Signing(), edPair)
	switch kind := selfsigned.Kind(c.Kind); {
	case kind == selfsigned.X25519:
		return wrong("--kind x25519: such a key only decrypts, and cannot sign its certificate: ed25519-x25519 makes it together with the key that does")
	case !slices.Contains(kinds, kind):
		return wrong("--kind %q is none of: %s", c.Kind, selfsigned.Words(kinds))
	case c.Host != "" && (kind == edPair || kind == selfsigned.Brainpool):
		return wrong("--host: TLS does not use keys of kind %s here: take rsa-2048 or p-256", c.Kind)
	}
	return nil
}

// make makes the keys.
func (c *CertNew) make() ([]madeKey, error) {
	kind := selfsigned.Kind(c.Kind)
	if kind == edPair {
		kind = selfsigned.Ed25519
	}
	key, err := selfsigned.NewKey(kind)
	if err != nil {
		return nil, err
	}
	now := time.Now().Truncate(time.Second)
	r := selfsigned.Request{CommonName: c.Name, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(c.Years, 0, 0)}
	if c.Host != "" {
		r.Hosts = []string{c.Host}
	}
	cert, err := selfsigned.Certificate(key, r)
	if err != nil {
		return nil, err
	}
	uses := []string{partner.UseSign, partner.UseDecrypt}
	if kind == selfsigned.Ed25519 {
		uses = uses[:1]
	}
	if c.Kind != edPair {
		one, err := newMade(c.Out, uses, key, cert)
		return []madeKey{one}, err
	}
	return c.pair(key.(ed25519.PrivateKey), cert, r)
}

// pair makes the key that decrypts to one that signs.
func (c *CertNew) pair(signing ed25519.PrivateKey, cert *x509.Certificate, r selfsigned.Request) ([]madeKey, error) {
	agreeing, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	r.Unit = "encryption" // the issuer has another name
	other, err := selfsigned.Agreement(agreeing.PublicKey(), cert, signing, r)
	if err != nil {
		return nil, err
	}
	end := filepath.Ext(c.Out)
	base := strings.TrimSuffix(c.Out, end)
	first, err := newMade(base+"-sign"+end, []string{partner.UseSign}, signing, cert)
	if err != nil {
		return nil, err
	}
	second, err := newMade(base+"-decrypt"+end, []string{partner.UseDecrypt}, agreeing, other)
	return []madeKey{first, second}, err
}

func newMade(out string, use []string, key crypto.PrivateKey, cert *x509.Certificate) (madeKey, error) {
	private, err := selfsigned.KeyPEM(key)
	return madeKey{
		Key: out, Public: strings.TrimSuffix(out, filepath.Ext(out)) + ".crt", Serial: exchange.Serial(cert.SerialNumber),
		SHA256: smime.Fingerprint(cert), Kind: string(selfsigned.KindOf(cert)), Use: use, cert: cert, pem: private,
	}, err
}

// fromSettings is a file as a path in edigw.yaml names it.
func fromSettings(config, file string) string {
	dir, err := filepath.Abs(filepath.Dir(config))
	if err != nil {
		return file
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return abs
}
