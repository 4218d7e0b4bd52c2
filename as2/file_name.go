package as2

import (
	"mime"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFileName is the longest file name that is sent or taken, in bytes.
const maxFileName = 200

// cleanFileName makes of a partner's file name one that is safe to show and to
// create: RFC 2047 words are decoded, folders of either system are cut off,
// control characters and separators become "_", leading dots go, the length is
// bounded. What leaves nothing usable is "".
func cleanFileName(name string) string {
	// QUIRK(OpenAS2 #382): RFC 2047 words inside the parameter.
	if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		name = decoded
	}
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(name), "."))
	name = clip(name, maxFileName)
	if strings.Trim(name, "_") == "" {
		return ""
	}
	return name
}

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

// clip cuts s to at most n bytes without splitting a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
