package console

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/as2"
	"edigw/as2/smime"
	"edigw/dlq"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// stranger is a signature by nobody whom we know, beside those whom we know.
type stranger struct {
	About   string
	Signers []shownSigner
	Known   []shownSigner
	Buttons []button
}

// shownSigner is a certificate to compare.
type shownSigner struct {
	Title string
	Note  string // why it is not offered, or does not count
	Facts []fact
}

// unknownSigner reports whether a letter is open because somebody signed whom
// we do not know.
func unknownSigner(l queue.Letter) bool {
	if l.Status != queue.LetterOpen {
		return false
	}
	if l.Direction == queue.In {
		return l.Reason == fault.ReasonSignature
	}
	return l.Reason == fault.ReasonReceiptInvalid && receiptVerdict(l) == string(fault.AckWrongSigner)
}

// stranger shows who signed instead; nil if that is not what is wrong, or
// nothing of it was kept.
func (c *Console) stranger(v *visit, m queue.Message, l queue.Letter) (*stranger, error) {
	if c.Claims == nil || !unknownSigner(l) {
		return nil, nil
	}
	all, err := c.Claims.Claims(v.r.Context(), m)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for _, i := range c.certificatesOf(v, m.Partner) { // it was imported meanwhile
		if i.Use == partner.UseVerify && i.InForce && slices.ContainsFunc(all, func(k as2.Claim) bool { return fingerprintOf(k) == i.SHA256 }) {
			return nil, nil
		}
	}
	s := &stranger{About: words.Stranger(c.partnerName(m.Partner), m.Direction == queue.In)}
	offered := false
	for _, claim := range all {
		shown, offer := c.claimant(v, m.Partner, claim)
		s.Signers, offered = append(s.Signers, shown), offered || offer
	}
	for _, i := range c.certificatesOf(v, m.Partner) {
		if i.Use == partner.UseVerify {
			s.Known = append(s.Known, v.knownSigner(i))
		}
	}
	if v.may(access.Operate) && c.Importer != nil {
		if offered {
			s.Buttons = append(s.Buttons, button{Label: words.TrustAnd(m.Direction == queue.In) + " …", Path: "/letters/" + l.ID + "/trust", Back: messagePath(m.ID), Kind: primary})
		}
		s.Buttons = append(s.Buttons, button{Label: "Import another certificate", Path: "/partners/" + url.PathEscape(m.Partner) + "/settings#import", Get: true})
	}
	return s, nil
}

// fingerprintOf is that of the certificate of a claim; empty if it has none.
func fingerprintOf(k as2.Claim) string {
	cert, err := x509.ParseCertificate(k.Certificate)
	if err != nil {
		return ""
	}
	return smime.Fingerprint(cert)
}

// first makes what is offered for a stranger the button to press first: the
// others would only find him again.
func (s *stranger) first(others []button) {
	if s == nil || len(s.Buttons) == 0 || s.Buttons[0].Kind != primary {
		return
	}
	for i := range others {
		if others[i].Kind == primary {
			others[i].Kind = ""
		}
	}
}

// claimant shows who is said to have signed, and whether he can be imported.
func (c *Console) claimant(v *visit, id string, claim as2.Claim) (s shownSigner, offer bool) {
	s.Title = "It is signed by"
	cert, err := x509.ParseCertificate(claim.Certificate)
	if err != nil {
		s.Facts = []fact{{Name: "Named", Value: plain(claim.Name)}}
		s.Note = "It carries no certificate that its signature fits. Ask the partner for the certificate of that name, and import it."
		return s, false
	}
	s.Facts = signerFacts(v, smime.Fingerprint(cert), smime.CertificateID(cert).Serial, cert.Subject.String(), cert.Issuer.String(), cert.NotBefore, cert.NotAfter)
	for _, i := range c.certificatesOf(v, id) {
		if i.Use == partner.UseVerify && i.SHA256 == smime.Fingerprint(cert) && !i.InForce {
			s.Note = "It is in the settings, but not in force: from " + v.at(i.Begins).Clock + " to " + v.at(i.Ends).Clock + ". Change from or until in partners/" + id + ".yaml, and reload."
			return s, false
		}
	}
	if _, err := partner.Preview(partner.Import{Owner: id, Use: []string{partner.UseVerify}, Data: cert.Raw}, v.now); err != nil {
		s.Note = sentenceOf(err)
		return s, false
	}
	return s, true
}

// knownSigner shows a certificate of the settings.
func (v *visit) knownSigner(i partner.CertificateInfo) shownSigner {
	s := shownSigner{Title: "In the settings", Facts: signerFacts(v, i.SHA256, i.Serial, i.Subject, "", i.NotBefore, i.NotAfter)}
	if !i.InForce {
		s.Note = "Not in force: from " + v.at(i.Begins).Clock + " to " + v.at(i.Ends).Clock + "."
	}
	return s
}

