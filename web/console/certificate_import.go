package console

import (
	"encoding/base64"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/partner"
	"edigw/web"
)

// importCertificate shows a certificate's fingerprint first, and uses it when
// somebody compared it.
func (c *Console) importCertificate(v *visit) (done, error) {
	id := v.param("id")
	p, known := c.Settings().Partner(id)
	if !known {
		return done{}, &web.Problem{Slug: web.NotFound, Detail: c.Settings().NoPartner(id)}
	}
	if c.Importer == nil {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "Certificates cannot be imported here: use edigw cert import."}
	}
	data, err := v.uploaded()
	if err != nil {
		return c.wrongCertificate(v, err.Error())
	}
	uses, from := v.form["use"], v.form.Get("from")
	if slices.Equal(uses, []string{partner.UseTLSClient}) {
		return c.importKey(v, web.Import{Partner: id, Uses: uses, From: from, Certificate: data}, "/partners/"+url.PathEscape(id)+"/settings", c.wrongCertificate)
	}
	begin, err := firstDay(from)
	if err != nil {
		return c.wrongCertificate(v, err.Error())
	}
	if len(uses) == 0 {
		return c.wrongCertificate(v, "Tick what it is for: their signature, their encryption, or their server.")
	}
	found, err := partner.Preview(partner.Import{Owner: id, Use: uses, Data: data, From: begin}, v.now)
	if err != nil {
		return c.wrongCertificate(v, sentenceOf(err)+" Ask the partner for the certificate itself, as PEM, DER or P7B: not its key, not a request for one.")
	}
	back := "/partners/" + url.PathEscape(id) + "/settings"
	if v.form.Get("sure") == "" || v.form.Get("checked") != "yes" {
		q := c.compareQuestion(v, p, found, data, from, back)
		if v.form.Get("sure") != "" {
			q.Wrong = "Not used: tick the box once you compared the fingerprint with the partner."
		}
		return asks(q), nil
	}
	if _, err := c.Importer.Import(v.r.Context(), web.Import{Partner: id, Uses: uses, From: from, Certificate: data, By: v.actor()}); err != nil {
		return done{}, err
	}
	return done{to: back, flash: flash{Text: "Serial " + found.Serial + " of " + p.Name + " is in the settings" + map[bool]string{true: " from " + from}[from != ""] + "."}}, nil
}

// wrongCertificate says what was wrong where the form is.
func (c *Console) wrongCertificate(v *visit, text string) (done, error) {
	if v.form.Has("content") { // it was asked about already
		return done{}, &web.Problem{Slug: web.BadRequest, Field: "certificate", Detail: text}
	}
	shown, err := c.settingsView(v, text)
	return shows(shown), err
}

// compareQuestion asks to compare a certificate by phone. The form carries the
// certificate itself, so that what is used is what was compared.
func (c *Console) compareQuestion(v *visit, p *partner.Partner, found partner.Imported, data []byte, from, back string) question {
	w := words.Compare(p.Name)
	var serves []string
	for _, use := range found.Use {
		name, _ := words.Use(use)
		serves = append(serves, name)
	}
	q := question{
		Title: w.Title, Path: "/partners/" + url.PathEscape(p.ID) + "/certificates", Back: back, Safe: w.Safe, Tick: w.Tick, Text: append(w.Text, whoLooksAfter(p)),
		Facts: []fact{
			{Name: "SHA-256", Print: inGroups(found.SHA256)},
			{Name: "Serial", Value: found.Serial, Code: true},
			{Name: "Issued to", Value: plain(found.Subject)},
			{Name: "Valid", Value: validity(found.NotBefore, found.NotAfter, v.zone)},
			{Name: "For", Value: strings.Join(serves, ", ") + map[bool]string{true: ", from " + from, false: ", at once"}[from != ""]},
		},
		Fields: []field{{"sure", "yes"}, {"content", base64.StdEncoding.EncodeToString(data)}, {"from", from}},
	}
	q.Facts = append(q.Facts, c.inUse(v, p.ID, found.Use)...)
	for _, use := range found.Use {
		q.Fields = append(q.Fields, field{"use", use})
	}
	q.Choices = []choice{{Label: w.Actions[0], Kind: primary, Ticked: true}}
	return q
}

// inUse are the certificates that are used now for what another is offered.
func (c *Console) inUse(v *visit, id string, uses []string) (all []fact) {
	last := ""
	for _, use := range uses {
		name, _ := words.Use(use)
		for _, i := range c.certificatesOf(v, id) {
			if i.Use != use || !i.InForce {
				continue
			}
			all = append(all, fact{Name: name + ", in use now", Value: "serial " + i.Serial + ", valid " + validity(i.NotBefore, i.NotAfter, v.zone)})
			if i.SHA256 != last {
				all = append(all, fact{Name: "Its SHA-256", Print: inGroups(i.SHA256)})
			}
			last = i.SHA256
		}
		if !slices.ContainsFunc(all, func(f fact) bool { return strings.HasPrefix(f.Name, name) }) {
			none := "none"
			if use == partner.UseTLSTrust {
				none = "the authorities of this system; they count no more once one is listed"
			}
			all = append(all, fact{Name: name + ", in use now", Value: none})
		}
	}
	return all
}

// whoLooksAfter names who on our side knows whom to call there.
func whoLooksAfter(p *partner.Partner) string {
	who := strings.Join(nonEmpty(plain(p.Owner.Team), plain(p.Owner.Phone)), " ")
	if who == "" {
		return "Nobody on our side is named in its settings (owner): find the partner's number in your own papers, not in their mail."
	}
	return "Who looks after this partner on our side: " + who + ". They know whom to call there."
}

// validity is the time in which a certificate holds, with both years.
func validity(from, to time.Time, zone *time.Location) string {
	const day = "2 Jan 2006"
	return from.In(zone).Format(day) + " to " + to.In(zone).Format(day)
}

// inGroups breaks a fingerprint into groups that two people can read to each
// other over the phone.
func inGroups(fingerprint string) (groups []string) {
	const group = 8 * 3 // eight bytes, each with its colon
	for len(fingerprint) > group {
		groups, fingerprint = append(groups, fingerprint[:group]), fingerprint[group:]
	}
	return append(groups, fingerprint)
}

// uploaded is the file of a form, or what an earlier question carries of it.
func (v *visit) uploaded() ([]byte, error) {
	missing := &web.Problem{Slug: web.BadRequest, Field: "certificate", Detail: "Choose the certificate's file: PEM, DER or P7B."}
	if text := v.form.Get("content"); text != "" {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, missing
		}
		return data, nil
	}
	if v.r.MultipartForm == nil {
		return nil, missing
	}
	f, _, err := v.r.FormFile("certificate")
	if err != nil {
		return nil, missing
	}
	defer f.Close()
	data, err := io.ReadAll(f) // the form is bounded
	if err != nil || len(data) == 0 {
		return nil, missing
	}
	return data, nil
}

// firstDay reads the first day of a use; the zero time if none is given.
func firstDay(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &web.Problem{Slug: web.BadRequest, Field: "from", Detail: "This is no day: write 2027-01-31."}
}
