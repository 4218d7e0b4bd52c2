package as2

import (
	"errors"
	"strings"
)

// maxName is the most characters that an AS2 name may have (RFC 4130 §6.2).
const maxName = 128

// ErrName says that a value is no AS2 name.
var ErrName = errors.New("not an AS2 name: 1 to 128 printable ASCII characters")

// CheckName refuses what RFC 4130 §6.2 does not let stand in AS2-From or
// AS2-To, however it is quoted, with ErrName. Blanks at the ends are refused
// too: ParseName takes them off, so such a name could never be matched.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, " ") != name {
		return ErrName
	}
	for i := 0; i < len(name); i++ {
		if name[i] < ' ' || name[i] > '~' {
			return ErrName
		}
	}
	return nil
}

// QuoteName writes a name as it stands in a header: in quotes only if it holds
// a blank, a quote or a backslash (RFC 4130 §6.2).
func QuoteName(name string) string {
	if !strings.ContainsAny(name, ` "\`) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// ParseName reads the value of AS2-From or AS2-To and returns the name without
// quotes, to be compared byte for byte: names are case-sensitive (RFC 4130
// §6.2). Anything that cannot be a name is ErrName.
//
// It takes what partners send: needless quotes, blanks inside them at the ends,
// blanks without quotes, and the whole value quoted twice.
func ParseName(field string) (string, error) {
	name := strings.Trim(field, " \t")
	// QUIRK(as2-lib #97): the whole header value in quotes once more.
	if len(name) > 4 && strings.HasPrefix(name, `""`) && strings.HasSuffix(name, `""`) {
		name = name[1 : len(name)-1]
	}
	if strings.HasPrefix(name, `"`) {
		var ok bool
		if name, ok = unquoteName(name); !ok {
			return "", ErrName
		}
		name = strings.Trim(name, " ")
	}
	if err := CheckName(name); err != nil {
		return "", err
	}
	return name, nil
}

// unquoteName takes off the quotes and undoes the two escapes of RFC 4130 §6.2.
// Any other backslash stays what it is.
func unquoteName(s string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i == len(s)-1
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
