package interop

import (
	"fmt"
	"strings"
)

// as4Names are what a community calls things. Who a party is, is in place of %s.
type as4Names struct {
	partyType       string
	peer, edigw     string
	agreement, kind string // and the kind of its name
	service         string
	serviceType     string
	action          string
	conversation    string // none: an empty one
	properties      map[string]string
	propertiesType  string
	partProperties  map[string]string
}

// defaultAction is that of AS4 §5.2.5.
const defaultAction = "http://docs.oasis-open.org/ebxml-msg/as4/200902/action"

// communities are the names of each profile of edigw that the tests speak.
var communities = map[string]as4Names{
	"plain": {
		peer: "urn:example:%s", edigw: "urn:example:edigw", agreement: "https://agreements.example/%s", service: "Orders", serviceType: "urn:example:services",
		action: "Deliver", properties: map[string]string{"originalSender": "urn:example:c1", "finalRecipient": "urn:example:c4"},
	},
	"peppol": {
		partyType: "urn:fdc:peppol.eu:2017:identifiers:ap", peer: "POP-%s", edigw: "POP000001", agreement: "urn:fdc:peppol.eu:2017:agreements:tia:ap_provider",
		service: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0", serviceType: "cenbii-procid-ubl", action: "busdox-docid-qns::" + invoiceType,
		properties: map[string]string{"originalSender": "9915:edigw", "finalRecipient": "9915:peer"}, propertiesType: "iso6523-actorid-upis",
	},
	"entsog": {
		partyType: "http://www.entsoe.eu/eic-codes/eic-party-codes-x", peer: "21X-%s", edigw: "21X-EXAMPLE-E--E",
		agreement: "http://entsog.eu/communication/agreements/21X-EXAMPLE-E--E/%s/1", service: "A06", serviceType: "http://edigas.org/service", action: defaultAction,
		conversation: "none", partProperties: map[string]string{"EDIGASDocumentType": "01G"},
	},
	"bdew": {
		partyType: "urn:oasis:names:tc:ebcore:partyid-type:unregistered:BDEW", peer: "99-%s", edigw: "9990012345678",
		agreement: "https://www.bdew.de/as4/communication/agreement", service: "https://www.bdew.de/as4/communication/services/MP", action: defaultAction,
		conversation: "none", properties: map[string]string{"BDEWDocumentType": "1", "BDEWDocumentNo": "4711"},
	},
	"ics2": {
		partyType: "urn:oasis:names:tc:ebcore:partyid-type:unregistered:eu-customs:EORI", peer: "XX%s", edigw: "XX000000000EDIGW",
		agreement: "EU-ICS2-TI-V2.0", kind: "ics2-interface-version", service: "ics2", serviceType: "eu-customs-service-type", action: "IE3F32", conversation: "1",
	},
}

// names are those of a profile with a peer.
func (p as4Profile) names(of named) as4Names {
	n, ok := communities[p.community]
	if !ok {
		n = communities["plain"]
	}
	fill := func(s string) string { return strings.Replace(s, "%s", p.partner(of), 1) }
	n.peer, n.agreement = fill(n.peer), fill(n.agreement)
	return n
}

// partnerFile is what an operator would write for a peer and a profile.
func (p as4Profile) partnerFile(of as4Peer) string {
	n := p.names(of)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	fmt.Fprintf(&b, "protocol: as4\nas4:\n")
	line("profile: %s", p.community)
	if p.community == "peppol" {
		line("sbdh: {send: none}") // what arrives is compared with what was handed in
	}
	line("url: %q", of.url(p))
	line("to: {party: %q%s}", n.peer, typed("type", n.partyType))
	line("from: {party: %q%s}", n.edigw, typed("type", n.partyType))
	line("agreement: {value: %q%s}", n.agreement, typed("type", n.kind))
	line("service: {value: %q%s}", n.service, typed("type", n.serviceType))
	line("action: %q", n.action)
	if n.conversation != "" {
		line("conversation: %q", n.conversation)
	}
	for key, list := range map[string]map[string]string{"properties": n.properties, "part_properties": n.partProperties} {
		if len(list) > 0 {
			line("%s:", key)
		}
		for name, value := range list {
			line("  %s: {value: %q%s}", name, value, typed("type", n.propertiesType))
		}
	}
	if p.fileName {
		line("file_name_property: FileName")
	}
	line("compress: %s", map[bool]string{true: "none", false: "gzip"}[p.plain])
	line("body: %v", p.body)
	line("security: {sign: %s, digest: %s, token: %s, encrypt: %s, key_transport: %s, encrypt_token: %s}",
		p.sign, p.digest, p.token, p.encrypt, p.transport, p.encryptToken)
	line("receipt: {mode: %s}", p.receipt)
	line("receive: {receipt: {mode: %s}}", p.receipt)
	fmt.Fprintf(&b, "certificates: {verify: ../../%[1]s/%[2]s.crt, encrypt: ../../%[1]s/%[3]s.crt}\n", of.name(), p.signKey(), p.cryptKey())
	return b.String()
}

