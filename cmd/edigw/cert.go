package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/internal/exchange"
	"edigw/internal/selfsigned"
	"edigw/internal/words"
	"edigw/partner"
)

// CertCmds are about certificates.
type CertCmds struct {
	List   CertList   `cmd:"" help:"Every certificate with its use and days left."`
	New    CertNew    `cmd:"" help:"Make a key and a self-signed certificate."`
	Import CertImport `cmd:"" help:"Take a partner's new certificate into use."`
	Export CertExport `cmd:"" help:"Print our certificate for partners."`
	Check  CertCheck  `cmd:"" help:"Exit with 1 if a certificate ends within some days without a successor."`
}

// CertList lists certificates.
type CertList struct {
	Partner string `help:"Only this partner's; edigw for our own."`
}

// Help is shown by --help.
func (CertList) Help() string {
	return "Example:\n  edigw cert list --partner northwind"
}

// Run prints them.
func (c *CertList) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	if _, known := s.Partner(c.Partner); c.Partner != "" && c.Partner != partner.OwnerGateway && !known {
		return errors.New(s.NoPartner(c.Partner))
	}
	now := time.Now()
	var rows [][]string
	shown := []partner.CertificateInfo{}
	for _, i := range s.Certificates(now) {
		if c.Partner != "" && i.Owner != c.Partner {
			continue
		}
		next := i.Successor
		if next == "" {
			next = "none"
		}
		shown = append(shown, i)
		rows = append(rows, []string{i.Owner, i.Use, fmt.Sprint(i.DaysLeft(now)), i.Serial, next, i.File})
	}
	e.table("OWNER\tUSE\tDAYS LEFT\tSERIAL\tSUCCESSOR\tFILE", rows)
	return e.result(page[partner.CertificateInfo]{Items: shown})
}

// CertNew makes a key and a self-signed certificate.
type CertNew struct {
	Name  string `arg:"" help:"Common name, such as our AS2 name."`
	Out   string `required:"" help:"File for key and certificate; the certificate alone goes beside it as .crt."`
	Kind  string `default:"rsa-2048" enum:"rsa-2048,rsa-3072,rsa-4096,p-256" help:"rsa-2048, rsa-3072, rsa-4096 or p-256 (signatures and TLS only)."`
	Years int    `default:"3" help:"Valid for so many years."`
	Host  string `help:"For a TLS server: its name."`
}

// Help is shown by --help.
func (CertNew) Help() string {
	return "Example:\n  edigw cert new ACME-AS2 --out keys/acme-2027.pem\nThen list it in edigw.yaml with a from: date, and give the .crt to partners in time."
}

// Run writes both files; existing ones are never overwritten.
func (c *CertNew) Run(e *env) error {
	if c.Years < 1 || c.Years > 30 {
		return wrong("--years must be from 1 to 30")
	}
	key, err := selfsigned.NewKey(selfsigned.Kind(c.Kind))
	if err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second)
	r := selfsigned.Request{CommonName: c.Name, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(c.Years, 0, 0)}
	if c.Host != "" {
		r.Hosts = []string{c.Host}
	}
	cert, err := selfsigned.Certificate(key, r)
	if err != nil {
		return err
	}
	private, err := selfsigned.KeyPEM(key)
	if err != nil {
		return err
	}
	public := selfsigned.CertificatePEM(cert)
	if err := writeNew(c.Out, append(private, public...)); err != nil {
		return err
	}
	crt := strings.TrimSuffix(c.Out, filepath.Ext(c.Out)) + ".crt"
	if err := writeNew(crt, public); err != nil {
		return err
	}
	e.say("%s (key and certificate) and %s (for partners) written", c.Out, crt)
	e.say("%s", describe(cert))
	return e.result(map[string]string{"key": c.Out, "certificate": crt, "serial": exchange.Serial(cert.SerialNumber), "sha256": smime.Fingerprint(cert)})
}

// CertImport takes a partner's certificate into use.
type CertImport struct {
	Partner string `arg:"" help:"Partner's id."`
	File    string `arg:"" type:"existingfile" help:"PEM, DER or P7B."`
	Use     string `default:"both" enum:"verify,encrypt,both" help:"verify, encrypt or both."`
	From    string `help:"First day of use (2027-01-01); default: at once."`
}

