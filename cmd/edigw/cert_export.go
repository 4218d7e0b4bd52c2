package main

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edigw/internal/selfsigned"
	"edigw/internal/words"
	"edigw/partner"
)

// CertExport gives our certificates out.
type CertExport struct {
	Use  string `enum:",sign,decrypt" default:"" help:"sign or decrypt; default: sign, with --dir both."`
	Kind string `help:"Where certificates of several kinds are in use: which, as cert new calls it, such as rsa, p-256 or x25519."`
	Next bool   `help:"The newest one that is listed and not in use yet, for partners to have in time."`
	Dir  string `help:"Write each to a file of its own in this folder, whatever its kind." placeholder:"FOLDER"`
}

// Help is shown by --help.
func (CertExport) Help() string {
	return "Examples:\n  edigw cert export > acme.pem\n  edigw cert export --next > acme-2027.pem\n" +
		"  edigw cert export --use decrypt --kind x25519 > acme-decrypt.pem\n  edigw cert export --dir for-partners"
}

// exported is one certificate of ours that is given out.
type exported struct {
	File   string   `json:"file,omitempty"`
	Use    []string `json:"use"`
	Kind   string   `json:"kind"`
	Serial string   `json:"serial"`
	SHA256 string   `json:"sha256"`
	PEM    string   `json:"pem"`
	source string   // the file of ours
	begins time.Time
	cert   *x509.Certificate
}

// Run prints one in PEM, or writes all that were asked for.
func (c *CertExport) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	uses := []string{c.Use}
	switch {
	case c.Use == "" && c.Dir == "":
		uses = []string{partner.UseSign}
	case c.Use == "":
		uses = []string{partner.UseSign, partner.UseDecrypt}
	}
	all := c.chosen(s, uses, time.Now())
	switch {
	case len(all) == 0:
		return c.none(s, uses)
	case c.Dir != "":
		return c.write(e, all)
	case len(all) > 1:
		return severalKinds(uses[0], all)
	}
	if !e.json {
		fmt.Fprint(e.out, all[0].PEM)
	}
	return e.result(all[0])
}

// chosen are our certificates that partners should have: of each kind the newest
// that has begun, or with --next the newest that has not. What signs is in use
// alone; what decrypts may be of several kinds at once.
func (c *CertExport) chosen(s *partner.Snapshot, uses []string, now time.Time) (out []exported) {
	for _, use := range uses {
		var found []exported
		for _, i := range s.Certificates(now) {
			if i.Owner != partner.OwnerGateway || i.Use != use || !c.serves(i, now) {
				continue
			}
			cert, ok := s.OwnCertificateOf(i.SHA256)
			if !ok || !c.isKind(selfsigned.KindOf(cert)) {
				continue
			}
			x := exported{
				Use: []string{use}, Kind: string(selfsigned.KindOf(cert)), Serial: i.Serial, SHA256: i.SHA256,
				PEM: string(selfsigned.CertificatePEM(cert)), source: i.File, begins: i.Begins, cert: cert,
			}
			at := slices.IndexFunc(found, func(o exported) bool { return family(o.Kind) == family(x.Kind) })
			switch {
			case at < 0:
				found = append(found, x)
			case !x.begins.Before(found[at].begins):
				found[at] = x
			}
		}
		for _, x := range found {
			if at := slices.IndexFunc(out, func(o exported) bool { return o.SHA256 == x.SHA256 }); at >= 0 {
				out[at].Use = append(out[at].Use, use)
			} else {
				out = append(out, x)
			}
		}
	}
	return out
}

// serves reports whether one is in use, or with --next waits for its day.
func (c *CertExport) serves(i partner.CertificateInfo, now time.Time) bool {
	if c.Next {
		return i.Begins.After(now) && i.Begins.Before(i.Ends)
	}
	return i.InForce && (i.InUse || i.Use == partner.UseDecrypt)
}

// family is a kind without the length of an RSA key: a longer one follows it.
func family(kind string) string {
	if strings.HasPrefix(kind, "rsa-") {
		return "rsa"
	}
	return kind
}

func (c *CertExport) isKind(kind selfsigned.Kind) bool {
	return c.Kind == "" || strings.EqualFold(c.Kind, string(kind)) || strings.EqualFold(c.Kind, family(string(kind)))
}

// none says why there is nothing to give out.
func (c *CertExport) none(s *partner.Snapshot, uses []string) error {
	if c.Kind != "" {
		others := CertExport{Next: c.Next}
		return fmt.Errorf("no certificate to %s of kind %q %s; there is %s", strings.Join(uses, " or "), c.Kind,
			map[bool]string{true: "waits for its day", false: "is in use"}[c.Next], cmp.Or(kindsOf(others.chosen(s, uses, time.Now())), "none"))
	}
	var err error
	if c.Next {
		_, err = s.StagedCertificate(uses[0], time.Now())
	} else {
		_, err = s.OwnCertificate(uses[0], time.Now())
	}
	return err
}

// kindsOf lists certificates for people.
func kindsOf(all []exported) string {
	var out []string
	for _, x := range all {
		out = append(out, fmt.Sprintf("%s (serial %s, %s)", x.Kind, x.Serial, x.source))
	}
	return strings.Join(out, ", ")
}

func severalKinds(use string, all []exported) error {
	return wrong("certificates of %d kinds %s: %s; name the one that the partner's P-Mode takes with --kind, or write all with --dir FOLDER", len(all), use, kindsOf(all))
}

// write puts each into a file of its own, and says which.
func (c *CertExport) write(e *env, all []exported) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	var files []newFile
	for i, x := range all {
		name := strings.Join(x.Use, "-") + "-" + cmp.Or(x.Kind, "other") + ".crt"
		if c.Next {
			name = "next-" + name
		}
		all[i].File = filepath.Join(c.Dir, name)
		files = append(files, newFile{all[i].File, []byte(x.PEM)})
	}
	if err := writeNewFiles(files); err != nil {
		return err
	}
	e.say("%s written:", words.Count(len(all), "certificate", "certificates"))
	for _, x := range all {
		e.say("%s, to %s: %s", x.File, strings.Join(x.Use, " and "), describe(x.cert))
	}
	return e.result(page[exported]{Items: all})
}
