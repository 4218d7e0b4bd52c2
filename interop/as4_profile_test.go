package interop

import (
	"cmp"
	"strings"
)

// as4Profile is one set of things that two AS4 partners agreed on. It holds for
// both directions. The values are those of the partner file (docs/partner-file.md);
// empty ones mean its default.
type as4Profile struct {
	name         string // ends the partner's id and its party id
	community    string // as4.profile, which settles names, see communities
	keys         string // what both sides' keys are: rsa, ec, ed25519 with x25519, brainpool
	sign         string
	digest       string
	token        string
	encrypt      string
	transport    string // how the content key reaches the recipient
	encryptToken string
	plain        bool // payloads are not compressed
	body         bool // the payload stands in the Body
	receipt      string
	fileName     bool // a part property carries it
	payloads     []payload
	only         direction // the other one makes no sense
	what         string    // in the matrix, for what its fields do not tell
}

// payload is a content with its type.
type payload struct {
	content     content
	contentType string
}

// as4Profiles cover every value of every setting at least once in each direction.
var as4Profiles = completedAS4([]as4Profile{
	{name: "edelivery-1", community: "edelivery-1.15"},
	{name: "signed", encrypt: "none"},
	{name: "signed-uncompressed", encrypt: "none", plain: true},
	{name: "signed-encrypted-uncompressed", plain: true},
	{name: "unsigned", sign: "none", encrypt: "none"},
	{name: "unsigned-uncompressed", sign: "none", encrypt: "none", plain: true},
	{name: "async-receipt", receipt: "async"},
	// Payloads.
	{name: "three-payloads", payloads: three},
	{name: "three-payloads-signed", encrypt: "none", payloads: three},
	{name: "three-payloads-uncompressed", plain: true, payloads: three},
	{name: "xml-uncompressed", encrypt: "none", plain: true, payloads: []payload{{xmlOrder, "application/xml"}}, what: "digested as canonical XML"},
	{name: "xml-encrypted-uncompressed", plain: true, payloads: []payload{{xmlOrder, "text/xml"}}, what: "digested as canonical XML"},
	{name: "text-uncompressed", encrypt: "none", plain: true, payloads: []payload{{loneLF, "text/plain"}}, what: "digested with CRLF"},
	{name: "body", encrypt: "none", plain: true, body: true, payloads: []payload{{xmlOrder, "application/xml"}}},
	{name: "file-name", fileName: true},
	// Keys and algorithms.
	{name: "edelivery-2", community: "edelivery-2.0", keys: "ed25519"},
	{name: "edelivery-2-ec", community: "edelivery-2.0", keys: "ec", transport: "ecdh-es-hkdf"},
	{name: "ecdh-concat", keys: "ec", sign: "ecdsa-sha256", transport: "ecdh-es"},
	{name: "sha384", sign: "rsa-sha384", digest: "sha384"},
	{name: "sha512", sign: "rsa-sha512", digest: "sha512"},
	{name: "aes256", encrypt: "aes256-gcm"},
	{name: "oaep-mgf1-sha1", transport: "rsa-oaep-mgf1-sha1"},
	{name: "oaep-mgf1p", transport: "rsa-oaep-mgf1p"},
	{name: "token-ski", token: "ski", encryptToken: "ski"},
	{name: "token-issuer-serial", token: "issuer-serial", encryptToken: "issuer-serial"},
	{name: "token-thumbprint", token: "thumbprint", encryptToken: "thumbprint"},
	{name: "token-pkipath", token: "pkipath", encryptToken: "bst"},
	{name: "token-pkcs7", token: "pkcs7", encryptToken: "bst", only: toPeer},
	// Communities.
	{name: "peppol", community: "peppol", encryptToken: "bst", payloads: []payload{{invoice, "application/xml"}}},
	{name: "entsog", community: "entsog", payloads: []payload{{xmlOrder, "application/xml"}}},
	{name: "entsog-4", community: "entsog", keys: "ed25519", payloads: []payload{{xmlOrder, "application/xml"}}},
	{name: "bdew", community: "bdew", keys: "brainpool"},
	{name: "ics2", community: "ics2", payloads: []payload{{xmlOrder, "application/xml"}}},
	// Sizes.
	{name: "empty", payloads: []payload{{empty, "application/octet-stream"}}},
	{name: "empty-uncompressed", plain: true, payloads: []payload{{empty, "application/octet-stream"}}},
	{name: "one-byte", payloads: []payload{{oneByte, "application/octet-stream"}}},
	{name: "large-signed", encrypt: "none", plain: true, payloads: []payload{{large, "application/octet-stream"}}},
	{name: "large-compressed", encrypt: "none", payloads: []payload{{large, "application/octet-stream"}}},
	{name: "encrypted-4mb", payloads: []payload{{middling, "application/octet-stream"}}},
})

