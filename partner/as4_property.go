package partner

import (
	"fmt"
	"slices"
	"strings"

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
	origin string
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
			case out[i].Type == "":
				out[i].Type = p.Type
				fallthrough
			default:
				if out[i].Value == "" {
					out[i].Value, out[i].origin = p.Value, p.origin
				}
			}
		}
	}
	if len(out) > maxProperties {
		d.problem(key, "", "more than %d properties", maxProperties)
		out = out[:maxProperties]
	}
	return out
}

// property reads one: a value, or a section of value and type.
func (d *draft) property(l conf.Layer, key string, e conf.Entry) (p namedProperty, ok bool) {
	p = namedProperty{Property: ebms.Property{Name: e.Key}, origin: l.Origin}
	switch e.Value.Kind {
	case conf.Scalar:
		p.Value = e.Value.Text
	case conf.Section:
		for _, sub := range e.Value.Entries {
			to := map[string]*string{"value": &p.Value, "type": &p.Type}[sub.Key]
			if to == nil || sub.Value.Kind != conf.Scalar {
				d.propertyFault(l, key, "the value alone, or value and type", "holds something else than value and type")
				return p, false
			}
			*to = sub.Value.Text
		}
	default:
		d.propertyFault(l, key, "the value alone, or value and type", "has no value")
		return p, false
	}
	if bad := unwritable(p.Name, p.Value, p.Type); bad != "" {
		d.propertyFault(l, key, "", "%s", bad)
		return p, false
	}
	return p, true
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
	}
	return out
}
