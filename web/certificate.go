package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/partner"
)

// Import is a certificate, or a key of ours with its certificate, that somebody
// wants to be used.
type Import struct {
	Partner     string   // whose connection it serves; partner.OwnerGateway: our own key
	Uses        []string // as of partner.Import
	From        string   // first day or instant of its use, as written; empty: when the certificate begins
	Certificate []byte   // as it was sent: PEM, DER or P7B; with a key P12 or PEM
	Password    string   // of the P12
	By          fault.Actor
}

// newCertificate is the body of an import for a partner.
type newCertificate struct {
	Certificate []byte   `json:"certificate" doc:"PEM, DER or P7B, in base64; for tls-client a P12, or PEM with key and certificate"`
	Use         []string `json:"use,omitempty" doc:"of verify, encrypt, tls-trust, or tls-client alone, which needs the scope admin; without it verify and encrypt"`
	From        string   `json:"from,omitempty" doc:"first day or instant of its use"`
	Password    string   `json:"password,omitempty" doc:"of the P12"`
}

// newKey is the body of an import of our own.
type newKey struct {
	Key      []byte   `json:"key" doc:"P12, or PEM with the key and its certificates, in base64"`
	Use      []string `json:"use" doc:"of sign, decrypt"`
	From     string   `json:"from,omitempty" doc:"first day or instant of its use, in UTC"`
	Password string   `json:"password,omitempty" doc:"of the P12; kept in a file below secrets/"`
}

// Importer puts certificates into the settings and reloads them.
type Importer interface {
	// Import gives the owner's certificates as they are then. What cannot be
	// used is a *Problem, which never holds the password.
	Import(ctx context.Context, i Import) ([]partner.CertificateInfo, error)
}

// certificate is one certificate for one use on the wire.
type certificate struct {
	partner.CertificateInfo
	DaysLeft int `json:"days_left" doc:"of its use; negative when it has ended"`
}

// Uses that can be asked for, of a partner's certificates and of our own keys.
var (
	importUses = []string{partner.UseVerify, partner.UseEncrypt, partner.UseTLSTrust, partner.UseTLSClient}
	ownUses    = []string{partner.UseSign, partner.UseDecrypt}
)

func (a *API) certificateRoutes() []route {
	routes := []route{{
		method: http.MethodGet, path: "/certificates", scope: access.Read, about: "Every certificate of every use, the first to end first.",
		query: slices.Concat([]param{{name: "owner", about: "only this partner's; edigw: our own"}}, paging), out: list[certificate]{}, status: http.StatusOK, do: a.listCertificates,
	}}
	if a.Importer != nil {
		routes = append(routes, route{
			method: http.MethodPost, path: "/partners/{partner}/certificates", scope: access.Operate, about: "Import a partner's certificate; the settings are reloaded with it.",
			in: newCertificate{}, out: list[certificate]{}, status: http.StatusOK, also: []Slug{NotFound, Conflict, TooLarge}, do: a.importCertificate,
		}, route{
			method: http.MethodPost, path: "/certificates", scope: access.Admin, about: "Import a key of our own with its certificate; the settings are reloaded with it.",
			in: newKey{}, out: list[certificate]{}, status: http.StatusOK, also: []Slug{Conflict, TooLarge}, do: a.importKey,
		})
	}
	return routes
}

func (a *API) listCertificates(c *call) error {
	owner, err := c.word("owner")
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	now := a.Now()
	all := a.Settings().Certificates(now)
	if owner != "" {
		all = slices.DeleteFunc(all, func(i partner.CertificateInfo) bool { return i.Owner != owner })
	}
	slices.SortStableFunc(all, func(x, y partner.CertificateInfo) int { return x.Ends.Compare(y.Ends) })
	all, next, err := cut(all, "certificates", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, next, viewCertificate(now)))
}

func viewCertificate(now time.Time) func(partner.CertificateInfo) certificate {
	return func(i partner.CertificateInfo) certificate { return certificate{i, i.DaysLeft(now)} }
}

func (a *API) importCertificate(c *call) error {
	var in newCertificate
	if err := c.read(&in); err != nil {
		return err
	}
	if len(in.Certificate) == 0 {
		return bad("certificate", "Send the certificate: PEM, DER or P7B, in base64.")
	}
	if len(in.Use) == 0 {
		in.Use = []string{partner.UseVerify, partner.UseEncrypt}
	}
	if slices.Contains(in.Use, partner.UseTLSClient) {
		if err := c.who.may(access.Admin); err != nil {
			return err
		}
	}
	id, err := a.named(c)
	if err != nil {
		return err
	}
	return a.take(c, importUses, Import{Partner: id, Uses: in.Use, From: in.From, Certificate: in.Certificate, Password: in.Password})
}

func (a *API) importKey(c *call) error {
	var in newKey
	if err := c.read(&in); err != nil {
		return err
	}
	switch {
	case len(in.Key) == 0:
		return bad("key", "Send the key with its certificate: P12, or PEM, in base64.")
	case len(in.Use) == 0:
		return bad("use", "Say what it is for: %s.", strings.Join(ownUses, ", "))
	}
	return a.take(c, ownUses, Import{Partner: partner.OwnerGateway, Uses: in.Use, From: in.From, Certificate: in.Key, Password: in.Password})
}

// take imports what is asked for with uses that there are.
func (a *API) take(c *call, uses []string, in Import) error {
	for _, use := range in.Uses {
		if !slices.Contains(uses, use) {
			return bad("use", "There is no use %.80q; there are %s.", use, strings.Join(uses, ", "))
		}
	}
	if in.From != "" {
		var m conf.Moment
		if err := m.UnmarshalText([]byte(in.From)); err != nil {
			return bad("from", "This is %s.", err)
		}
	}
	in.By = c.actor
	all, err := a.Importer.Import(c.r.Context(), in)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, "", viewCertificate(a.Now())))
}
