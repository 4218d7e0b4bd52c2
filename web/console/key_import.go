package console

import (
	"errors"
	"slices"
	"strings"

	"edigw/access"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/web"
)

// keyForm is the form that takes a key of ours into use. A key and its password
// go to the server and never come back: nothing of them is asked about on a
// second page.
type keyForm struct {
	Title, About string
	Path         string
	Uses         []option // to tick; empty: Use alone
	Use          string
	From         string
	Tick         string
	Wrong        string // with what was to be imported
}

// ownKeyForm is that of the keys that serve all partners; nil if the user may
// not, or nobody can.
func (c *Console) ownKeyForm(v *visit, wrong string) *keyForm {
	if !v.may(access.Admin) || c.Importer == nil {
		return nil
	}
	f := &keyForm{
		Title: "Take a key of ours into use", Path: "/certificates", From: v.form.Get("from"), Wrong: wrong,
		About: "P12, or PEM with the key and its certificates. It goes into keys/, its password into secrets/, and edigw.yaml lists it behind those that are there. We sign with the newest that has begun, and decrypt with all that have not ended, also before their first day. That day begins at 00:00 UTC.",
		Tick:  "The partners have its certificate, or will have it before the first day",
	}
	for _, use := range []string{partner.UseSign, partner.UseDecrypt} {
		name, _ := words.Use(use)
		f.Uses = append(f.Uses, option{use, name, wrong == "" || slices.Contains(v.form["use"], use)})
	}
	return f
}

// loginForm is that of the key that we show to one partner's server.
func (c *Console) loginForm(v *visit, id, wrong string) *keyForm {
	if !v.may(access.Admin) || c.Importer == nil {
		return nil
	}
	return &keyForm{
		Title: "Take a login of ours (TLS) into use", Path: "/partners/" + id + "/certificates", Use: partner.UseTLSClient, From: v.form.Get("from"), Wrong: wrong,
		About: "P12, or PEM with the key and its certificates. We show it to their server; the newest that has begun counts.",
		Tick:  "The partner knows this certificate, or will before the first day",
	}
}

// importOwnKey takes a key that serves all partners into use.
func (c *Console) importOwnKey(v *visit) (done, error) {
	if c.Importer == nil {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "Keys cannot be imported here: use edigw cert import."}
	}
	data, err := v.uploaded()
	if err != nil {
		return c.wrongKey(v, "Choose the key's file: P12, or PEM with key and certificate.")
	}
	return c.importKey(v, web.Import{Partner: partner.OwnerGateway, Uses: v.form["use"], From: v.form.Get("from"), Certificate: data}, "/certificates", c.wrongKey)
}

// importKey takes a key into use; wrong shows the form again.
func (c *Console) importKey(v *visit, in web.Import, back string, wrong func(*visit, string) (done, error)) (done, error) {
	if !v.may(access.Admin) {
		return done{}, forbidden(access.Admin)
	}
	begin, err := firstDay(in.From)
	switch {
	case err != nil:
		return wrong(v, err.Error())
	case len(in.Uses) == 0:
		return wrong(v, "Tick what it is for: our signature, our decryption, or both.")
	case v.form.Get("checked") != "yes":
		return wrong(v, "Not used: say that its certificate is known where it must be.")
	}
	in.By, in.Password = v.actor(), v.form.Get("password")
	found, err := partner.Preview(partner.Import{Owner: in.Partner, Use: in.Uses, Data: in.Certificate, Password: in.Password, From: begin}, v.now)
	if err != nil {
		return wrong(v, sentenceOf(err))
	}
	var no *web.Problem
	switch _, err := c.Importer.Import(v.r.Context(), in); {
	case errors.As(err, &no) && no.Slug == web.BadRequest:
		return wrong(v, strings.TrimSuffix(sentenceOf(no), ".")+".")
	case err != nil:
		return done{}, err
	}
	from := "at once"
	if in.From != "" {
		from = "from " + in.From
		if in.Partner == partner.OwnerGateway {
			from += " (UTC)"
		}
	}
	return done{to: back, flash: flash{Text: "Our key, serial " + found.Serial + ", is in the settings and counts " + from + "."}}, nil
}

// wrongKey says what was wrong where the form is.
func (c *Console) wrongKey(v *visit, text string) (done, error) {
	shown, err := c.certificatesView(v, text)
	return shows(shown), err
}
