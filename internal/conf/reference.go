package conf

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
)

// Reference writes the description as Markdown: a table of the plain keys,
// then one table for each section.
func (s *Schema) Reference() string {
	var b strings.Builder
	var plain, sections []*key
	for _, k := range s.keys {
		if k.shape == sectionShape || k.shape == listShape && k.item.shape == sectionShape {
			sections = append(sections, k)
		} else {
			plain = append(plain, k)
		}
	}
	if len(plain) > 0 {
		table(&b, func() {
			for _, k := range plain {
				k.row(&b, "")
			}
		})
	}
	for _, k := range sections {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", k.name, escape(k.doc))
		table(&b, func() {
			if k.shape == sectionShape && k.section.word != nil {
				fmt.Fprintf(&b, "| `%s` | `%s` | %s | in place of the section |\n", k.name, strings.Join(k.section.word.enum, "` `"), orDash(k.unset))
			}
			k.rows(&b, k.name)
		})
	}
	return b.String()
}

func table(b *strings.Builder, rows func()) {
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	rows()
}

// rows writes the rows of the keys below a section or a list of sections.
func (k *key) rows(b *strings.Builder, path string) {
	s := k.section
	if k.shape == listShape {
		s = k.item.section
		path += "[]"
	}
	for _, sub := range s.keys {
		sub.row(b, path)
	}
}

func (k *key) row(b *strings.Builder, path string) {
	full := join(path, k.name)
	nested := k.shape == sectionShape || k.shape == listShape && k.item.shape == sectionShape
	if nested {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", full, k.notation(), orDash(k.unset), escape(k.doc))
		k.rows(b, full)
		return
	}
	def := orDash(k.unset)
	switch {
	case k.required:
		def = "required"
	case k.text != "":
		def = "`" + k.text + "`"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", full, escape(k.notation()), def, escape(k.doc))
}

// notation says what may be written as the value of a key.
func (k *key) notation() string {
	var out string
	switch {
	case k.shape == rawShape:
		return "section"
	case k.shape == sectionShape:
		out = "section"
		if k.section.abbr != nil {
			out += ", or its " + k.section.abbr.name
		}
		if k.section.word != nil {
			out += ", or `" + strings.Join(k.section.word.enum, "` `") + "`"
		}
		return out
	case k.shape == listShape:
		if k.item.shape == sectionShape {
			out = "list of sections"
			if k.single {
				out = "section or list of sections"
			}
			if k.item.section.abbr != nil {
				out += ", or of their " + k.item.section.abbr.name + "s"
			}
			return out
		}
		if k.single {
			return k.item.notation() + ", or a list"
		}
		return "list of " + k.item.notation()
	case len(k.enum) > 0:
		return "`" + strings.Join(k.enum, "` `") + "`"
	}
	switch v := reflect.New(k.typ).Interface().(type) {
	case interface{ Notation() string }:
		out = v.Notation()
	case encoding.TextUnmarshaler:
		out = k.notes
	default:
		out = map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "`true` `false`", reflect.Int: "whole number", reflect.Float64: "number"}[k.typ.Kind()]
	}
	if k.minText != "" || k.maxText != "" {
		out += bounds(k.minText, k.maxText)
	}
	if k.zero != "" {
		out += ", or `" + k.zero + "`"
	}
	return out
}

func bounds(low, high string) string {
	switch {
	case high == "":
		return ", at least " + low
	case low == "":
		return ", at most " + high
	}
	return ", " + low + " to " + high
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func escape(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
