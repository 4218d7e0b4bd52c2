package interop

import "strings"

// profile is one set of things that two partners agreed on. It holds for both
// directions. The values are those of the partner file (docs/partner-file.md);
// empty ones mean none, or the file's default.
type profile struct {
	name        string // ends the partner's id and its AS2 name
	sign        string
	signature   string // rsa-pkcs1, rsa-pss
	encrypt     string
	transport   string // how the content key is encrypted
	compress    string
	encoding    string // binary, base64
	mdn         string // none, sync, async
	mdnSigned   bool
	mdnDigest   string
	contentType string
	content     content
	fileName    string
	ours        string    // further settings of the partner file, below as2
	blanks      bool      // there are some in the peer's AS2 name
	only        direction // the other one makes no sense
}

// peerName is the AS2 name of a peer for a profile: products hang settings on
// the pair of names.
func (p profile) peerName(of peer) string {
	if p.blanks {
		return of.name() + " and blanks"
	}
	return of.name() + "-" + p.name
}

// partner is the id of a partner file.
func (p profile) partner(of peer) string { return of.name() + "-" + p.name }

// ourName is edigw's AS2 name.
const ourName = "EDIGW"

// profiles cover every value of every setting at least once in each direction;
// their product would be thousands.
var profiles = completed([]profile{
	// Receipts.
	{name: "plain-mdn-none", mdn: "none", contentType: "application/edi-x12"},
	{name: "plain-mdn-unsigned", mdnDigest: "sha256"},
	{name: "plain-mdn-signed", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-mdn-none", sign: "sha256", mdn: "none"},
	{name: "signed-mdn-unsigned", sign: "sha256", mdnDigest: "sha256"},
	{name: "signed-async", sign: "sha256", mdn: "async", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-async", sign: "sha256", encrypt: "aes256-cbc", mdn: "async", mdnSigned: true, mdnDigest: "sha256"},
	// Signatures.
	{name: "signed-sha1", sign: "sha1", mdnSigned: true, mdnDigest: "sha1"},
	{name: "signed-sha256", sign: "sha256", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-sha384", sign: "sha384", mdnSigned: true, mdnDigest: "sha384"},
	{name: "signed-sha512", sign: "sha512", mdnSigned: true, mdnDigest: "sha512"},
	{name: "signed-base64", sign: "sha256", encoding: "base64", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-pss", sign: "sha256", signature: "rsa-pss", mdnSigned: true, mdnDigest: "sha256"},
	// Encryption.
	{name: "encrypted-3des", encrypt: "3des", mdnSigned: true, mdnDigest: "sha1"},
	{name: "encrypted-aes128", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-3des", sign: "sha1", encrypt: "3des", mdnSigned: true, mdnDigest: "sha1"},
	{name: "signed-encrypted-aes128", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-aes192", sign: "sha256", encrypt: "aes192-cbc", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-aes256", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-base64", sign: "sha256", encrypt: "aes256-cbc", encoding: "base64", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-oaep", sign: "sha256", encrypt: "aes256-cbc", transport: "rsa-oaep-sha256", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-encrypted-oaep-sha1", sign: "sha256", encrypt: "aes256-cbc", transport: "rsa-oaep-sha1", mdnSigned: true, mdnDigest: "sha256", only: toPeer},
	{name: "signed-encrypted-gcm", sign: "sha256", encrypt: "aes256-gcm", mdnSigned: true, mdnDigest: "sha256"},
	// Compression.
	{name: "compressed", compress: "before-sign", mdnSigned: true, mdnDigest: "sha256"},
	{name: "compressed-signed", sign: "sha256", compress: "before-sign", mdnSigned: true, mdnDigest: "sha256"},
	{name: "compressed-encrypted", encrypt: "aes256-cbc", compress: "before-sign", mdnSigned: true, mdnDigest: "sha256"},
	{name: "compressed-signed-encrypted", sign: "sha256", encrypt: "aes256-cbc", compress: "before-sign", mdnSigned: true, mdnDigest: "sha256"},
	{name: "signed-compressed-encrypted", sign: "sha256", encrypt: "aes256-cbc", compress: "after-sign", mdnSigned: true, mdnDigest: "sha256"},
	// What edigw alone can do otherwise: the peer only has to understand it.
	{name: "chunked", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", ours: "transfer: chunked", only: toPeer},
	{name: "expect-continue", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", ours: "expect_continue: true", only: toPeer},
	{name: "no-attributes", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", ours: "signed_attributes: false", only: toPeer},
	{name: "no-certificate", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", ours: "attach_certificate: none", only: toPeer},
	{name: "algorithm-protection", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", ours: "algorithm_protection: true", only: toPeer},
	{name: "old-digest-names", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", ours: "digest_names: rfc3851", only: toPeer},
	{name: "to-self-too", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", ours: "encrypt_to_self: true", only: toPeer},
	{name: "version-13", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", ours: `version: "1.3"`, only: toPeer},
	// Names.
	{name: "name-with-blanks", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256", blanks: true},
	// Content.
	{name: "empty", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256", content: empty, contentType: "text/plain"},
	{name: "one-byte", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256", content: oneByte, contentType: "text/plain"},
	{name: "lone-lf", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", content: loneLF, contentType: "text/plain"},
	{name: "plain-lone-lf", mdnSigned: true, mdnDigest: "sha256", content: loneLF, contentType: "text/plain"},
	{name: "blank-lines", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256", content: blankLines, contentType: "text/plain"},
	{name: "binary", sign: "sha256", mdnSigned: true, mdnDigest: "sha256", content: binary},
	{name: "encrypted-binary", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", content: binary},
	{name: "file-name", sign: "sha256", encrypt: "aes128-cbc", mdnSigned: true, mdnDigest: "sha256", fileName: "Order 4711 (copy).edi"},
	{name: "large-plain", mdnSigned: true, mdnDigest: "sha256", content: large},
	{name: "large-signed-encrypted", sign: "sha256", encrypt: "aes256-cbc", mdnSigned: true, mdnDigest: "sha256", content: large},
	{name: "large-compressed", sign: "sha256", encrypt: "aes128-cbc", compress: "before-sign", mdnSigned: true, mdnDigest: "sha256", content: large},
})

// completed fills in what most profiles have in common.
func completed(all []profile) []profile {
	or := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	for i := range all {
		p := &all[i]
		or(&p.sign, "none")
		or(&p.signature, "rsa-pkcs1")
		or(&p.encrypt, "none")
		or(&p.transport, "rsa-pkcs1")
		or(&p.compress, "none")
		or(&p.encoding, "binary")
		or(&p.mdn, "sync")
		or(&p.contentType, "application/octet-stream")
		or((*string)(&p.content), string(order))
		or(&p.fileName, p.name+".edi")
	}
	return all
}

// receipt reports whether the sender asks for a receipt.
func (p profile) receipt() bool { return p.mdn != "none" }

// String names what a profile has besides the defaults.
func (p profile) String() string {
	var parts []string
	if p.sign != "none" {
		how := "signed " + p.sign
		if p.signature == "rsa-pss" {
			how += " PSS"
		}
		parts = append(parts, how)
	}
	if p.encrypt != "none" {
		how := p.encrypt
		if p.transport != "rsa-pkcs1" {
			how += " " + p.transport
		}
		parts = append(parts, how)
	}
	if p.compress != "none" {
		parts = append(parts, "compressed "+p.compress)
	}
	if p.encoding != "binary" {
		parts = append(parts, p.encoding)
	}
	if p.ours != "" {
		parts = append(parts, "`"+p.ours+"`")
	}
	if p.blanks {
		parts = append(parts, "AS2 name with blanks")
	}
	if p.content != order {
		parts = append(parts, string(p.content))
	}
	return strings.Join(append(parts, p.receiptText()), ", ")
}

func (p profile) receiptText() string {
	switch {
	case !p.receipt():
		return "no MDN"
	case p.mdnSigned:
		return p.mdn + " signed MDN"
	}
	return p.mdn + " unsigned MDN"
}
