package intake

import (
	"crypto/sha256"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"edigw/as4/ebms"
	"edigw/partner"
	"edigw/queue"
)

// Bounds of the properties that a document may bring, of either kind.
const (
	maxProperties    = 32
	maxPropertyName  = 255  // characters
	maxPropertyValue = 1024 // characters
)

// Headers of the API that carry properties; refusals name them.
const (
	fieldMessageProperty = "Message-Property"
	fieldPartProperty    = "Part-Property"
)

// checkProperties refuses what no message header can hold.
func checkProperties(field string, list []queue.Property) error {
	if len(list) > maxProperties {
		return refuse(BadRequest, field, "There are %d properties; at most %d are taken.", len(list), maxProperties)
	}
	for i, p := range list {
		switch {
		case p.Name == "":
			return refuse(BadRequest, field, "Property %d has no name: write NAME=VALUE.", i+1)
		case flaw(p.Name, maxPropertyName) != "":
			return refuse(BadRequest, field, "The name of property %d, %.80q, %s.", i+1, p.Name, flaw(p.Name, maxPropertyName))
		case p.Value == "":
			return refuse(BadRequest, field, "Property %.80q has no value.", p.Name)
		case flaw(p.Value, maxPropertyValue) != "":
			return refuse(BadRequest, field, "The value of property %.80q %s.", p.Name, flaw(p.Value, maxPropertyValue))
		case slices.ContainsFunc(list[:i], func(o queue.Property) bool { return o.Name == p.Name }):
			return refuse(BadRequest, field, "Property %.80q is given twice.", p.Name)
		}
	}
	return nil
}

// flaw says why a text cannot stand in a message header; empty if it can.
func flaw(s string, most int) string {
	switch {
	case !utf8.ValidString(s):
		return "is no UTF-8"
	case utf8.RuneCountInString(s) > most:
		return "is too long"
	case strings.ContainsFunc(s, func(c rune) bool { return unicode.IsControl(c) || c == 0xfffe || c == 0xffff }):
		return "has control characters"
	case strings.TrimSpace(s) != s:
		return "begins or ends with a blank"
	}
	return ""
}

// fit refuses properties that do not fit the partner: his protocol has none, they
// are not the caller's to give, or one is missing.
func (a *arrival) fit() error {
	p, given := a.partner, a.r.Properties
	if p.AS4 == nil {
		switch {
		case len(given.Message) > 0:
			return refuse(NoProperties, fieldMessageProperty, "Partner %s speaks AS2, whose messages have no properties.", p.ID)
		case len(given.Part) > 0:
			return refuse(NoProperties, fieldPartProperty, "Partner %s speaks AS2, whose messages have no properties.", p.ID)
		}
		return nil
	}
	for _, one := range given.Part {
		if p.AS4.ReservedPart(one.Name) {
			return refuse(ReservedProperty, fieldPartProperty, "The part property %s is filled in by edigw for each payload: %s.", one.Name, reserved(p, one.Name))
		}
	}
	message := names(given.Message)
	if n := p.AS4.Network; n.Wrap || n.Directory {
		// The document says these itself, which is found out when it is built.
		message = append(message, ebms.Property{Name: partner.OriginalSender}, ebms.Property{Name: partner.FinalRecipient})
	}
	key, name := p.AS4.Missing(message, names(given.Part))
	field, what := fieldMessageProperty, "message"
	switch key {
	case "":
		return nil
	case "as4.part_properties":
		field, what = fieldPartProperty, "part"
	}
	return refuse(MissingProperty, field, "Partner %s needs the %s property %s with each document (%s.%s is required), and this one brings none.", p.ID, what, name, key, name)
}

func reserved(p *partner.Partner, name string) string {
	if name == p.AS4.Template.FileNameProperty {
		return "it is as4.file_name_property of partner " + p.ID + " and holds the file's name"
	}
	return "it says how the payload is packed (AS4 §3.1)"
}

// names are properties without their values.
func names(list []queue.Property) (out []ebms.Property) {
	for _, p := range list {
		out = append(out, ebms.Property{Name: p.Name})
	}
	return out
}

// identified is the digest by which a document without an envelope is known:
// with other properties it is another document. They count in no order.
func identified(content [sha256.Size]byte, p queue.Properties) [sha256.Size]byte {
	if p.None() {
		return content
	}
	text := []byte(content[:])
	for _, list := range [][]queue.Property{p.Message, p.Part} {
		list = slices.SortedFunc(slices.Values(list), func(a, b queue.Property) int { return strings.Compare(a.Name, b.Name) })
		for _, one := range list {
			text = append(text, one.Name+"\x00"+one.Value+"\x00"...) // neither has control characters
		}
		text = append(text, 0)
	}
	return sha256.Sum256(text)
}
