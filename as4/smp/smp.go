// Package smp reads what the directory of a network such as Peppol says about a
// receiver: under which name the Service Metadata Publisher (SMP) of a
// participant is found in the SML's zone of DNS, which document is asked of it,
// and what its signed answer says (Peppol SMP 1.4, OASIS SMP 1.0).
//
// It asks nobody: no DNS, no HTTP. What was not signed by an SMP below a pinned
// authority is not read.
package smp

import (
	"crypto/md5" // SML 1.0 §3.1.3 makes names with it; nothing is protected by it
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// TransportAS4 is the transport profile of Peppol AS4 2.0.
const TransportAS4 = "peppol-transport-as4-v2_0"

// ServiceSMP is the service of NAPTR records that name an SMP.
const ServiceSMP = "Meta:SMP"

// ID is an identifier with its scheme.
type ID struct{ Scheme, Value string }

// String is scheme::value.
func (i ID) String() string { return i.Scheme + "::" + i.Value }

// same compares identifiers of participants: they are case-insensitive (Policy
// for use of identifiers 4.3, policy 1).
func (i ID) same(o ID) bool {
	return strings.EqualFold(i.Scheme, o.Scheme) && strings.EqualFold(i.Value, o.Value)
}

// Check refuses an identifier under which nobody could be looked up.
func (i ID) Check() error {
	switch {
	case i.Scheme == "" || i.Value == "":
		return fmt.Errorf("the identifier %.100q has no scheme or no value", i.String())
	case len(i.Scheme) > 63 || len(i.Value) > 512:
		return fmt.Errorf("the identifier %.100q is too long", i.String())
	case strings.ContainsFunc(i.String(), func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("the identifier %.100q holds blanks or control characters", i.String())
	case strings.ContainsAny(i.Scheme, "./\\@:?#%"):
		return fmt.Errorf("the scheme %.100q of an identifier cannot stand in a name of DNS", i.Scheme)
	}
	return nil
}

// NameNAPTR is the name under which the NAPTR record of a participant stands.
func NameNAPTR(participant ID, zone string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(participant.Value)))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])) + "." + strings.ToLower(participant.Scheme) + "." + trim(zone)
}

// NameCNAME is the older form: a host name that leads to the SMP by itself.
func NameCNAME(participant ID, zone string) string {
	sum := md5.Sum([]byte(strings.ToLower(participant.Value)))
	return "b-" + hex.EncodeToString(sum[:]) + "." + strings.ToLower(participant.Scheme) + "." + trim(zone)
}

func trim(zone string) string { return strings.ToLower(strings.Trim(zone, ".")) }

// FromNAPTR takes the SMP's URL out of the regexp field of a NAPTR record. Only
// an expression that replaces all is taken (RFC 4848 §2.2).
func FromNAPTR(regexp string) (string, error) {
	if len(regexp) < 4 || len(regexp) > 1024 {
		return "", fmt.Errorf("the NAPTR record has no regexp")
	}
	parts := strings.Split(regexp[1:], regexp[:1])
	if len(parts) != 3 || strings.Trim(parts[2], "iI") != "" || parts[0] != ".*" && parts[0] != "^.*$" {
		return "", fmt.Errorf("the regexp %.200q of the NAPTR record is not one that gives a URL whole", regexp)
	}
	return CheckURL(parts[1])
}

// CheckURL holds the URL of an SMP to http and https.
func CheckURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return "", fmt.Errorf("%.200q is not the http or https URL of an SMP", text)
	}
	return text, nil
}

// URL is where an SMP answers about a document type of a participant.
func URL(base string, participant, document ID) string {
	return strings.TrimRight(base, "/") + "/" + escape(participant.String()) + "/services/" + escape(document.String())
}

// escape writes all but unreserved characters as %XX (RFC 3986 §2.3).
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
