package partner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/conf"
)

// contraryAS4 is the opposite of what the profiles want.
const contraryAS4 = `defaults:
  as4:
    agreement: {value: "urn:example:other", type: "urn:example:agreements", pmode: p1}
    action: Other
    mep: two-way/push-and-push
    conversation: other
    compress: none
    security: {sign: rsa-sha512, digest: sha512, token: issuer-serial, encrypt: aes256-gcm, key_transport: rsa-oaep-mgf1p}
    receipt: {mode: async, non_repudiation: false, signed: false}
    receive: {digest: sha512, receipt: {mode: async, non_repudiation: false, signed: false}}
    trust: {subject: any}
alerts:
`

// shared are the promises of all profiles but plain.
func shared(m as4.PMode) map[string]bool {
	strict := as4.ReceiptRequest{Mode: as4.ReceiptSync, NonRepudiation: true, Signed: true}
	return map[string]bool{
		"a synchronous receipt with digests": m.Receipt == strict || m.MEP == as4.OneWayPull && m.Receipt.NonRepudiation && m.Receipt.Signed,
		"we answer the same way":             m.Receive.Receipt == strict,
		"SHA-256":                            m.Sign.Digest == digest("sha256") && m.Receive.Digest == digest("sha256"),
		"gzip":                               m.Compress && !m.Body,
	}
}

func oaep(m as4.PMode) bool {
	return m.Encrypt.Cipher == wssec.AES128GCM && m.Encrypt.Transport == wssec.KeyTransport{Method: "rsa-oaep", Digest: digest("sha256"), MGF: digest("sha256")}
}

// TestProfilesLeadToThePMode: whatever the defaults of edigw.yaml say, what the
// profile promises is in the P-Mode of its sample.
func TestProfilesLeadToThePMode(t *testing.T) {
	t.Parallel()
	promises := map[string]struct {
		sample string
		kept   func(m as4.PMode) map[string]bool
	}{
		"edelivery-1.15": {"contoso-pull", func(m as4.PMode) map[string]bool {
			return map[string]bool{"RSA": m.Sign.Algorithm == wssec.RSASHA256 && oaep(m), "token": m.Sign.Token == wssec.TokenBST}
		}},
		"edelivery-2.0": {"fabrikam", func(m as4.PMode) map[string]bool {
			return map[string]bool{"Ed25519": m.Sign.Algorithm == wssec.Ed25519, "X25519": m.Encrypt.Transport.Method == "x25519" && m.Encrypt.Cipher == wssec.AES128GCM, "token": m.Sign.Token == wssec.TokenPKIPath}
		}},
		"peppol": {"wingtip", func(m as4.PMode) map[string]bool {
			const ap = "urn:fdc:peppol.eu:2017:identifiers:ap"
			types := []string{}
			for _, p := range m.Properties {
				types = append(types, p.Type)
			}
			return map[string]bool{
				"RSA": m.Sign.Algorithm == wssec.RSASHA256 && oaep(m), "token": m.Sign.Token == wssec.TokenBST,
				"parties":    m.From.IDs[0].Type == ap && m.To.IDs[0].Type == ap,
				"agreement":  *m.Agreement == ebms.AgreementRef{Value: "urn:fdc:peppol.eu:2017:agreements:tia:ap_provider"},
				"service":    m.Service.Type == "cenbii-procid-ubl",
				"properties": slices.Equal(types, []string{"iso6523-actorid-upis", "iso6523-actorid-upis"}),
				"push":       m.MEP == as4.OneWayPush, "subject": m.SubjectIsParty && m.Authorities != nil,
			}
		}},
		"entsog": {"fluxgas", func(m as4.PMode) map[string]bool {
			const eic = "http://www.entsoe.eu/eic-codes/eic-party-codes-x"
			return map[string]bool{
				"RSA by our key": m.Sign.Algorithm == wssec.RSASHA256 && oaep(m), "token": m.Sign.Token == wssec.TokenBST,
				"parties": m.From.IDs[0].Type == eic && m.To.IDs[0].Type == eic, "service": m.Service == ebms.Service{Value: "A06", Type: "http://edigas.org/service"},
				"action": m.Action == ebms.DefaultAction, "empty conversation": m.Conversation == "", "push": m.MEP == as4.OneWayPush,
			}
		}},
		"bdew": {"stadtwerke", func(m as4.PMode) map[string]bool {
			return map[string]bool{
				"ECDSA": m.Sign.Algorithm == wssec.ECDSASHA256, "token": m.Sign.Token == wssec.TokenPKIPath,
				"ECDH":      m.Encrypt.Cipher == wssec.AES128GCM && m.Encrypt.Transport == wssec.KeyTransport{Method: "ecdh-es", Digest: digest("sha256"), Wrap: 128},
				"agreement": *m.Agreement == ebms.AgreementRef{Value: "https://www.bdew.de/as4/communication/agreement"}, "action": m.Action == ebms.DefaultAction,
				"empty conversation": m.Conversation == "", "push": m.MEP == as4.OneWayPush,
			}
		}},
		"ics2": {"customs", func(m as4.PMode) map[string]bool {
			return map[string]bool{
				"signed, not encrypted": m.Sign.Algorithm == wssec.RSASHA256 && m.Encrypt.Cipher == "" && m.Receive.Signed && !m.Receive.Encrypted, "token": m.Sign.Token == wssec.TokenPKIPath,
				"agreement": m.Agreement.Value == "EU-ICS2-TI-V2.0" && m.Agreement.Type == "ics2-interface-version", "conversation": m.Conversation == "1",
				"parties": strings.HasSuffix(m.From.IDs[0].Type, ":EORI") && strings.HasSuffix(m.To.IDs[0].Type, ":auth"), "service": m.Service.Type == "eu-customs-service-type",
			}
		}},
		"plain": {"minimal", nil},
	}
	all, err := Profiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, contrary := range []bool{false, true} {
		dir := installationAS4(t)
		if contrary {
			edit(t, filepath.Join(dir, "edigw.yaml"), "alerts:\n", contraryAS4)
		}
		s := mustLoad(t, dir)
		for _, p := range all {
			promised, there := promises[p.Name]
			if !there {
				t.Errorf("%s promises nothing that is looked at", p.Name)
				continue
			}
			if promised.kept == nil {
				continue
			}
			m := mustPMode(t, s, promised.sample, today)
			for _, list := range []map[string]bool{shared(m), promised.kept(m)} {
				for what, kept := range list {
					if !kept {
						t.Errorf("%s, contrary defaults %t: %s is not kept", p.Name, contrary, what)
					}
				}
			}
		}
	}
}

