package as2

import (
	"net/url"
	"path"
	"strings"
)

// allowedURL tells whether a partner may have his receipt posted to raw:
// scheme, host and port of a listed URL, its path or one below it. Any query is
// good: partners put their own ids there. What could be read in two ways is
// not.
func allowedURL(raw string, list []string) bool {
	u, ok := plainURL(raw)
	if !ok {
		return false
	}
	for _, entry := range list {
		l, ok := plainURL(entry)
		if !ok || l.Scheme != u.Scheme || hostPort(l) != hostPort(u) {
			continue
		}
		base := strings.TrimSuffix(l.Path, "/")
		if u.Path == l.Path || u.Path == base || strings.HasPrefix(u.Path, base+"/") {
			return true
		}
	}
	return false
}

// plainURL parses an http or https URL without credentials, fragment or dots
// that climb.
func plainURL(raw string) (*url.URL, bool) {
	if !headerValue(raw) {
		return nil, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, false
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	if clean := path.Clean("/" + u.Path); strings.TrimSuffix("/"+strings.TrimPrefix(u.Path, "/"), "/") != strings.TrimSuffix(clean, "/") {
		return nil, false
	}
	if strings.ContainsAny(u.Path, `\%`) || strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return nil, false // also what a second decoding would make something else of
	}
	for _, segment := range strings.Split(u.Path, "/") {
		// Some servers drop parameters first: "..;a" climbs there.
		if dots, _, _ := strings.Cut(segment, ";"); dots != segment && strings.Trim(dots, ". \t") == "" {
			return nil, false
		}
	}
	return u, true
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}
