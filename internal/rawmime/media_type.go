package rawmime

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxParams is the number of parameters that one value may hold.
const maxParams = 64

// ParseMediaType splits the value of Content-Type or Content-Disposition into
// its lower-case type ("multipart/signed", "attachment") and its parameters,
// names in lower case, values unquoted and otherwise as sent. A filename*
// parameter (RFC 5987 §3.2.1) that decodes takes the place of filename.
//
// It takes what partners send: any case, no blank after ';', blanks and TABs
// anywhere, separators in unquoted values, stray characters after a value or at
// the end, the whole value in quotes. What can be read in two ways is ErrSyntax:
// a quote that does not end, control characters, one parameter with two values.
// More than 64 parameters is ErrLimit.
func ParseMediaType(v string) (mediaType string, params map[string]string, err error) {
	v = strings.Trim(v, " \t")
	if strings.IndexFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0 {
		return "", nil, fmt.Errorf("%w: control character in a media type", ErrSyntax)
	}
	first, rest, _ := strings.Cut(unquoteWhole(v), ";")
	mediaType = strings.ToLower(strings.Trim(first, " \t,"))
	major, minor, slash := strings.Cut(mediaType, "/")
	if !isToken(major) || slash && !isToken(minor) {
		return "", nil, fmt.Errorf("%w: media type is missing or not of the form type/subtype", ErrSyntax)
	}
	params, err = parseParams(rest)
	if err != nil {
		return "", nil, err
	}
	if name, ok := decodeExtended(params["filename*"]); ok {
		params["filename"] = name
	}
	return mediaType, params, nil
}

// unquoteWhole takes off the quotes around a complete value.
//
// QUIRK(unnamed product, as2-lib issue 97): `"multipart/report; boundary=\"x\""`, with the inner
// quotes escaped or not.
func unquoteWhole(v string) string {
	if !strings.HasPrefix(v, `"`) {
		return v
	}
	v = strings.TrimSuffix(strings.TrimRight(v[1:], " \t;,"), `"`)
	return strings.ReplaceAll(v, `\"`, `"`)
}

// parseParams reads "; name=value" lists.
func parseParams(s string) (map[string]string, error) {
	params := map[string]string{}
	for s != "" {
		s = strings.TrimLeft(s, " \t;,")
		end := strings.IndexAny(s, "=;")
		if end < 0 {
			break // QUIRK(unnamed product, Oxalis issue 400): stray characters at the end.
		}
		name := strings.ToLower(strings.Trim(s[:end], " \t"))
		if s[end] == ';' {
			s = s[end:] // a word without a value says nothing
			continue
		}
		value, rest, ok := cutValue(strings.TrimLeft(s[end+1:], " \t"))
		if !ok {
			return nil, fmt.Errorf("%w: quote of a parameter does not end", ErrSyntax)
		}
		s = rest
		if !isToken(name) {
			return nil, fmt.Errorf("%w: bad parameter name", ErrSyntax)
		}
		if old, ok := params[name]; ok && old != value {
			return nil, fmt.Errorf("%w: parameter %q has two values", ErrSyntax, name)
		}
		params[name] = value
		if len(params) > maxParams {
			return nil, fmt.Errorf("%w: more than %d parameters", ErrLimit, maxParams)
		}
	}
	return params, nil
}

// cutValue takes a parameter's value off the front of s and drops what stands
// between it and the next ';'.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		return strings.TrimRight(value, " \t,"), rest, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			_, rest, _ = strings.Cut(s[i+1:], ";")
			return b.String(), rest, true
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			// Only these two are unescaped: senders on Windows put bare
			// backslashes into file names.
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// decodeExtended decodes charset'language'percent-encoded text.
func decodeExtended(v string) (string, bool) {
	charset, rest, ok := strings.Cut(v, "'")
	if !ok {
		return "", false
	}
	_, encoded, ok := strings.Cut(rest, "'")
	if !ok {
		return "", false
	}
	text, err := url.PathUnescape(encoded)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(charset) {
	case "utf-8", "us-ascii":
		return text, utf8.ValidString(text)
	case "iso-8859-1":
		runes := make([]rune, 0, len(text))
		for i := 0; i < len(text); i++ {
			runes = append(runes, rune(text[i]))
		}
		return string(runes), true
	}
	return "", false
}
