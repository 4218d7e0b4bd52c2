package conf

import (
	"fmt"
	"reflect"
	"strings"
)

// Layer is one source of settings.
type Layer struct {
	Origin string // for people: "partner", "preset", "defaults"
	File   string // for problems
	Dir    string // relative paths begin here
	Root   *Node
	Silent bool // its mistakes were reported before
}

// BuiltIn is the origin of a value that no layer gives.
const BuiltIn = "built in"

// Setting is one effective value and where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as written; secrets are masked
	Origin string `json:"origin"` // the layer's, or BuiltIn
}

// Options steer one decoding.
type Options struct {
	Partial  bool       // required keys may be missing
	Settings *[]Setting // if not nil, takes every effective value
}

// Decode fills dst, a pointer to the described struct, from layers, the
// strongest first; what none gives has its built-in value. Sections are merged
// key by key, lists are taken whole from the strongest layer that has them.
// Mistakes go to report; the keys at fault keep their built-in values.
func (s *Schema) Decode(dst any, layers []Layer, report *Report, options Options) {
	d := &decoder{root: s, report: report, Options: options}
	places := make([]place, 0, len(layers))
	for i := range layers {
		if layers[i].Root != nil {
			places = append(places, place{layers[i].Root, &layers[i], 1})
		}
	}
	for _, p := range places {
		d.strange(s, p, "")
	}
	var owner place
	if len(layers) > 0 {
		owner = place{nil, &layers[0], 1}
		d.dir = layers[0].Dir
	}
	d.keys(reflect.ValueOf(dst).Elem(), s, places, "", owner)
}

// place is a node of a layer.
type place struct {
	*Node
	layer *Layer
	line  int // of the key that leads here
}

type decoder struct {
	Options
	root   *Schema
	report *Report
	dir    string // where built-in paths begin
}

func (d *decoder) add(p place, key, reason, hint string) {
	if !p.layer.Silent {
		d.report.Add(Problem{File: p.layer.File, Line: p.line, Key: key, Reason: reason, Hint: hint})
	}
}

// strange reports the keys of a section that the description does not know.
func (d *decoder) strange(s *Schema, p place, path string) {
	if p.layer.Silent {
		return
	}
	for _, e := range p.Entries {
		if s.find(e.Key) != nil {
			continue
		}
		at := place{e.Value, p.layer, e.Line}
		h := ""
		if near := Nearest(e.Key, s.names()); near != "" {
			h = "did you mean " + near + "?"
		} else if longer := s.begun(e.Key); longer != "" {
			h = "did you mean " + longer + "?"
		} else if below := s.home(e.Key, path); below != "" {
			h = "it belongs to " + below
		} else if home := d.root.home(e.Key, ""); home != "" {
			h = "it belongs to " + home
		} else if top := d.root.find(e.Key); top != nil {
			h = "it belongs to the top of the file"
		}
		d.add(at, join(path, e.Key), "unknown key", h)
	}
}

// keys decodes the keys of one section. Missing keys are blamed on the owner,
// the section in the strongest layer; without one, on nobody.
func (d *decoder) keys(dst reflect.Value, s *Schema, places []place, path string, owner place) {
	for _, k := range s.keys {
		var found []place
		for _, p := range places {
			if n, at := p.Child(k.name); n != nil {
				found = append(found, place{n, p.layer, at})
			}
		}
		full := join(path, k.name)
		if len(found) == 0 {
			d.absent(dst.Field(k.index), k, full, owner)
			continue
		}
		if found[0].Kind == Empty && k.shape != rawShape {
			d.add(found[0], full, "no value", "remove the key or give it a value")
			d.absent(dst.Field(k.index), k, full, place{})
			continue
		}
		d.present(dst.Field(k.index), k, found, full, owner)
	}
}

// absent gives a key that no layer has its built-in value.
func (d *decoder) absent(dst reflect.Value, k *key, path string, owner place) {
	switch {
	case k.required && !d.Partial && owner.layer != nil:
		d.add(owner, path, "missing", k.wanted())
	case k.shape == sectionShape && !k.pointer:
		d.keys(dst, k.section, nil, path, owner)
	case k.def.IsValid():
		target := k.target(dst)
		target.Set(k.def)
		if r, ok := target.Addr().Interface().(resolver); ok {
			r.resolve(d.dir)
		}
		d.note(path, k.text, BuiltIn)
	case k.unset != "":
		d.note(path, "("+k.unset+")", BuiltIn)
	}
}

// wanted says what a missing key is for.
func (k *key) wanted() string {
	if k.example != "" {
		return "write " + k.name + ": " + k.example + ", " + k.doc
	}
	return k.doc
}

// target is where the value of a key goes: dst, or what its new pointer points
// to.
func (k *key) target(dst reflect.Value) reflect.Value {
	if !k.pointer {
		return dst
	}
	dst.Set(reflect.New(k.typ))
	return dst.Elem()
}

