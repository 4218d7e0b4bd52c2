package main

import (
	"bufio"
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"edigw/as4/ebms"
	"edigw/internal/selfsigned"
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
	MEP       string `name:"mep" enum:",one-way/push,one-way/pull,two-way/push-and-push" default:"" help:"AS4: how documents reach them; one-way/pull: they fetch them here. Default: one-way/push."`
	MPC       string `name:"mpc" help:"AS4: the message partition channel of what we send."`
	TLSClient string `name:"tls-client" type:"existingfile" help:"AS4: our key and certificate (PEM) at their server, where a profile wants that." placeholder:"FILE"`
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

// pulled reports whether they fetch documents here.
func (c *PartnerNew) pulled() bool { return c.MEP == "one-way/pull" }

// askAS4 settles the profile, wants keys of ours that it can use, and gives the
// questions that only AS4 has: of what the profile knows itself, none.
func (c *PartnerNew) askAS4(e *env, in *bufio.Reader, s *partner.Snapshot) ([]question, error) {
	c.Software = new(string)
	profiles, err := partner.Profiles()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	q := question{to: &c.Profile, text: "Profile (" + strings.Join(names, ", ") + ")", fallback: "edelivery-1.15", oneOf: names}
	if err := q.ask(e, in); err != nil {
		return nil, err
	}
	if err := c.ourKeys(e, s); err != nil {
		return nil, err
	}
	p := &profiles[slices.Index(names, c.Profile)]
	return slices.Concat(c.askParty(p), c.askMessage(p), []question{
		{to: &c.Address, text: "URL of their server", unless: c.pulled},
		{to: &c.TLSClient, text: "File with our key and certificate at their server, in PEM (empty: later, by edigw cert import)", oneOf: optional, unless: func() bool { return !p.Wants("tls.client") }},
	}), nil
}

// askParty asks for their id. One that is a URI has no type, and a profile may know
// the type.
func (c *PartnerNew) askParty(p *partner.Profile) []question {
	return []question{
		{to: &c.Party, text: "Their party id"},
		{
			to: &c.PartyType, text: "Its type, since it is no URI (urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088 for a GLN)",
			unless: func() bool { return p.Fills("as4.to.type") || isURI(c.Party) && !p.Wants("as4.to.type") },
		},
	}
}

// askMessage asks what documents are filed under.
func (c *PartnerNew) askMessage(p *partner.Profile) []question {
	ofDocument := p.Fills("as4.sbdh.send") // service and action are those of each document
	service := question{to: &c.Service, text: "Service", fallback: ebms.DefaultService, unless: func() bool { return ofDocument || p.Fills("as4.service.value") }}
	if p.Fills("as4.service.type") || p.Wants("as4.service.value") {
		service.fallback = "" // that of AS4 would not do
	}
	agreement := question{to: &c.Agreement, text: "Agreement (empty: none is named in messages)", oneOf: optional, unless: func() bool { return p.Fills("as4.agreement.value") }}
	if p.Wants("as4.agreement.value") {
		agreement.text, agreement.oneOf = "Agreement", nil
	}
	return []question{
		agreement, service,
		{to: &c.Kind, text: "Type of the service, since it is no URI", unless: func() bool { return c.Service == "" || p.Fills("as4.service.type") || isURI(c.Service) }},
		{to: &c.Action, text: "Action", fallback: ebms.DefaultAction, unless: func() bool { return ofDocument || p.Fills("as4.action") }},
		{to: &c.MPC, text: "Channel (MPC) that they fetch from", unless: func() bool { return !c.pulled() }},
	}
}

// isURI reports whether an id or service can stand without a type.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Opaque != "" || u.Host != "" || u.Path != "")
}

// ourKeys refuses a profile for which no key of ours will do, before anybody
// answers the other questions, and says which command makes one.
func (c *PartnerNew) ourKeys(e *env, s *partner.Snapshot) error {
	text := fmt.Sprintf("protocol: as4\nas4: {profile: %s, url: \"https://unknown.invalid/as4\", to: {party: \"urn:example:any\"}}\n", c.Profile)
	var bad []partner.Problem
	for _, p := range s.Trial(c.ID, []byte(text), time.Now()) {
		if unfit(p) && !strings.HasPrefix(p.Key, "certificates.") {
			bad = append(bad, p)
		}
	}
	return c.refuse(e, bad)
}

