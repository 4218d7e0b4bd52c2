package as4

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// names gives what a message calls its parts. All of it follows from the
// MessageId, so that a rebuild names everything as before: receipts for either
// build fit both.
type names struct{ tag, domain string }

func namesOf(messageID string) names {
	sum := sha256.Sum256([]byte(messageID))
	n := names{tag: strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20])), domain: "edigw"}
	if _, domain, ok := strings.Cut(messageID, "@"); ok && plainDomain(domain) {
		n.domain = domain
	}
	return n
}

// root is the Content-ID of the envelope, bare.
func (n names) root() string { return "root-" + n.tag + "@" + n.domain }

// part is the Content-ID of the i-th attachment, from 1, bare.
// QUIRK(WSS4J): reads a plus sign in a cid: URL as a blank, and others disagree
// on what else must be escaped, so only what nobody escapes is in it.
func (n names) part(i int) string { return fmt.Sprintf("part%d-%s@%s", i, n.tag, n.domain) }

// element is the wsu:Id of an element: an NCName, since its kind begins it.
// QUIRK(Holodeck, as4 on PyPI): an id that begins with a digit breaks schema
// validation at the receiver.
func (n names) element(kind string) string { return kind + "-" + n.tag }

// plainDomain reports whether s can stand in a Content-ID as it is.
func plainDomain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return s != ""
}
