package holodeck

import (
	"cmp"
	"slices"
	"strings"

	"edigw/partner/takeover"
)

// Defaults of Holodeck B2B.
const (
	defaultSignature = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
	defaultDigest    = "http://www.w3.org/2001/04/xmlenc#sha256"
	defaultCipher    = "http://www.w3.org/2009/xmlenc11#aes128-gcm"
	defaultTransport = "http://www.w3.org/2009/xmlenc11#rsa-oaep"
)

// security reads how the sender signs and how the receiver is encrypted to.
func (t *translator) security(p *PMode, about, sender, receiver string) (s takeover.Security) {
	if at := sender + "/SecurityConfiguration/Signing"; p.has(at) {
		s.Sign = t.known(about, "signature", takeover.Signatures, cmp.Or(p.first(at+"/Algorithm"), defaultSignature), "rsa-sha256")
		s.Digest = t.known(about, "digest", takeover.Digests, cmp.Or(p.first(at+"/HashFunction"), defaultDigest), "sha256")
		s.Token = token(p.first(at + "/KeyReferenceMethod"))
		if s.Token == "bst" && p.first(at+"/IncludeCertificatePath") == "true" {
			s.Token = "pkipath"
		}
	}
	if at := receiver + "/SecurityConfiguration/Encryption"; p.has(at) {
		s.Encrypt = t.known(about, "encryption", takeover.Ciphers, cmp.Or(p.first(at+"/Algorithm"), defaultCipher), "aes128-gcm")
		at += "/KeyTransport"
		digest, mask := p.first(at+"/DigestAlgorithm"), p.first(at+"/MGFAlgorithm")
		algorithm := cmp.Or(p.first(at+"/Algorithm"), defaultTransport)
		if digest == "" && mask == "" && strings.HasSuffix(algorithm, "#rsa-oaep") { // what it does when nothing is said
			digest, mask = defaultDigest, "#mgf1sha256"
		}
		name, ok := takeover.KeyTransport(algorithm, digest, mask)
		if !ok {
			t.w.Plan.Lost("", about, "the key transport %s, digest %s, mask %s is not used by edigw; rsa-oaep-mgf1-sha256 was put in its place, agree it with the partner",
				takeover.Clip(algorithm), takeover.Clip(digest), takeover.Clip(mask))
			name = "rsa-oaep-mgf1-sha256"
		}
		s.KeyTransport = name
		if method := p.first(at + "/KeyReferenceMethod"); method != "" {
			s.EncryptToken = token(method)
		}
	}
	return s
}

// signing, encryption and login are what may stand below SecurityConfiguration,
// with the elements that hold others.
var (
	signing    = []string{"", "KeystoreAlias", "KeyReferenceMethod", "IncludeCertificatePath", "Algorithm", "HashFunction", "EnableRevocationCheck"}
	encryption = []string{
		"", "KeystoreAlias", "Algorithm", "KeyTransport", "KeyTransport/Algorithm", "KeyTransport/MGFAlgorithm",
		"KeyTransport/DigestAlgorithm", "KeyTransport/KeyReferenceMethod",
	}
	login = []string{"", "username", "password", "includeNonce", "includeCreated"}
)

// unknownSecurity is the path of an element that is not known where security is
// settled, empty if there is none. What it was to sign or encrypt would be lost,
// and the partner file would ask for less than both sides agreed.
func (p *PMode) unknownSecurity() string {
	for _, s := range p.Settings {
		path := strings.TrimSuffix(s.Path, "/")
		side, below, secures := strings.Cut(path, "SecurityConfiguration")
		switch side {
		case "Initiator/", "Responder/", "Leg/PullRequestFlow/":
			if secures && !secured(below) {
				return path
			}
		default:
			side, rest, _ := strings.Cut(path, "/")
			if secures || (side == "Initiator" || side == "Responder") && rest != "" && rest != "PartyId" && rest != "Role" {
				return path
			}
		}
	}
	return ""
}

// secured reports whether a path below SecurityConfiguration is a known one.
func secured(path string) bool {
	if path == "" {
		return true
	}
	for section, known := range map[string][]string{"/Signing": signing, "/Encryption": encryption, "/UsernameToken": login} {
		if rest, ok := strings.CutPrefix(path, section); ok && (rest == "" || rest[0] == '/') && slices.Contains(known, strings.TrimPrefix(rest, "/")) {
			return true
		}
	}
	return false
}

// token is how a certificate is named.
func token(method string) string {
	switch method {
	case "BSTReference":
		return "bst"
	case "KeyIdentifier":
		return "ski"
	}
	return "issuer-serial"
}

// known is the value of an algorithm, or another in its place, which is reported.
func (t *translator) known(about, what string, table map[string]string, uri, otherwise string) string {
	if v := table[uri]; v != "" {
		return v
	}
	t.w.Plan.Lost("", about, "the %s %s is not used by edigw; %s was put in its place, agree it with the partner", what, takeover.Clip(uri), otherwise)
	return otherwise
}

