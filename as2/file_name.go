package as2

import (
	"net/url"
	"strings"
)

// fileNameParameter writes the filename parameter of Content-Disposition; one
// beyond ASCII also in the form of RFC 5987, behind a spelling for old readers.
func fileNameParameter(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	p := `filename="` + plain + `"`
	if strings.IndexFunc(name, func(r rune) bool { return r > '~' }) >= 0 {
		p += "; filename*=UTF-8''" + strings.ReplaceAll(url.PathEscape(name), "'", "%27")
	}
	return p
}
