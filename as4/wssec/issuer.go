package wssec

import (
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxName is the longest name that is taken apart, in bytes. Real ones have a
// few hundred.
const maxName = 4 << 10

// attributeTypes are the keywords that stacks write for the types of a
// distinguished name. The first rows are those of RFC 4514 §3, the only ones
// that we write.
var attributeTypes = []struct{ keyword, oid string }{
	{"CN", "2.5.4.3"}, {"L", "2.5.4.7"}, {"ST", "2.5.4.8"}, {"O", "2.5.4.10"}, {"OU", "2.5.4.11"}, {"C", "2.5.4.6"},
	{"STREET", "2.5.4.9"}, {"DC", "0.9.2342.19200300.100.1.25"}, {"UID", "0.9.2342.19200300.100.1.1"},

	{"S", "2.5.4.8"}, {"SP", "2.5.4.8"}, {"T", "2.5.4.12"}, {"TITLE", "2.5.4.12"}, {"SN", "2.5.4.4"}, {"SURNAME", "2.5.4.4"},
	{"SERIALNUMBER", "2.5.4.5"}, {"BUSINESSCATEGORY", "2.5.4.15"}, {"POSTALCODE", "2.5.4.17"}, {"NAME", "2.5.4.41"},
	{"GIVENNAME", "2.5.4.42"}, {"GN", "2.5.4.42"}, {"G", "2.5.4.42"}, {"INITIALS", "2.5.4.43"}, {"GENERATION", "2.5.4.44"},
	{"DNQUALIFIER", "2.5.4.46"}, {"DNQ", "2.5.4.46"}, {"DN", "2.5.4.46"}, {"PSEUDONYM", "2.5.4.65"},
	{"ORGANIZATIONIDENTIFIER", "2.5.4.97"}, {"OID.2.5.4.97", "2.5.4.97"},
	{"E", "1.2.840.113549.1.9.1"}, {"EMAIL", "1.2.840.113549.1.9.1"}, {"EMAILADDRESS", "1.2.840.113549.1.9.1"},
}

const typesWritten = 9 // rows of attributeTypes

// attribute is one type and value of a distinguished name.
type attribute struct {
	oid   string
	value string
	der   []byte // the value as encoded; nil if it was read from text
}

// readName reads a Name in DER, most significant part first.
func readName(der []byte) ([]attribute, bool) {
	if len(der) > maxName {
		return nil, false
	}
	var parts []asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &parts); err != nil || len(rest) > 0 {
		return nil, false
	}
	var all []attribute
	for _, part := range parts {
		var set []struct {
			Type  asn1.ObjectIdentifier
			Value asn1.RawValue
		}
		if rest, err := asn1.UnmarshalWithParams(part.FullBytes, &set, "set"); err != nil || len(rest) > 0 {
			return nil, false
		}
		for _, a := range set {
			all = append(all, attribute{oid: a.Type.String(), value: stringOf(a.Value), der: a.Value.FullBytes})
		}
	}
	return all, true
}

// stringOf is the text of a string of any type, or its encoding in hexadecimal.
func stringOf(v asn1.RawValue) string {
	var text string
	if _, err := asn1.Unmarshal(v.FullBytes, &text); err == nil {
		return text
	}
	if v.Class == asn1.ClassUniversal && v.Tag == asn1.TagT61String && utf8.Valid(v.Bytes) {
		return string(v.Bytes)
	}
	return "#" + hex.EncodeToString(v.FullBytes)
}

// nameText writes a name as RFC 4514 §2 wants it: the most specific part
// first, types without a keyword of that standard as numbers with the encoded
// value, which every reader must know.
func nameText(der []byte) (string, bool) {
	all, ok := readName(der)
	if !ok {
		return "", false
	}
	var parts []string
	for _, a := range slices.Backward(all) {
		keyword := ""
		for _, t := range attributeTypes[:typesWritten] {
			if t.oid == a.oid {
				keyword = t.keyword
			}
		}
		if keyword == "" || strings.HasPrefix(a.value, "#") {
			parts = append(parts, a.oid+"=#"+hex.EncodeToString(a.der))
			continue
		}
		parts = append(parts, keyword+"="+escapeValue(a.value))
	}
	return strings.Join(parts, ","), true
}

// escapeValue is RFC 4514 §2.4.
func escapeValue(value string) string {
	var out strings.Builder
	for i, r := range value {
		first, last := i == 0, i+utf8.RuneLen(r) == len(value)
		switch {
		case strings.ContainsRune(`"+,;<>\=`, r), first && (r == ' ' || r == '#'), last && r == ' ':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\%02X`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// sameIssuer compares a name as text, in any spelling of RFC 4514, 2253 or
// 1779, with one in DER. It is lenient on purpose, as to order, case, blanks
// and types of strings: a match only selects which certificate to verify with.
func sameIssuer(text string, der []byte) bool {
	a, ok := parseNameText(text)
	if !ok {
		return false
	}
	b, ok := readName(der)
	return ok && slices.Equal(sorted(a), sorted(b))
}

func sorted(all []attribute) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.oid+"="+strings.Join(strings.Fields(strings.ToLower(a.value)), " "))
	}
	slices.Sort(out)
	return out
}

// blanks of XML; one at the end of a name may be escaped.
const blanks = " \t\r\n"

// parseNameText reads a name as text.
func parseNameText(text string) ([]attribute, bool) {
	if len(text) > maxName {
		return nil, false
	}
	var all []attribute
	for text = strings.TrimLeft(text, blanks); text != ""; {
		keyword, rest, ok := strings.Cut(text, "=")
		if !ok {
			return nil, false
		}
		oid, ok := typeOf(strings.TrimSpace(keyword))
		if !ok {
			return nil, false
		}
		value, rest, ok := readValue(strings.TrimLeft(rest, blanks))
		if !ok {
			return nil, false
		}
		all = append(all, attribute{oid: oid, value: value})
		text = rest
	}
	return all, len(all) > 0
}

// typeOf reads a keyword or a dotted number, which older writers prefix by "OID.".
func typeOf(keyword string) (oid string, ok bool) {
	keyword = strings.ToUpper(keyword)
	for _, t := range attributeTypes {
		if t.keyword == keyword {
			return t.oid, true
		}
	}
	keyword = strings.TrimPrefix(keyword, "OID.")
	return keyword, keyword != "" && strings.Trim(keyword, "0123456789.") == ""
}

// readValue reads a value up to the separator behind it, and gives what
// follows that.
func readValue(text string) (value, rest string, ok bool) {
	var out []byte
	quoted, literal := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			literal = true
			if b, err := hex.DecodeString(text[i+1 : min(i+3, len(text))]); err == nil && len(b) == 1 {
				out = append(out, b[0])
				i += 2
			} else {
				out = append(out, text[i+1])
				i++
			}
		case c == '"':
			quoted, literal = !quoted, true
		case !quoted && strings.IndexByte(",;+", c) >= 0:
			return finishValue(string(out), literal), strings.TrimLeft(text[i+1:], blanks), i+1 < len(text)
		default:
			out = append(out, c)
		}
	}
	return finishValue(string(out), literal), "", !quoted
}

// finishValue reads "#" with an encoded string. Blanks around a value stay:
// nothing here compares them.
func finishValue(value string, literal bool) string {
	encoded, ok := strings.CutPrefix(value, "#")
	if !ok || literal {
		return value
	}
	der, err := hex.DecodeString(strings.TrimRight(encoded, blanks))
	if err != nil {
		return value
	}
	var v asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &v); err != nil || len(rest) > 0 {
		return value
	}
	return stringOf(v)
}