// ofOurs reports whether a problem is that no key of ours fits.
func ofOurs(p partner.Problem) bool {
	return p.Key == "keys" || p.Key == "as4.security.sign" || p.Key == "as4.receive.require"
}

// newKey is the command that makes a key for the profile.
func (c *PartnerNew) newKey() string {
	kind := cmp.Or(map[string]string{"bdew": string(selfsigned.Brainpool), "edelivery-2.0": edPair}[c.Profile], string(selfsigned.RSA2048))
	if c.Profile == "entsog" {
		kind += " (edition 3.6) or " + edPair + " (4.0)"
	}
	return "edigw cert new NAME --out keys/" + c.Profile + ".pem --kind " + kind
}

// security is the section as4.security that their certificates ask for where a
// profile does not settle it: with another kind of key than RSA, algorithms go by
// the keys; and of a profile with editions for each, ours is theirs.
func (c *PartnerNew) security(signs, opens string) string {
	rsa := strings.HasPrefix(signs, "rsa-")
	switch {
	case c.Profile == "plain" && !(rsa && strings.HasPrefix(opens, "rsa-")):
		return "{sign: by-key, key_transport: by-key}"
	case c.Profile == "entsog" && rsa:
		return "{sign: rsa-sha256}"
	case c.Profile == "entsog" && signs == string(selfsigned.Ed25519):
		return "{sign: ed25519}"
	case c.Profile == "entsog" && strings.HasPrefix(signs, "p-"):
		return "{sign: ecdsa-sha256}"
	}
	return ""
}

// kindIn is the kind of the first certificate that is no issuer of another in the
// file.
func kindIn(list []*x509.Certificate) string {
	for _, c := range list {
		if !slices.ContainsFunc(list, func(o *x509.Certificate) bool { return !o.Equal(c) && o.Issuer.String() == c.Subject.String() }) {
			return string(selfsigned.KindOf(c))
		}
	}
	return ""
}

// AS4Service is the service as the file has it: that of AS4 needs not be said.
func (c *PartnerNew) AS4Service() string {
	if c.Service == ebms.DefaultService && c.Kind == "" {
		return ""
	}
	return c.Service
}

// AS4Action is the action as the file has it: that of AS4 needs not be said.
func (c *PartnerNew) AS4Action() string {
	if c.Action == ebms.DefaultAction {
		return ""
	}
	return c.Action
}

var partnerFileAS4 = template.Must(template.New("partner").Parse(`name: {{printf "%q" .C.Name}}
stage: test              # live when both sides are content
protocol: as4
owner: {team: {{printf "%q" .C.Owner}}{{if .C.Mail}}, mail: {{.C.Mail}}{{end}}{{if .C.Phone}}, phone: {{printf "%q" .C.Phone}}{{end}}}
as4:
  profile: {{.C.Profile}}
{{- if .C.Address}}
  url: {{.C.Address}}{{end}}
  to: {party: {{printf "%q" .C.Party}}{{if .C.PartyType}}, type: {{printf "%q" .C.PartyType}}{{end}}}
{{- if .C.Agreement}}
  agreement: {value: {{printf "%q" .C.Agreement}}}{{end}}
{{- with .C.AS4Service}}
  service: {value: {{printf "%q" .}}{{if $.C.Kind}}, type: {{printf "%q" $.C.Kind}}{{end}}}{{end}}
{{- with .C.AS4Action}}
  action: {{printf "%q" .}}{{end}}
{{- if .C.MEP}}
  mep: {{.C.MEP}}{{end}}
{{- if .C.MPC}}
  mpc: {{printf "%q" .C.MPC}}{{end}}
{{- if .Security}}
  security: {{.Security}}   # as their certificates ask for{{end}}
{{- if .C.Receipt}}
  receipt: {mode: {{.C.Receipt}}{{if eq .C.Receipt "async"}}, wait: 60m{{end}}}{{end}}
certificates:
  verify:  [{file: {{.Verify}}}]
  encrypt: [{file: {{.Encrypt}}}]
{{- if .TLS}}
tls: {client: {cert: {{.TLS}}, key: {{.TLS}}}}{{end}}
breaker: {on_open: {{.C.WhenDown}}}   # while they do not answer: dead-letter, or hold
`))