// three are payloads of which none may pass for another.
var three = []payload{{order, "application/edi-x12"}, {xmlOrder, "application/xml"}, {binary, "application/octet-stream"}}

// completedAS4 fills in what most profiles have in common, and what the
// communities settled.
func completedAS4(all []as4Profile) []as4Profile {
	for i := range all {
		p := &all[i]
		p.community = cmp.Or(p.community, "plain")
		if p.keys == "" {
			p.keys = "rsa"
		}
		settled := map[string]as4Profile{
			"rsa":       {sign: "rsa-sha256", transport: "rsa-oaep-mgf1-sha256"},
			"ec":        {sign: "ecdsa-sha256", transport: "ecdh-es"},
			"brainpool": {sign: "ecdsa-sha256", transport: "ecdh-es"},
			"ed25519":   {sign: "ed25519", transport: "x25519"},
		}[p.keys]
		p.sign, p.transport = cmp.Or(p.sign, settled.sign), cmp.Or(p.transport, settled.transport)
		p.digest = cmp.Or(p.digest, "sha256")
		p.token = cmp.Or(p.token, map[string]string{"edelivery-2.0": "pkipath", "bdew": "pkipath", "ics2": "pkipath"}[p.community], "bst")
		p.encrypt = cmp.Or(p.encrypt, map[string]string{"ics2": "none"}[p.community], "aes128-gcm")
		p.encryptToken, p.receipt = cmp.Or(p.encryptToken, "auto"), cmp.Or(p.receipt, "sync")
		if p.payloads == nil {
			p.payloads = []payload{{order, "application/edi-x12"}}
		}
	}
	return all
}

// signed and encrypted say how messages are secured.
func (p as4Profile) signed() bool    { return p.sign != "none" }
func (p as4Profile) encrypted() bool { return p.encrypt != "none" }

// partner is the id of a partner file.
func (p as4Profile) partner(of named) string { return of.name() + "-" + p.name }

// signKey and cryptKey name the keys that sign and decrypt.
func (p as4Profile) signKey() string { return p.keys }
func (p as4Profile) cryptKey() string {
	if p.keys == "ed25519" {
		return "x25519"
	}
	return p.keys
}

// String names what a profile has besides the defaults.
func (p as4Profile) String() string {
	var parts []string
	add := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	add(!p.signed(), "not signed")
	add(p.signed(), strings.TrimSuffix(p.sign+" "+p.digest, " sha256"))
	add(p.encrypted(), p.encrypt+" "+p.transport)
	add(!p.plain, "gzip")
	add(p.token != "bst", "signer by "+p.token)
	add(p.encryptToken != "auto", "recipient by "+p.encryptToken)
	add(p.keys == "brainpool", "brainpoolP256r1")
	add(p.body, "in the Body")
	for _, one := range p.payloads {
		add(one.content != order || len(p.payloads) > 1, string(one.content))
	}
	add(p.fileName, "file name in a part property")
	add(p.what != "", p.what)
	if p.signed() {
		return strings.Join(append(parts, p.receipt+" receipt with digests"), ", ")
	}
	return strings.Join(append(parts, p.receipt+" receipt"), ", ")
}
