package intake

import (
	"mime"
	"strings"

	"edigw/as2"
	"edigw/edi"
	"edigw/partner"
)

// maxContentType bounds a MIME type with its parameters.
const maxContentType = 255

// contentType is the MIME type of a document: the partner's if its file names
// one, else what the content is. What the caller said counts where it says the
// same more exactly (a charset), or where nothing is recognised. A document of
// several files keeps its own: its boundary takes it apart.
func contentType(p *partner.Partner, kind edi.Kind, given string) string {
	if isRelated(given) {
		return strings.TrimSpace(given)
	}
	if p.AS2 != nil && p.AS2.ContentType != "" && p.AS2.ContentType != "auto" {
		return p.AS2.ContentType
	}
	base, full := parseType(given)
	known := kind.MediaType()
	switch {
	case known != "" && base != known && !(known == "application/xml" && isXML(base)):
		return known
	case base == "":
		return "application/octet-stream"
	}
	return full
}

// isRelated reports whether a caller hands in several files as one document
// (RFC 6362).
func isRelated(given string) bool {
	_, related, _ := as2.RelatedBoundary(given)
	return related
}

func isXML(base string) bool { return base == "text/xml" || strings.HasSuffix(base, "+xml") }

// parseType reads what a caller said; what says nothing about the content is
// empty.
func parseType(given string) (base, full string) {
	base, params, err := mime.ParseMediaType(given)
	if err != nil {
		return "", ""
	}
	full = mime.FormatMediaType(base, params)
	switch {
	case full == "" || len(full) > maxContentType:
		return "", ""
	case base == "application/x-www-form-urlencoded", base == "application/octet-stream":
		return "", "" // what tools send when nobody told them
	case !strings.Contains(base, "/"), strings.HasPrefix(base, "multipart/"), strings.HasPrefix(base, "message/"):
		return "", "" // would be taken apart on the way
	}
	return base, full
}
