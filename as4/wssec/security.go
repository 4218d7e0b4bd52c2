package wssec

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// roleUltimate is the role of the last receiver, the same as none (SOAP 1.2
// part 1 §2.2).
const roleUltimate = nsSOAP + "/role/ultimateReceiver"

// NewSecurity makes an empty wsse:Security that must be understood, for the
// header of an envelope.
func NewSecurity() *etree.Element {
	e := etree.NewElement("wsse:Security")
	e.CreateAttr("xmlns:wsse", nsWSSE)
	e.CreateAttr("xmlns:wsu", nsWSU)
	e.CreateAttr("xmlns:env", nsSOAP)
	e.CreateAttr("env:mustUnderstand", "true")
	return e
}

// Security finds the wsse:Security for a role among the children of a SOAP
// header; "" is the ultimate receiver. It gives nil if there is none, and
// ErrMalformed for two (SOAP Message Security 1.1.1 §5).
func Security(header *etree.Element, role string) (*etree.Element, error) {
	if role == roleUltimate {
		role = ""
	}
	var found *etree.Element
	for _, e := range xmltree.Children(header, nsWSSE, "Security") {
		has, _ := xmltree.Attr(e, nsSOAP, "role")
		if has = strings.TrimSpace(has); has == roleUltimate {
			has = ""
		}
		if has != role {
			continue
		}
		if found != nil {
			return nil, malformed("two wsse:Security for one role")
		}
		found = e
	}
	return found, nil
}

// cidScheme begins the URI of a part (RFC 2392 §2).
const cidScheme = "cid:"

// ContentID takes the Content-ID out of a cid: URI: percent-decoded once, '+'
// stays '+' (RFC 3986 §2.1).
func ContentID(uri string) (id string, ok bool) {
	if len(uri) <= len(cidScheme) || !strings.EqualFold(uri[:len(cidScheme)], cidScheme) {
		return "", false
	}
	id, err := url.PathUnescape(uri[len(cidScheme):])
	return id, err == nil
}

// PartURI is the cid: URI of a Content-ID.
// QUIRK(WSS4J): decodes '+' to a blank, so it is written as %2B.
func PartURI(contentID string) string {
	const plain = "-._~@$&="
	var uri strings.Builder
	uri.WriteString(cidScheme)
	for i := range len(contentID) {
		c := contentID[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			uri.WriteByte(c)
		} else {
			fmt.Fprintf(&uri, "%%%02X", c)
		}
	}
	return uri.String()
}

// only gives the one child of this name.
func only(e *etree.Element, space, local string) (*etree.Element, error) {
	one, err := xmldsig.Only(e, space, local)
	if err != nil {
		return nil, malformed("%v", err)
	}
	return one, nil
}

// decode reads the base64 content of an element, which may be wrapped.
func decode(e *etree.Element) ([]byte, error) {
	b, err := xmldsig.Binary(e)
	if err != nil {
		return nil, malformed("%v", err)
	}
	return b, nil
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// maxShown bounds what is shown of a text that came from outside.
const maxShown = 200

// shown makes a text from outside fit to be shown.
func shown(text string) string {
	cut := len(text) > maxShown
	if cut {
		text = text[:maxShown]
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if cut {
		return text + "…"
	}
	return text
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func policy(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPolicy, fmt.Sprintf(format, args...))
}

func setting(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSetting, fmt.Sprintf(format, args...))
}
