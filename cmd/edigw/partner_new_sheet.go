package main

import (
	"cmp"
	"crypto"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/selfsigned"
	"edigw/partner"
)

// sheet is what the partner must know of us, with blanks for their answers. The
// snapshot has the partner.
func (c *PartnerNew) sheet(s *partner.Snapshot) []byte {
	if c.Protocol == "as4" {
		return c.sheetAS4(s)
	}
	var b strings.Builder
	g := s.Gateway()
	fmt.Fprintf(&b, "AS2 connection with %s\n\nOURS\n  AS2 name          %s\n  URL for messages  %s/as2\n", c.Name, inHeader(g.Identity.AS2), ourURL(s))
	fmt.Fprintf(&b, "  Receipts          we ask for: %s, signed\n                    we answer: in the response; asynchronously only at addresses that we agreed\n", c.Receipt)
	fmt.Fprintf(&b, "  Algorithms        signature SHA-256, encryption AES-256-CBC\n")
	for _, info := range s.Certificates(time.Now()) {
		cert, ours := s.OwnCertificateOf(info.SHA256)
		if ours && info.Owner == partner.OwnerGateway && (info.Use == partner.UseSign || info.Use == partner.UseDecrypt) && !slices.Contains(onlyAS4, selfsigned.KindOf(cert)) {
			onSheet(&b, info)
		}
	}
	blanks(&b, "AS2 name", "URL for messages", "Addresses that you send from", "Certificate, SHA-256", "Algorithms", "Receipts that you want", "URLs for asynchronous ones", "Maintenance windows", "Contact at night")
	return []byte(b.String())
}

// onlyAS4 are the kinds of keys that AS2 does not use.
var onlyAS4 = []selfsigned.Kind{selfsigned.Brainpool, selfsigned.Ed25519, selfsigned.X25519}

// ourURL is how partners reach us.
func ourURL(s *partner.Snapshot) string {
	if url := s.Gateway().PartnerURL(); url != "" {
		return url
	}
	return "(to be told: listen.partners.base_url is not set)"
}

// onSheet writes a certificate of ours, with its fingerprint.
func onSheet(b *strings.Builder, info partner.CertificateInfo) {
	fmt.Fprintf(b, "  Certificate       for %s: %s, serial %s, valid to %s\n                    SHA-256 %s\n", info.Use, info.Subject, info.Serial, info.NotAfter.UTC().Format(time.DateOnly), info.SHA256)
}

// blanks are what the partner fills in.
func blanks(b *strings.Builder, names ...string) {
	b.WriteString("\nYOURS (please fill in and send back)\n")
	for _, name := range names {
		fmt.Fprintf(b, "  %-28s ______________________________\n", name)
	}
}

// inHeader is an AS2 name, and how headers have it where that differs: whoever
// enters it must know whether the quotes belong to it.
func inHeader(name string) string {
	if quoted := as2.QuoteName(name); quoted != name {
		return name + "   (in headers: " + quoted + ")"
	}
	return name
}

// sheetAS4 is the sheet of a partner who speaks AS4.
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
		fmt.Fprintf(&b, "  Agreement         %s\n  Service, action   %s, %s\n", agreementWords(m.Agreement), cmp.Or(m.Service.Value, "those of each document"), cmp.Or(m.Action, "that of each document"))
		if m.Service.Type != "" {
			fmt.Fprintf(&b, "                    type of the service %s\n", m.Service.Type)
		}
		if c.pulled() {
			fmt.Fprintf(&b, "  You fetch from    %s/as4, channel %s\n", ourURL(s), m.MPC)
		}
		fmt.Fprintf(&b, "  Receipts          we ask for: %s, signed\n                    we answer: in the response\n", cmp.Or(c.Receipt, "later, at our URL"))
		fmt.Fprintf(&b, "  Signature         %s\n  Encryption        %s\n", signatureWords(m.Sign), cmp.Or(string(m.Encrypt.Cipher), "none"))
		if m.Encrypt.Cipher != "" {
			fmt.Fprintf(&b, "  Key transport     %s\n", transportWords(m.Encrypt.Transport))
		}
		c.certificatesOnSheet(&b, s, m, now)
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

// signatureWords says how we sign, for people.
func signatureWords(sign wssec.Signing) string {
	if sign.Algorithm == "" {
		return "none"
	}
	return fmt.Sprintf("%s, digest %s, certificate as %s", sign.Algorithm, hashWords(sign.Digest), cmp.Or(sign.Token, wssec.TokenBST))
}

// transportWords says how the key of what we send comes to them, for people.
func transportWords(t wssec.KeyTransport) string {
	switch t.Method {
	case "rsa-oaep-mgf1p":
		return "RSA-OAEP (rsa-oaep-mgf1p), digest " + hashWords(t.Digest) + ", mask generation MGF1 with SHA-1"
	case "rsa-oaep":
		return "RSA-OAEP, digest " + hashWords(t.Digest) + ", mask generation MGF1 with " + hashWords(t.MGF)
	}
	agreement, derivation := "ECDH-ES", "ConcatKDF"
	if t.Method == "x25519" {
		agreement = "X25519"
	}
	if t.Derivation == "hkdf" || t.Derivation == "" && t.Method == "x25519" {
		derivation = "HKDF"
	}
	return fmt.Sprintf("%s, key derivation %s with %s, key wrap AES-%d", agreement, derivation, hashWords(t.Digest), cmp.Or(t.Wrap, 128))
}

// hashWords names a hash; what is not said is SHA-256.
func hashWords(h crypto.Hash) string { return cmp.Or(h, crypto.SHA256).String() }

// certificatesOnSheet writes the certificate that signs, and all that they may
// encrypt to.
func (c *PartnerNew) certificatesOnSheet(b *strings.Builder, s *partner.Snapshot, m as4.PMode, now time.Time) {
	for _, info := range s.Certificates(now) {
		own, ok := s.OwnCertificateOf(info.SHA256)
		if ok && info.Owner == partner.OwnerGateway && info.Use == partner.UseSign && m.Sign.Certificate != nil && own.Equal(m.Sign.Certificate) {
			onSheet(b, info)
		}
	}
	for _, info := range s.Opening(c.ID, now) {
		onSheet(b, info)
	}
}
