package partner

import (
	"fmt"
	"slices"
	"strings"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/internal/conf"
)

// Bounds of the properties of a partner file.
const (
	maxProperties    = 100
	maxPropertyValue = 1024 // characters
)

// namedProperty is a property as the layers say it together; without a value it
// is left to each document.
type namedProperty struct {
	ebms.Property
	required *bool // nil: nobody said; what needs a value must have one, here or of the document
	blank    bool  // somebody wrote a value, and it is empty
	origin   string
}

// must reports whether a message without it is not sent.
func (p namedProperty) must() bool { return p.required != nil && *p.required }

// Message properties that name the two ends of a four-corner exchange.
const (
	OriginalSender = "originalSender"
	FinalRecipient = "finalRecipient"
)

// OwnProperty is a property that a partner file leaves to each document: its value
// comes with the document.
type OwnProperty struct {
	Name     string
	Type     string // of the value; empty: none
	Required bool   // a document without it is not sent
}

// With is a P-Mode of the partner for one document that brings properties of its
// own: they take the place of the partner file's, and have its types. Part
// properties stand on each payload.
func (a *AS4) With(p as4.PMode, message, part []ebms.Property) as4.PMode {
	p.Properties = as4.Merged(p.Properties, withTypes(message, a.Own))
	p.PartProperties = as4.Merged(p.PartProperties, withTypes(part, a.OwnParts))
	return p
}

// something is what a rule wants that is content with any value: that of a property
// may come with each document.
func (m must) something() string {
	if _, _, ok := propertyKey(m.key); ok {
		return "a value, or required: true"
	}
	return "a value"
}

// has reports whether a key that a rule wants is there: of a property its value, or
// that each document must bring it.
func (d *draft) has(key string) bool {
	section, name, ok := propertyKey(key)
	if !ok {
		return d.given(key)
	}
	list := d.file.AS4.properties
	if section == "as4.part_properties" {
		list = d.file.AS4.partProperties
	}
	return slices.ContainsFunc(list, func(p namedProperty) bool { return p.Name == name && (p.Value != "" || p.must()) })
}

// propertyKey takes the key of one property apart.
func propertyKey(key string) (section, name string, ok bool) {
	for _, section := range []string{"as4.properties", "as4.part_properties"} {
		if name, ok := strings.CutPrefix(key, section+"."); ok {
			return section, name, true
		}
	}
	return "", "", false
}

// withTypes are a document's properties with the types that are settled for them.
func withTypes(list []ebms.Property, own []OwnProperty) []ebms.Property {
	list = slices.Clone(list)
	for i := range list {
		if at := slices.IndexFunc(own, func(o OwnProperty) bool { return o.Name == list[i].Name }); at >= 0 && list[i].Type == "" {
			list[i].Type = own[at].Type
		}
	}
	return list
}

// Missing names the first property that must be there and is in neither list: its
// key in the partner file and its name; empty if there is none.
func (a *AS4) Missing(message, part []ebms.Property) (key, name string) {
	for _, side := range []struct {
		key   string
		own   []OwnProperty
		given []ebms.Property
	}{{"as4.properties", a.Own, message}, {"as4.part_properties", a.OwnParts, part}} {
		for _, o := range side.own {
			if o.Required && !slices.ContainsFunc(side.given, func(p ebms.Property) bool { return p.Name == o.Name }) {
				return side.key, o.Name
			}
		}
	}
	return "", ""
}

// ReservedPart reports whether a part property is not for documents to give: edigw
// fills it in for each payload.
func (a *AS4) ReservedPart(name string) bool {
	return ofMSH(name) || name != "" && name == a.Template.FileNameProperty
}

// ofMSH reports whether a part property is one that the two sides tell each other
// about a payload (AS4 §3.1).
func ofMSH(name string) bool {
	return slices.Contains([]string{ebms.MimeType, ebms.CharacterSet, ebms.CompressionType}, name)
}

