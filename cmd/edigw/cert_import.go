package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// CertImport takes a certificate, or a key of ours, into use.
type CertImport struct {
	Owner        string   `arg:"" help:"Partner's id; edigw for a key of our own."`
	File         string   `arg:"" type:"existingfile" help:"A partner's certificate: PEM, DER or P7B. A key of ours: P12, or PEM with key and certificates."`
	Use          []string `sep:"," help:"verify, encrypt, tls-trust (theirs), tls-client (our login there, alone); of edigw: sign, decrypt. Default: both of the owner's first two."`
	From         string   `help:"First day of use (2027-01-01); default: at once."`
	PasswordFile string   `type:"existingfile" help:"File that holds the password of the P12."`
}

// Help is shown by --help.
func (CertImport) Help() string {
	return "Examples:\n  edigw cert import northwind northwind-2027.pem --from 2027-01-01\n" +
		"  edigw cert import northwind their-server.pem --use tls-trust\n" +
		"  edigw cert import northwind our-login.p12 --use tls-client --password-file pw\n" +
		"  edigw cert import edigw acme-2027.p12 --use sign,decrypt --from 2027-01-01 --password-file pw\n" +
		"The one in use before stays until it ends, so that both are accepted meanwhile."
}

// uses are what it is for; "both" is what this was called before there were more.
func (c *CertImport) uses() []string {
	switch own := c.Owner == partner.OwnerGateway; {
	case len(c.Use) > 0 && !slices.Equal(c.Use, []string{"both"}):
		return c.Use
	case own:
		return []string{partner.UseSign, partner.UseDecrypt}
	}
	return []string{partner.UseVerify, partner.UseEncrypt}
}

