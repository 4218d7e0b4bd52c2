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

// Import is a certificate that somebody wants to be used.
type Import struct {
	Partner     string
	Uses        []string // of partner.UseVerify, UseEncrypt, UseTLSTrust
	From        string   // first day or instant of its use, as written; empty: when the certificate begins
	Certificate []byte   // PEM, DER or P7B, as it was sent
	By          fault.Actor
}

// newCertificate is the body of an import.
type newCertificate struct {
	Certificate []byte   `json:"certificate" doc:"PEM, DER or P7B, in base64"`
	Use         []string `json:"use,omitempty" doc:"of verify, encrypt, tls-trust; without it verify and encrypt"`
	From        string   `json:"from,omitempty" doc:"first day or instant of its use"`
}

// Importer puts certificates into the settings and reloads them.
type Importer interface {
	// Import gives the partner's certificates as they are then. What cannot
	// be used is a *Problem.
	Import(ctx context.Context, i Import) ([]partner.CertificateInfo, error)
}

// certificate is one certificate for one use on the wire.
type certificate struct {
	partner.CertificateInfo
	DaysLeft int `json:"days_left" doc:"of its use; negative when it has ended"`
}

var importUses = []string{partner.UseVerify, partner.UseEncrypt, partner.UseTLSTrust}

func (a *API) certificateRoutes() []route {
	routes := []route{{
		method: http.MethodGet, path: "/certificates", scope: access.Read, about: "Every certificate of every use, the first to end first.",
		query: slices.Concat([]param{{name: "owner", about: "only this partner's; edigw: our own"}}, paging), out: list[certificate]{}, status: http.StatusOK, do: a.listCertificates,
	}}
	if a.Importer != nil {
		routes = append(routes, route{
			method: http.MethodPost, path: "/partners/{partner}/certificates", scope: access.Operate, about: "Import a partner's certificate; the settings are reloaded with it.",
			in: newCertificate{}, out: list[certificate]{}, status: http.StatusOK, also: []Slug{NotFound, Conflict, TooLarge}, do: a.importCertificate,
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
	for _, use := range in.Use {
		if !slices.Contains(importUses, use) {
			return bad("use", "There is no use %.80q; there are %s.", use, strings.Join(importUses, ", "))
		}
	}
	if len(in.Use) == 0 {
		in.Use = []string{partner.UseVerify, partner.UseEncrypt}
	}
	if in.From != "" {
		var m conf.Moment
		if err := m.UnmarshalText([]byte(in.From)); err != nil {
			return bad("from", "This is %s.", err)
		}
	}
	id, err := a.named(c)
	if err != nil {
		return err
	}
	all, err := a.Importer.Import(c.r.Context(), Import{Partner: id, Uses: in.Use, From: in.From, Certificate: in.Certificate, By: c.actor})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, "", viewCertificate(a.Now())))
}