// told are elements that nothing is set for, and what edigw does instead.
var told = map[string]string{
	"Leg/ReceptionAwareness/MaxRetries":                                  "edigw tries 7 times with growing waits (retry.attempts), then makes a dead letter that can be replayed",
	"Leg/ReceptionAwareness/RetryInterval":                               "edigw tries 7 times with growing waits (retry.base, retry.cap)",
	"Leg/ReceptionAwareness/WaitIntervals":                               "edigw tries 7 times with growing waits (retry.base, retry.cap)",
	"Leg/ReceptionAwareness/UseDuplicateElimination":                     "edigw always recognises duplicates",
	"Leg/Protocol/UseChunking":                                           "edigw sends the length of a message",
	"Leg/DefaultDelivery/Parameter/value":                                "where received documents go is said by inbox of the partner file",
	"Leg/DefaultDelivery/DeliveryMethod":                                 "received documents lie in inbox/<id>/, or go to inbox.webhook",
	"Leg/Receipt/NotifyReceiptToBusinessApplication":                     "receipts show in the console, the API and message show",
	"Leg/UserMessageFlow/ErrorHandling/ReplyPattern":                     "errors go into the response, or where receipts go",
	"Leg/UserMessageFlow/ErrorHandling/AddSOAPFault":                     "edigw sends the error alone",
	"Leg/UserMessageFlow/ErrorHandling/ReportErrorOnError":               "edigw never answers a signal with an error",
	"Leg/UserMessageFlow/ErrorHandling/ReportErrorOnReceipt":             "edigw never answers a signal with an error",
	"Leg/UserMessageFlow/ErrorHandling/NotifyErrorToBusinessApplication": "errors show in the console, the API and message show",
}

// taken are elements that are read elsewhere, or how edigw always does it.
var taken = map[string]bool{
	"id": true, "mep": true, "mepBinding": true, "Leg": true, "Agreement/name": true, "Agreement/type": true,
	"Leg/Protocol/Address": true, "Leg/Receipt/ReplyPattern": true, "Leg/Receipt/To": true, "Leg/Receipt": true,
	"Leg/DefaultDelivery/Parameter/name":                              true,
	"Leg/PullRequestFlow/Mpc":                                         true,
	"Leg/UserMessageFlow/BusinessInfo/Action":                         true,
	"Leg/UserMessageFlow/BusinessInfo/Mpc":                            true,
	"Leg/UserMessageFlow/BusinessInfo/Service/name":                   true,
	"Leg/UserMessageFlow/BusinessInfo/Service/type":                   true,
	"Leg/UserMessageFlow/BusinessInfo/Property/name":                  true,
	"Leg/UserMessageFlow/BusinessInfo/Property/value":                 true,
	"Leg/UserMessageFlow/PayloadProfile/UseAS4Compression":            true,
	"Leg/PullRequestFlow/SecurityConfiguration/Signing/KeystoreAlias": true,
}

// rest reports every element that was not read. Passwords are not repeated.
func (t *translator) rest(p *PMode, about string) {
	for _, s := range p.Settings {
		path := s.Path
		switch {
		case strings.HasSuffix(path, "/") || taken[path]:
		case told[path] != "":
			t.w.Plan.Note("", about, "%s was %q: %s", path, takeover.Clip(s.Value), told[path])
		case path == "Leg/Protocol/SoapVersion":
			if s.Value != "1.2" {
				t.w.Plan.Lost("", about, "SOAP %s: AS4 has SOAP 1.2 alone", takeover.Clip(s.Value))
			}
		case party(path):
		case strings.Contains(path, "UsernameToken"):
			if strings.HasSuffix(path, "/username") && !strings.HasSuffix(p.first("mepBinding"), "/pull") {
				t.w.Plan.Lost("", about, "%s %q: edigw signs messages, and sends a user name with pull requests only", path, takeover.Clip(s.Value))
			}
		case s.Value == "":
			t.w.Plan.Lost("", about, "%s: edigw has nothing of that name", path)
		default:
			t.w.Plan.Lost("", about, "%s: edigw has nothing of that name; it was %q", path, takeover.Clip(s.Value))
		}
	}
}

// party reports whether a path is one of a party's that are read.
func party(path string) bool {
	side, rest, _ := strings.Cut(path, "/")
	if side != "Initiator" && side != "Responder" {
		return false
	}
	switch rest {
	case "PartyId", "Role":
		return true
	}
	for _, section := range []string{"Signing/", "Encryption/"} {
		if key, ok := strings.CutPrefix(rest, "SecurityConfiguration/"+section); ok {
			switch strings.TrimPrefix(key, "KeyTransport/") {
			case "KeystoreAlias", "Algorithm", "HashFunction", "KeyReferenceMethod", "IncludeCertificatePath", "DigestAlgorithm", "MGFAlgorithm":
				return true
			}
		}
	}
	return false
}