// Run has the running gateway import it.
func (c *CertImport) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	in := partner.Import{Owner: c.Owner, Use: c.uses()}
	if in.Data, err = conf.ReadFile(c.File, maxImport); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.PasswordFile != "" {
		if in.Password, err = conf.SecretFile(c.PasswordFile).Read(); err != nil {
			return fmt.Errorf("--password-file: %w", err)
		}
	}
	found, err := partner.Preview(in, time.Now())
	if errors.Is(err, partner.ErrNoPassword) {
		return fmt.Errorf("%s: %w: give --password-file FILE", c.File, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	e.say("%s, serial %s, valid %s to %s\n  SHA-256 %s", found.Subject, found.Serial,
		found.NotBefore.UTC().Format(time.DateOnly), found.NotAfter.UTC().Format(time.DateOnly), found.SHA256)
	path, body := "/certificates", map[string]any{"key": in.Data, "use": in.Use}
	if c.Owner != partner.OwnerGateway {
		path, body = "/partners/"+url.PathEscape(c.Owner)+"/certificates", map[string]any{"certificate": in.Data, "use": in.Use}
	}
	for name, value := range map[string]string{"from": c.From, "password": in.Password} {
		if value != "" {
			body[name] = value
		}
	}
	var raw json.RawMessage
	if err := gateway.Post(e.ctx, path, body, &raw); err != nil {
		return err
	}
	return c.report(e, raw, found)
}

// maxImport bounds what is read of the file; the importer takes less.
const maxImport = 1 << 20

// report says from when on the certificate serves what.
func (c *CertImport) report(e *env, raw json.RawMessage, found partner.Imported) error {
	var all page[partner.CertificateInfo]
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	switch {
	case c.Owner == partner.OwnerGateway:
		e.say("Imported. Partners need this certificate before it is used: %s prints it, they compare the fingerprint.", exports(all.Items, found, time.Now()))
		if c.From != "" {
			e.say("Dates of our own keys are UTC, those of a partner are in his zone.")
		}
	case partner.HoldsKey(found.Use[0]):
		e.say("Imported. %s needs this certificate before it is used, without the key.", c.Owner)
	default:
		e.say("Imported for %s. Compare the fingerprint with the partner by phone.", c.Owner)
	}
	for _, i := range all.Items {
		if i.SHA256 == found.SHA256 {
			e.say("  %s", inUse(i, time.Now()))
		}
	}
	return e.result(raw)
}

// exports is the command that prints a certificate of ours that was imported.
func exports(all []partner.CertificateInfo, found partner.Imported, now time.Time) string {
	command := "edigw cert export"
	for _, i := range all {
		if i.SHA256 != found.SHA256 {
			continue
		}
		if i.Use != partner.UseSign {
			command += " --use " + i.Use
		}
		if i.Begins.After(now) {
			command += " --next"
		}
		break
	}
	return command
}

// inUse says from when a certificate serves its use.
func inUse(i partner.CertificateInfo, now time.Time) string {
	newest := i.Use == partner.UseEncrypt || i.Use == partner.UseSign || i.Use == partner.UseTLSClient
	switch {
	case i.Begins.After(now) && i.Use == partner.UseDecrypt:
		return fmt.Sprintf("%s: opens messages from now on; partners shall encrypt to it from %s, until then to what was in use before", i.Use, utcMinute(i.Begins))
	case i.Begins.After(now):
		return fmt.Sprintf("%s: from %s; until then what was in use before", i.Use, utcMinute(i.Begins))
	case newest && !i.InForce:
		return fmt.Sprintf("%s: listed, but a newer one is in use", i.Use)
	case newest:
		return fmt.Sprintf("%s: in use now, for every message that is built from now on", i.Use)
	}
	return fmt.Sprintf("%s: in use now, beside what is listed already", i.Use)
}

// importer puts certificates and keys into the settings and takes them into
// use.
type importer struct{ g *gateway }

// Import meets web.Importer.
func (i importer) Import(ctx context.Context, in web.Import) ([]partner.CertificateInfo, error) {
	s := i.g.settings.Current()
	ask := partner.Import{Owner: in.Partner, Use: in.Uses, Data: in.Certificate, Password: in.Password}
	if in.From != "" {
		var err error
		if ask.From, err = firstUse(in.From, zoneOf(s, in.Partner)); err != nil {
			return nil, &web.Problem{Slug: web.BadRequest, Detail: err.Error(), Field: "from"}
		}
	}
	got, err := s.Import(ask, i.g.now())
	if err != nil {
		return nil, importProblem(s, in.Partner, err)
	}
	ctx = context.WithoutCancel(ctx) // the file is written: whoever asked may go away
	_, _, failed := i.g.reload(ctx, in.By)
	e := queue.Event{At: i.g.now(), Type: queue.EventCertificate, Partner: in.Partner, Actor: in.By,
		Text: "certificate imported to " + strings.Join(got.Use, ", ") + ": serial " + got.Serial + ", SHA-256 " + got.SHA256}
	if in.Partner == partner.OwnerGateway {
		e.Partner, e.Text = "", "own key and "+e.Text
	}
	if err := errors.Join(failed, i.g.store.AddEvents(ctx, e)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(i.g.settings.Current().Certificates(i.g.now()), func(c partner.CertificateInfo) bool { return c.Owner != in.Partner }), nil
}

// importProblem tells why nothing was imported.
func importProblem(s *partner.Snapshot, owner string, err error) error {
	field := "certificate"
	if owner == partner.OwnerGateway {
		field = "key"
	}
	switch {
	case errors.Is(err, partner.ErrUnknown):
		return &web.Problem{Slug: web.NotFound, Detail: s.NoPartner(owner), Field: "partner"}
	case errors.Is(err, partner.ErrPassword), errors.Is(err, partner.ErrNoPassword):
		field = "password"
	case errors.Is(err, partner.ErrCertificateUse):
		field = "use"
	}
	return &web.Problem{Slug: web.BadRequest, Detail: err.Error(), Field: field, Err: err}
}

// zoneOf is the zone of dates in the settings of an owner.
func zoneOf(s *partner.Snapshot, owner string) *time.Location {
	if p, known := s.Partner(owner); known && owner != partner.OwnerGateway {
		return p.Zone
	}
	return time.UTC
}

// firstUse reads a day or an instant as settings files have them.
func firstUse(text string, zone *time.Location) (time.Time, error) {
	var m conf.Moment
	if err := m.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, fmt.Errorf("%.40q is %w", text, err)
	}
	return m.Begin(zone), nil
}
