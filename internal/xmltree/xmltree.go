// Package xmltree reads XML from outside into a tree that signatures can be
// checked on, and writes the canonical form of its parts.
//
// It refuses what SOAP forbids and what parsers were broken with: document type
// declarations, processing instructions, encodings other than UTF-8, names that
// are no QNames, undeclared prefixes, and whatever exceeds its limits. Attribute
// values are normalised as XML 1.0 §3.3.3 wants, which encoding/xml leaves out.
// The trees are those of beevik/etree; nothing here changes one.
//
// A document passes three stages, and must pass all of them: the guard walks its
// bytes, etree builds the tree with encoding/xml, the namespaces are checked on
// the tree. What counts afterwards is the tree alone. Of encoding/xml this is
// relied on: that it splits names at their one colon, decodes references, and
// refuses names with characters that XML 1.0 (fourth edition) does not have. It is not
// relied on for namespaces, line ends, limits, or the order of declaration, root
// and comments. The paths of etree and its idea of namespaces are not used.
package xmltree

import (
	"errors"
	"fmt"

	"github.com/beevik/etree"
)

// Errors of Parse. Each is wrapped with what was found and where.
var (
	ErrDTD         = errors.New("a document type declaration (DTD) is not allowed")
	ErrInstruction = errors.New("a processing instruction is not allowed")
	ErrLimit       = errors.New("the XML is beyond a limit")
	ErrSyntax      = errors.New("the XML is not well-formed")
)

// Limits bounds what Parse takes. A zero field means its default.
type Limits struct {
	Bytes      int // of the whole document; 4 MiB
	Depth      int // nesting: elements inside one another; 100
	Elements   int // in all; 20,000
	Attributes int // of one element, namespaces included; 200
	Scope      int // attributes of an element and of all that it stands in; 2,000
	Namespace  int // bytes of the name of a namespace, as it is written; 1,000
}

// Method is a canonicalization algorithm with its parameters.
type Method struct {
	Inclusive bool     // Canonical XML 1.0 instead of Exclusive XML Canonicalization 1.0
	Comments  bool     // keep comments
	Prefixes  []string // InclusiveNamespaces PrefixList of the exclusive form; "#default" is the default namespace
}

// Parse reads a whole document. A byte order mark and an XML declaration with
// version 1.0 and encoding UTF-8, in whatever letter case, may stand first; the
// tree holds neither. Errors are ErrDTD, ErrInstruction, ErrLimit or ErrSyntax
// with the line; data is not kept.
func Parse(data []byte, l Limits) (*etree.Document, error) {
	clean, err := guard(data, l.withDefaults())
	if err != nil {
		return nil, err
	}
	d := etree.NewDocument()
	// Duplicates are kept for the check of namespaces to find: etree would let
	// the last one win.
	d.ReadSettings.PreserveDuplicateAttrs = true
	d.ReadSettings.MaxDepth = l.withDefaults().Depth
	if err := d.ReadFromBytes(clean); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if err := checkNamespaces(d.Root()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return d, nil
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Bytes, 4 << 20}, {&l.Depth, 100}, {&l.Elements, 20_000}, {&l.Attributes, 200}, {&l.Scope, 2_000}, {&l.Namespace, 1_000}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}
