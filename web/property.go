package web

import (
	"net/http"
	"net/url"
	"strings"

	"edigw/queue"
)

// Headers that carry the AS4 properties of a document, once for each.
const (
	messageProperty = "Message-Property"
	partProperty    = "Part-Property"
)

// maxPropertyLine bounds a header line before it is read: name and value, each
// byte of them percent-encoded.
const maxPropertyLine = (255+1024)*4*3 + len("=")

// properties reads headers of the form NAME=VALUE. What is not printable ASCII is
// percent-encoded on either side, and so are a percent sign and an equals sign in
// a name. What may stand in a property is the intake's to judge.
func properties(h http.Header, header string) (out []queue.Property, err error) {
	for i, line := range h.Values(header) {
		if len(line) > maxPropertyLine {
			return nil, bad(header, "Property %d is too long.", i+1)
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, bad(header, "%.80q is no property: write NAME=VALUE.", line)
		}
		p := queue.Property{}
		for _, side := range []struct {
			to   *string
			text string
		}{{&p.Name, name}, {&p.Value, value}} {
			if strings.ContainsFunc(side.text, func(c rune) bool { return c < ' ' || c > '~' }) {
				return nil, bad(header, "Property %.80q has characters beyond printable ASCII: percent-encode them as UTF-8, %%C3%%BC for ü.", line)
			}
			if *side.to, err = url.PathUnescape(side.text); err != nil {
				return nil, bad(header, "Property %.80q has a percent sign without two hexadecimal digits: write %%25 for a percent sign.", line)
			}
		}
		out = append(out, p)
	}
	return out, nil
}
