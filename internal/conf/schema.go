package conf

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Raw is a part of a file that is kept as it is, to be decoded later.
type Raw struct{ Node *Node }

// Schema describes a section: the keys that may stand in it.
type Schema struct {
	typ  reflect.Type
	keys []*key
	word *key // words that may stand in place of the section
	abbr *key // key that a plain value in place of the section sets
}

type shape uint8

const (
	scalarShape shape = iota
	sectionShape
	listShape
	rawShape
)

// key describes one key of a section, or one item of a list.
type key struct {
	name     string
	index    int
	typ      reflect.Type // of the value, without pointer
	pointer  bool
	shape    shape
	section  *Schema // sectionShape
	item     *key    // listShape
	enum     []string
	zero     string
	unset    string
	doc      string
	notes    string // notation, where the type does not tell
	example  string
	text     string // default, as written
	def      reflect.Value
	min, max reflect.Value
	minText  string
	maxText  string
	required bool
	single   bool
}

// Describe reads the description of a section from a struct. An error is a
// mistake in the struct, not in a file.
func Describe(v any) (*Schema, error) {
	return describe(reflect.TypeOf(v))
}

func describe(t reflect.Type) (*Schema, error) {
	s := &Schema{typ: t}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if words := f.Tag.Get("word"); words != "" {
			s.word = &key{index: i, typ: f.Type, enum: strings.Fields(words)}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		k, err := describeKey(f, name)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		k.index, k.single = i, options == "single"
		if options == "short" {
			s.abbr = k
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

func describeKey(f reflect.StructField, name string) (*key, error) {
	k := &key{
		name: name, typ: f.Type, doc: f.Tag.Get("doc"), example: f.Tag.Get("example"), notes: f.Tag.Get("notation"),
		enum: strings.Fields(f.Tag.Get("enum")), zero: f.Tag.Get("zero"), unset: f.Tag.Get("unset"),
		required: f.Tag.Get("required") == "yes", text: f.Tag.Get("default"),
		minText: f.Tag.Get("min"), maxText: f.Tag.Get("max"),
	}
	if err := k.classify(); err != nil {
		return nil, err
	}
	for _, tag := range []struct {
		text string
		dst  *reflect.Value
	}{{k.text, &k.def}, {k.minText, &k.min}, {k.maxText, &k.max}} {
		if tag.text == "" {
			continue
		}
		if k.shape != scalarShape {
			return nil, fmt.Errorf("bounds and defaults belong to scalars")
		}
		*tag.dst = reflect.New(k.typ).Elem()
		if err := k.set(*tag.dst, &Node{Kind: Scalar, Text: tag.text}); err != nil {
			return nil, fmt.Errorf("%q: %w", tag.text, err)
		}
	}
	return k, nil
}

// classify finds the shape of a key from its type.
func (k *key) classify() error {
	if k.typ.Kind() == reflect.Pointer {
		k.typ, k.pointer = k.typ.Elem(), true
	}
	_, custom := reflect.New(k.typ).Interface().(encoding.TextUnmarshaler)
	switch {
	case k.typ == reflect.TypeFor[Raw]():
		k.shape = rawShape
	case custom:
		k.shape = scalarShape
	case k.typ.Kind() == reflect.Struct:
		k.shape = sectionShape
		section, err := describe(k.typ)
		k.section = section
		return err
	case k.typ.Kind() == reflect.Slice:
		k.shape = listShape
		k.item = &key{typ: k.typ.Elem(), enum: k.enum, doc: k.doc}
		return k.item.classify()
	case k.typ.Kind() == reflect.String, k.typ.Kind() == reflect.Bool, k.typ.Kind() == reflect.Int, k.typ.Kind() == reflect.Float64:
	default:
		return fmt.Errorf("cannot decode into %s", k.typ)
	}
	return nil
}

// set parses a scalar into dst. The error is for people and does not repeat
// the value.
func (k *key) set(dst reflect.Value, n *Node) error {
	if k.zero != "" && n.Text == k.zero {
		dst.SetZero()
		return nil
	}
	if v, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return v.UnmarshalText([]byte(n.Text))
	}
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(n.Text)
	case reflect.Bool:
		if n.Quoted || n.Text != "true" && n.Text != "false" {
			return fmt.Errorf("not true or false")
		}
		dst.SetBool(n.Text == "true")
	case reflect.Int:
		v, err := strconv.Atoi(n.Text)
		if err != nil {
			return fmt.Errorf("not a whole number")
		}
		dst.SetInt(int64(v))
	case reflect.Float64:
		v, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || v != v {
			return fmt.Errorf("not a number")
		}
		dst.SetFloat(v)
	}
	return nil
}

// below reports whether a is less than b; both have the type of one key.
func below(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanFloat():
		return a.Float() < b.Float()
	}
	return false
}

func (s *Schema) names() []string {
	out := make([]string, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.name
	}
	return out
}

// find is the key of that name, or nil.
func (s *Schema) find(name string) *key {
	for _, k := range s.keys {
		if k.name == name {
			return k
		}
	}
	return nil
}

// begun is the key that begins with the word: password_file for password.
func (s *Schema) begun(word string) string {
	for _, k := range s.keys {
		if strings.HasPrefix(k.name, word+"_") {
			return k.name
		}
	}
	return ""
}

// home is the dotted path of the first key of that name anywhere below, or "".
func (s *Schema) home(name, path string) string {
	for _, k := range s.keys {
		if k.name == name && path != "" {
			return path + "." + name
		}
	}
	for _, k := range s.keys {
		if k.shape == sectionShape {
			if found := k.section.home(name, join(path, k.name)); found != "" {
				return found
			}
		}
	}
	return ""
}