// properties reads a section of properties. Like other sections it is merged key
// by key: a profile may give the type, the partner file the value.
func (d *draft) properties(key string) (out []namedProperty) {
	for _, l := range d.layers {
		n := nodeAt(l.Root, key)
		if n == nil {
			continue
		}
		if n.Kind != conf.Section {
			d.propertyFault(l, key, "name: value", "must be a section of names and values")
			return out
		}
		for _, e := range n.Entries {
			p, ok := d.property(l, key+"."+e.Key, e)
			i := slices.IndexFunc(out, func(o namedProperty) bool { return o.Name == p.Name })
			switch {
			case !ok:
			case i < 0:
				out = append(out, p)
			default:
				out[i].below(p)
			}
		}
	}
	if len(out) > maxProperties {
		d.problem(key, "", "more than %d properties", maxProperties)
		out = out[:maxProperties]
	}
	return out
}

// below fills in what a lower layer says.
func (p *namedProperty) below(lower namedProperty) {
	if p.Type == "" {
		p.Type = lower.Type
	}
	if p.required == nil {
		p.required = lower.required
	}
	if p.Value == "" && lower.Value != "" {
		p.Value, p.origin = lower.Value, lower.origin
	}
}

// property reads one: a value, or a section of value, type and required.
func (d *draft) property(l conf.Layer, key string, e conf.Entry) (p namedProperty, ok bool) {
	p = namedProperty{Property: ebms.Property{Name: e.Key}, origin: l.Origin}
	switch e.Value.Kind {
	case conf.Scalar:
		p.Value, p.blank = e.Value.Text, e.Value.Text == ""
	case conf.Section:
		for _, sub := range e.Value.Entries {
			if !p.read(sub) {
				d.propertyFault(l, key, "the value alone, or a section of value, type and required: true", "holds something else than value, type and required")
				return p, false
			}
		}
	default:
		d.propertyFault(l, key, "the value alone; {required: true} if each document brings its own", "has no value")
		return p, false
	}
	if bad := unwritable(p.Name, p.Value, p.Type); bad != "" {
		d.propertyFault(l, key, "", "%s", bad)
		return p, false
	}
	return p, true
}

// read takes one key of a property's section.
func (p *namedProperty) read(e conf.Entry) bool {
	if e.Value.Kind != conf.Scalar {
		return false
	}
	switch text := e.Value.Text; {
	case e.Key == "value":
		p.Value, p.blank = text, text == ""
	case e.Key == "type":
		p.Type = text
	case e.Key == "required" && (text == "true" || text == "false"):
		must := text == "true"
		p.required = &must
	default:
		return false
	}
	return true
}

// propertyFault notes a mistake, unless it is another file's, which was told of
// where that was read.
func (d *draft) propertyFault(l conf.Layer, key, hint, format string, args ...any) {
	if !l.Silent {
		d.problem(key, hint, format, args...)
	}
}

// unwritable says why texts cannot stand in a message header, empty if they can.
func unwritable(list ...string) string {
	for _, s := range list {
		switch {
		case len([]rune(s)) > maxPropertyValue:
			return fmt.Sprintf("longer than %d characters", maxPropertyValue)
		case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff }):
			return "holds control characters"
		case strings.TrimSpace(s) != s:
			return "begins or ends with a blank"
		}
	}
	return ""
}

// written are the properties that have a value.
func written(list []namedProperty) (out []ebms.Property) {
	for _, p := range list {
		if p.Value != "" {
			out = append(out, p.Property)
		}
	}
	return out
}

// unset are the properties without a value that the partner file says something
// about.
func unset(list []namedProperty) (out []OwnProperty) {
	for _, p := range list {
		if p.Value == "" {
			out = append(out, OwnProperty{Name: p.Name, Type: p.Type, Required: p.must()})
		}
	}
	return out
}

// propertySettings are the properties for the list of effective settings.
func propertySettings(key string, list []namedProperty) (out []Setting) {
	for _, p := range list {
		value := p.Value
		if value == "" {
			value = "(each document's)"
		}
		out = append(out, Setting{Key: key + "." + p.Name, Value: value, Origin: p.origin})
		if p.Type != "" {
			out = append(out, Setting{Key: key + "." + p.Name + ".type", Value: p.Type, Origin: p.origin})
		}
		if p.required != nil {
			out = append(out, Setting{Key: key + "." + p.Name + ".required", Value: truth(p.must()), Origin: p.origin})
		}
	}
	return out
}