func signerFacts(v *visit, fingerprint, serial, subject, issuer string, from, to time.Time) []fact {
	all := []fact{
		{Name: "SHA-256", Print: inGroups(fingerprint)},
		{Name: "Serial", Value: serial, Code: true},
		{Name: "Issued to", Value: plain(subject)},
	}
	if issuer != "" && issuer != subject {
		all = append(all, fact{Name: "Issued by", Value: plain(issuer)})
	}
	return append(all, fact{Name: "Valid", Value: validity(from, to, v.zone)})
}

// trustSigner takes the certificate that signed into use and looks again, when
// somebody compared it.
func (c *Console) trustSigner(v *visit) (done, error) {
	l, m, err := c.letterAndMessage(v.r.Context(), v.param("id"))
	if err != nil {
		return done{}, err
	}
	if c.Importer == nil || c.Claims == nil || !unknownSigner(l) {
		return done{}, &web.Problem{Slug: web.Conflict, Letter: l.ID, Detail: "This letter does not wait for a certificate."}
	}
	p, known := c.Settings().Partner(m.Partner)
	if !known {
		return done{}, &web.Problem{Slug: web.NotFound, Detail: c.Settings().NoPartner(m.Partner)}
	}
	der, found, err := c.offered(v, m)
	if err != nil {
		return done{}, err
	}
	compared := bytes.Equal(der, decoded(v.form.Get("content")))
	if v.form.Get("checked") != "yes" || !compared {
		q, err := c.trustQuestion(v, l, m, p, found, der)
		if v.form.Get("sure") != "" {
			q.Wrong = "Not used: tick the box once you compared the fingerprint with the partner."
		}
		return asks(q), err
	}
	in := web.Import{Partner: m.Partner, Uses: []string{partner.UseVerify}, Certificate: der, By: v.actor()}
	if _, err := c.Importer.Import(v.r.Context(), in); err != nil {
		return done{}, err
	}
	return c.lookAgain(v, l, m, "Serial "+found.Serial+" of "+p.Name+" is in the settings. ")
}

// decoded is what a form carries, nothing if it is spoilt.
func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

// offered is the certificate of the stranger that can be imported.
func (c *Console) offered(v *visit, m queue.Message) ([]byte, partner.Imported, error) {
	all, err := c.Claims.Claims(v.r.Context(), m)
	if err != nil {
		return nil, partner.Imported{}, err
	}
	for _, claim := range all {
		if _, ok := c.claimant(v, m.Partner, claim); ok {
			found, err := partner.Preview(partner.Import{Owner: m.Partner, Use: []string{partner.UseVerify}, Data: claim.Certificate}, v.now)
			return claim.Certificate, found, err
		}
	}
	return nil, partner.Imported{}, &web.Problem{Slug: web.Conflict, Message: m.ID, Detail: "There is no certificate in it that could be imported. Ask the partner for it."}
}

// trustQuestion asks to compare the certificate by phone.
func (c *Console) trustQuestion(v *visit, l queue.Letter, m queue.Message, p *partner.Partner, found partner.Imported, der []byte) (question, error) {
	q := c.compareQuestion(v, p, found, der, "", messagePath(m.ID))
	q.Path = "/letters/" + l.ID + "/trust"
	q.Fields = []field{{"sure", "yes"}, {"content", base64.StdEncoding.EncodeToString(der)}}
	q.Choices[0].Label = words.TrustAnd(m.Direction == queue.In)
	if m.Direction == queue.Out {
		return q, nil
	}
	does, err := c.processing(v, m)
	q.Text = append(q.Text, words.Process(documentName(m), p.Name, does.Async).Text...)
	return q, err
}

// lookAgain verifies what was kept under the new settings.
func (c *Console) lookAgain(v *visit, l queue.Letter, m queue.Message, first string) (done, error) {
	back := messagePath(m.ID)
	if m.Direction == queue.Out {
		found, err := c.Letters.Recheck(v.r.Context(), l.ID, dlq.Ask{Actor: v.actor()})
		switch {
		case err != nil:
			return done{}, err
		case found.Letter.Status == queue.LetterClosed:
			return done{to: back, flash: flash{Text: first + "The receipt is good now: delivered. Nothing was sent."}}, nil
		}
		return done{to: back, flash: flash{Text: first + "Still not trusted: " + strings.TrimSuffix(found.Detail, ".") + ".", Bad: true}}, nil
	}
	err := c.Received.Process(v.r.Context(), m.ID, v.actor(), "")
	var problem *web.Problem
	switch {
	case errors.As(err, &problem):
		return done{to: back, flash: flash{Text: first + problem.Detail, Bad: true}}, nil
	case err != nil:
		return done{}, err
	}
	return done{to: back, flash: flash{Text: first + "Opened again and accepted. Its document is handed on."}}, nil
}