// TestProfilesHoldKnownKeysOnly, in their settings and in their rules, and keep
// their own rules.
func TestProfilesHoldKnownKeysOnly(t *testing.T) {
	t.Parallel()
	all, err := Profiles()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := conf.Describe(file{})
	if err != nil {
		t.Fatal(err)
	}
	var known []Setting
	schema.Decode(new(file), []conf.Layer{{Origin: OriginPartner, Root: mustParse(t, "as4: {agreement: {value: a, type: b, pmode: c}, to: {}, from: {}}\n")}}, new(conf.Report), conf.Options{Partial: true, Settings: &known})
	for _, p := range all {
		var report conf.Report
		schema.Decode(new(file), []conf.Layer{{Origin: OriginProfile, File: p.Name, Root: p.root}}, &report, conf.Options{Partial: true})
		if len(report.Problems) > 0 {
			t.Error(lines(report.Problems))
		}
		for _, m := range p.musts {
			if m.section == "" || len(m.is) == 0 && !m.given && !m.absent {
				t.Errorf("%s: the rule about %q lacks a part", p.Name, m.key)
			}
			if _, _, free := propertyKey(m.key); !free && m.key != "tls.client" && !slices.ContainsFunc(known, func(set Setting) bool { return set.Key == m.key }) {
				t.Errorf("%s has a rule about %s, which is no key", p.Name, m.key)
			}
			if n := nodeAt(p.root, m.key); n != nil && len(m.is) > 0 && !slices.Contains(m.is, n.Text) {
				t.Errorf("%s sets %s to %s, which breaks its own rule", p.Name, m.key, n.Text)
			}
		}
	}
}

func mustParse(t *testing.T, text string) *conf.Node {
	t.Helper()
	root, problems := conf.Parse("", []byte(text))
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	return root
}
