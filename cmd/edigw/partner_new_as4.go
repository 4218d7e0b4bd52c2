package main

import (
	"crypto/x509"
	"fmt"
	"strings"
	"text/template"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/partner"
)

// newAS4 are the flags that only AS4 has.
type newAS4 struct {
	Profile   string `help:"AS4: the profile, such as edelivery-1.15, peppol or bdew; plain: none."`
	Party     string `help:"AS4: their party id."`
	PartyType string `help:"AS4: its type; an id that is a URI needs none."`
	Agreement string `help:"AS4: the agreement, if one is named in messages."`
	Service   string `help:"AS4: the service, if not that of AS4."`
	Kind      string `name:"service-type" help:"AS4: its type."`
	Action    string `help:"AS4: the action, if not that of AS4."`
}

// sensible refuses flags of the other protocol, and AS4 before we have a name.
func (c *PartnerNew) sensible(s *partner.Snapshot) error {
	if c.Protocol == "as4" {
		switch {
		case c.AS2ID != "" || c.Software != nil:
			return wrong("--as2-id and --software belong to AS2; AS4 has --party and --profile")
		case s.Gateway().Identity.AS4 == nil:
			return fmt.Errorf("edigw.yaml does not say who we are in AS4: add identity.as4, such as as4: {party: \"urn:oasis:names:tc:ebcore:partyid-type:unregistered:acme\"}")
		}
		return nil
	}
	if c.newAS4 != (newAS4{}) {
		return wrong("--profile, --party and what describes an AS4 message need --protocol as4")
	}
	return nil
}

// askAS4 are the questions that only AS4 has. A party id that is a URI has no
// type, and a profile may know it.
func (c *PartnerNew) askAS4() ([]question, error) {
	profiles, err := partner.Profiles()
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	out := []question{
		{&c.Profile, "Profile (" + strings.Join(names, ", ") + ")", "edelivery-1.15", names},
		{&c.Party, "Their party id", "", nil},
	}
	if c.PartyType == "" && c.Party == "" {
		out = append(out, question{&c.PartyType, "Its type (empty: the profile's, or the id is a URI)", "", []string{""}})
	}
	return out, err
}

var partnerFileAS4 = template.Must(template.New("partner").Parse(`name: {{printf "%q" .C.Name}}
stage: test              # live when both sides are content
protocol: as4
owner: {team: {{printf "%q" .C.Owner}}{{if .C.Mail}}, mail: {{.C.Mail}}{{end}}{{if .C.Phone}}, phone: {{printf "%q" .C.Phone}}{{end}}}
as4:
  profile: {{.C.Profile}}
  url: {{.C.Address}}
  to: {party: {{printf "%q" .C.Party}}{{if .C.PartyType}}, type: {{printf "%q" .C.PartyType}}{{end}}}
{{- if .C.Agreement}}
  agreement: {value: {{printf "%q" .C.Agreement}}}{{end}}
{{- if .C.Service}}
  service: {value: {{printf "%q" .C.Service}}{{if .C.Kind}}, type: {{printf "%q" .C.Kind}}{{end}}}{{end}}
{{- if .C.Action}}
  action: {{printf "%q" .C.Action}}{{end}}
  receipt: {mode: {{.C.Receipt}}{{if eq .C.Receipt "async"}}, wait: 60m{{end}}}
certificates:
  verify:  [{file: {{.Verify}}}]
  encrypt: [{file: {{.Encrypt}}}]
breaker: {on_open: {{.C.WhenDown}}}   # while they do not answer: dead-letter, or hold
`))

// sheetAS4 is what the partner must know of us, with blanks for their answers. The
// snapshot has the partner.
func (c *PartnerNew) sheetAS4(s *partner.Snapshot) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "AS4 connection with %s\n\nOURS\n  Profile           %s\n", c.Name, c.Profile)
	now := time.Now()
	if m, err := s.ReceivingPMode(c.ID, now); err == nil {
		for _, id := range m.From.IDs {
			fmt.Fprintf(&b, "  Party id          %s\n", id.Value)
			if id.Type != "" {
				fmt.Fprintf(&b, "                    type %s\n", id.Type)
			}
		}
		fmt.Fprintf(&b, "  Role              %s\n", m.From.Role)
		fmt.Fprintf(&b, "  URL for messages  %s/as4\n", ourURL(s))
		fmt.Fprintf(&b, "  Agreement         %s\n  Service, action   %s, %s\n", agreementWords(m.Agreement), m.Service.Value, m.Action)
		if m.Service.Type != "" {
			fmt.Fprintf(&b, "                    type of the service %s\n", m.Service.Type)
		}
		fmt.Fprintf(&b, "  Receipts          we ask for: %s, signed\n                    we answer: in the response\n", c.Receipt)
		fmt.Fprintf(&b, "  Algorithms        %s\n", algorithms(m))
		certificatesOnSheet(&b, s, m, now)
	}
	blanks(&b, "Party id and type", "URL for messages", "Addresses that you send from", "Certificates, SHA-256", "Algorithms", "Agreement, services, actions", "Receipts that you want", "Maintenance windows", "Contact at night")
	return []byte(b.String())
}

func agreementWords(a *ebms.AgreementRef) string {
	if a == nil {
		return "none"
	}
	return a.Value
}

// algorithms are those of what we send, for people.
func algorithms(m as4.PMode) string {
	sign, seal := "not signed", "not encrypted"
	if m.Sign.Algorithm != "" {
		sign = "signature " + string(m.Sign.Algorithm)
	}
	if m.Encrypt.Cipher != "" {
		seal = "encryption " + string(m.Encrypt.Cipher)
		if m.Encrypt.Transport.Method != "" {
			seal += " with " + m.Encrypt.Transport.Method
		}
	}
	return sign + ", " + seal
}

// certificatesOnSheet writes the certificate that signs, and all that open.
func certificatesOnSheet(b *strings.Builder, s *partner.Snapshot, m as4.PMode, now time.Time) {
	is := func(info partner.CertificateInfo, cert *x509.Certificate) bool {
		own, ok := s.OwnCertificateOf(info.SHA256)
		return ok && cert != nil && own.Equal(cert)
	}
	for _, info := range s.Certificates(now) {
		if info.Owner == partner.OwnerGateway && (info.Use == partner.UseSign && is(info, m.Sign.Certificate) || info.Use == partner.UseDecrypt && info.InUse) {
			onSheet(b, info)
		}
	}
}