func (d *decoder) present(dst reflect.Value, k *key, found []place, path string, owner place) {
	first := found[0]
	if first.layer == owner.layer {
		owner = first
	}
	switch k.shape {
	case rawShape:
		dst.Set(reflect.ValueOf(Raw{first.Node}))
	case listShape:
		d.list(dst, k, first, path)
	case sectionShape:
		d.section(k.target(dst), k.section, found, path, owner)
	default:
		if first.Kind != Scalar {
			d.add(first, path, "must be one value", k.notation())
			d.absent(dst, k, path, place{})
			return
		}
		d.scalar(k.target(dst), k, first, path)
	}
}

// section merges the places that hold one section; a plain value in its place
// ends the merging.
func (d *decoder) section(dst reflect.Value, s *Schema, found []place, path string, owner place) {
	first := found[0]
	if first.Kind == Scalar && s.abbr != nil {
		d.scalar(dst.Field(s.abbr.index), s.abbr, first, path)
		d.defaults(dst, s, path, s.abbr)
		return
	}
	if first.Kind == Scalar && s.word != nil && contains(s.word.enum, first.Text) {
		d.keys(dst, s, nil, path, place{})
		d.scalar(dst.Field(s.word.index), s.word, first, path)
		return
	}
	if first.Kind != Section {
		h := ""
		if s.word != nil {
			h = "or write " + strings.Join(s.word.enum, " or ")
		}
		d.add(first, path, "must be a section with keys: "+strings.Join(s.names(), ", "), h)
		d.keys(dst, s, nil, path, place{})
		return
	}
	for i, p := range found {
		if p.Kind != Section {
			found = found[:i]
			break
		}
		d.strange(s, p, path)
	}
	d.keys(dst, s, found, path, owner)
}

// defaults gives all keys of a section but one their built-in values.
func (d *decoder) defaults(dst reflect.Value, s *Schema, path string, but *key) {
	for _, k := range s.keys {
		if k != but {
			d.absent(dst.Field(k.index), k, join(path, k.name), place{})
		}
	}
}

func (d *decoder) list(dst reflect.Value, k *key, p place, path string) {
	items := p.Items
	if p.Kind != List {
		if !k.single {
			d.add(p, path, "must be a list", "write […]")
			return
		}
		items = []*Node{p.Node}
	}
	out := reflect.MakeSlice(k.typ, len(items), len(items))
	for i, n := range items {
		at := place{n, p.layer, n.Line}
		name := fmt.Sprintf("%s[%d]", path, i)
		if p.Kind != List {
			at.line = p.line
			if n.Kind != Section { // one word needs no number
				name = path
			}
		}
		switch {
		case k.item.shape == sectionShape:
			d.section(out.Index(i), k.item.section, []place{at}, name, at)
		case n.Kind != Scalar:
			d.add(at, name, "must be one value", k.item.notation())
		default:
			d.scalar(out.Index(i), k.item, at, name)
		}
	}
	dst.Set(out)
}

// resolver is a value that depends on the folder of the file that names it.
type resolver interface{ resolve(dir string) }

func (d *decoder) scalar(dst reflect.Value, k *key, p place, path string) {
	if len(k.enum) > 0 && p.Text != k.zero && !contains(k.enum, p.Text) {
		d.add(p, path, fmt.Sprintf("%q is not allowed", clip(p.Text)), hint(p.Text, k.enum))
		d.builtIn(dst, k)
		return
	}
	value := reflect.New(k.typ).Elem()
	if err := k.set(value, p.Node); err != nil {
		d.add(p, path, err.Error(), k.remedy(p.Text))
		d.builtIn(dst, k)
		return
	}
	word := k.zero != "" && p.Text == k.zero
	switch {
	case !word && k.min.IsValid() && below(value, k.min):
		d.add(p, path, clip(p.Text)+" is less than "+k.minText, "")
		d.builtIn(dst, k)
		return
	case !word && k.max.IsValid() && below(k.max, value):
		d.add(p, path, clip(p.Text)+" is more than "+k.maxText, "")
		d.builtIn(dst, k)
		return
	}
	if r, ok := value.Addr().Interface().(resolver); ok && !word {
		r.resolve(p.layer.Dir)
	}
	dst.Set(value)
	text := p.Text
	if _, ok := value.Addr().Interface().(*Secret); ok {
		text = "<secret> in " + text
	}
	d.note(path, text, p.layer.Origin)
}

// builtIn sets the built-in value, if there is one.
func (d *decoder) builtIn(dst reflect.Value, k *key) {
	if k.def.IsValid() {
		dst.Set(k.def)
	}
}

func (d *decoder) note(key, value, origin string) {
	if d.Settings != nil {
		*d.Settings = append(*d.Settings, Setting{key, value, origin})
	}
}

// remedy is a hint for a value that could not be read.
func (k *key) remedy(got string) string {
	if k.zero != "" {
		return "or the word " + k.zero
	}
	switch strings.ToLower(got) {
	case "yes", "on":
		return "did you mean true?"
	case "no", "off":
		return "did you mean false?"
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// clip shortens a value for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