// typed is a further field of a section, if it has a value.
func typed(key, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(", %s: %q", key, value)
}

// as4Terms are a profile as the driver of a peer sees it.
type as4Terms struct {
	Profile        string            `json:"profile"`
	Peer           string            `json:"peer"` // its party id
	PeerType       string            `json:"peer_type"`
	Edigw          string            `json:"edigw"`
	EdigwType      string            `json:"edigw_type"`
	Agreement      string            `json:"agreement"`
	AgreementType  string            `json:"agreement_type"`
	Service        string            `json:"service"`
	ServiceType    string            `json:"service_type"`
	Action         string            `json:"action"`
	Conversation   string            `json:"conversation"`
	Properties     map[string]string `json:"properties"`
	PropertiesType string            `json:"properties_type"`
	FileName       string            `json:"file_name_property"`
	Sign           string            `json:"sign"`
	Digest         string            `json:"digest"`
	Token          string            `json:"token"`
	Encrypt        string            `json:"encrypt"`
	Transport      string            `json:"key_transport"`
	Derivation     string            `json:"derivation"`
	EncryptToken   string            `json:"encrypt_token"`
	Compress       bool              `json:"compress"`
	Body           bool              `json:"body"`
	Receipt        string            `json:"receipt"`
	SignKey        string            `json:"sign_key"`
	CryptKey       string            `json:"crypt_key"`
	URL            string            `json:"url"`         // of edigw
	EdigwSign      string            `json:"edigw_sign"`  // which certificate of edigw the peer trusts
	EdigwCrypt     string            `json:"edigw_crypt"` // which certificate of edigw the peer encrypts to
	MPC            string            `json:"mpc"`
	NoPMode        bool              `json:"no_pmode"`       // the peer knows nothing of it
	TakesReceipts  bool              `json:"takes_receipts"` // receipts come by themselves
}

func as4TermsOf(p as4Profile, of named) as4Terms {
	n := p.names(of)
	t := as4Terms{
		Profile: p.name, Peer: n.peer, PeerType: n.partyType, Edigw: n.edigw, EdigwType: n.partyType, Agreement: n.agreement, AgreementType: n.kind,
		Service: n.service, ServiceType: n.serviceType, Action: n.action, Conversation: n.conversation, Properties: n.properties, PropertiesType: n.propertiesType,
		Sign: p.sign, Digest: p.digest, Token: p.token, Encrypt: p.encrypt, Transport: strings.TrimSuffix(p.transport, "-hkdf"), Derivation: "hkdf",
		EncryptToken: p.encryptToken, Compress: !p.plain, Body: p.body, Receipt: p.receipt,
		SignKey: p.signKey(), CryptKey: p.cryptKey(), EdigwSign: p.signKey(), EdigwCrypt: p.cryptKey(),
	}
	t.TakesReceipts = p.receipt == "async"
	if p.transport == "ecdh-es" {
		t.Derivation = "concat"
	}
	if t.EncryptToken == "auto" {
		t.EncryptToken = "bst"
	}
	if p.fileName {
		t.FileName = "FileName"
	}
	if t.Properties == nil {
		t.Properties = map[string]string{} // drivers want an object
	}
	return t
}