// Help is shown by --help.
func (CertImport) Help() string {
	return "Example:\n  edigw cert import northwind northwind-2027.pem --from 2027-01-01\nThe one in use before stays until it ends, so that both are accepted meanwhile."
}

// Run has the running gateway import it.
func (c *CertImport) Run(e *env) error {
	certs, err := partner.ReadCertificates(c.File)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	b, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	for _, cert := range certs {
		e.say("%s", describe(cert))
	}
	uses := []string{c.Use}
	if c.Use == "both" {
		uses = []string{"verify", "encrypt"}
	}
	body := map[string]any{"certificate": b, "use": uses}
	if c.From != "" {
		body["from"] = c.From
	}
	var raw json.RawMessage
	if err := gateway.Post(e.ctx, "/partners/"+url.PathEscape(c.Partner)+"/certificates", body, &raw); err != nil {
		return err
	}
	var theirs page[partner.CertificateInfo]
	if err := json.Unmarshal(raw, &theirs); err != nil {
		return err
	}
	e.say("Imported for %s. Compare the fingerprint with the partner by phone.", c.Partner)
	for _, i := range theirs.Items {
		if slices.ContainsFunc(certs, func(cert *x509.Certificate) bool { return smime.Fingerprint(cert) == i.SHA256 }) {
			e.say("  %s", inUse(i, time.Now()))
		}
	}
	return e.result(raw)
}

// inUse says from when a certificate serves its use.
func inUse(i partner.CertificateInfo, now time.Time) string {
	switch {
	case i.Begins.After(now):
		return fmt.Sprintf("%s: from %s; until then what was in use before", i.Use, local(i.Begins))
	case i.Use == partner.UseEncrypt && !i.InForce:
		return fmt.Sprintf("%s: listed, but a newer one is in use", i.Use)
	case i.Use == partner.UseEncrypt:
		return fmt.Sprintf("%s: in use now, for every message that is built from now on", i.Use)
	}
	return fmt.Sprintf("%s: in use now, beside what is listed already", i.Use)
}

// CertExport prints our certificate.
type CertExport struct {
	Use string `default:"sign" enum:"sign,decrypt" help:"sign or decrypt."`
}

// Help is shown by --help.
func (CertExport) Help() string {
	return "Example:\n  edigw cert export > acme.pem"
}

// Run prints PEM.
func (c *CertExport) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	cert, err := s.OwnCertificate(c.Use, time.Now())
	if err != nil {
		return err
	}
	text := string(selfsigned.CertificatePEM(cert))
	if !e.json {
		fmt.Fprint(e.out, text)
	}
	return e.result(map[string]string{"pem": text, "serial": exchange.Serial(cert.SerialNumber), "sha256": smime.Fingerprint(cert)})
}

// CertCheck is for monitoring.
type CertCheck struct {
	Days int `default:"30" help:"Warn so many days before the end."`
}

// Help is shown by --help.
func (CertCheck) Help() string {
	return "Example:\n  edigw cert check --days 60"
}

// Run prints what ends without a successor.
func (c *CertCheck) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	now := time.Now()
	ending := []partner.CertificateInfo{}
	for _, i := range s.Certificates(now) {
		if i.InForce && i.Successor == "" && i.DaysLeft(now) <= c.Days {
			ending = append(ending, i)
			e.say("%s: %s certificate ends in %s (%s), no successor. Serial %s, SHA-256 %s, %s",
				i.Owner, i.Use, words.Count(i.DaysLeft(now), "day", "days"), i.Ends.UTC().Format("2006-01-02 15:04 UTC"), i.Serial, i.SHA256, i.File)
		}
	}
	if err := e.result(page[partner.CertificateInfo]{Items: ending}); err != nil {
		return err
	}
	if len(ending) > 0 {
		return &codeError{code: exitFailed, text: words.Count(len(ending), "certificate ends", "certificates end") + " soon"}
	}
	e.say("No certificate ends within %d days without a successor.", c.Days)
	return nil
}

// describe is a certificate in one line, as it is compared by phone.
func describe(c *x509.Certificate) string {
	return fmt.Sprintf("%s, serial %s, valid %s to %s\n  SHA-256 %s", c.Subject, exchange.Serial(c.SerialNumber),
		c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly), smime.Fingerprint(c))
}
