package partner

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"edigw/internal/conf"
)

// entry is one line of a list of certificates.
type entry struct{ file, from string } // from may be empty

// errLayout says that a file is written in a way that list does not edit.
var errLayout = errors.New("the lists of certificates are written in a way that is not edited by program")

// list adds an entry to certificates.<use> in the text of a partner file, behind
// those that are there, and leaves every other byte alone. The error is
// errLayout unless the new text says exactly what the old one did, and the
// entry.
func list(text []byte, use string, e entry) ([]byte, error) {
	old, problems := conf.Parse("", text)
	if old == nil {
		return nil, errors.New(problems[0].Reason)
	}
	out, err := edited(text, use, e)
	if err != nil {
		return nil, err
	}
	got, _ := conf.Parse("", out)
	if digestNode(got) != digestNode(listed(old, use, e.node())) {
		return nil, errLayout
	}
	return out, nil
}

// linesOf is text as the parser counts its lines right.
func linesOf(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

func digestNode(n *conf.Node) [sha256.Size]byte {
	h := sha256.New()
	n.Hash(h)
	return [sha256.Size]byte(h.Sum(nil))
}

// listed is the tree that the new text must have.
func listed(root *conf.Node, use string, item *conf.Node) *conf.Node {
	section, _ := root.Child("certificates")
	if section == nil || section.Kind == conf.Empty {
		section = &conf.Node{Kind: conf.Section}
	}
	value, _ := section.Child(use)
	switch {
	case value == nil, value.Kind == conf.Empty:
		value = item
	case value.Kind == conf.List:
		value = &conf.Node{Kind: conf.List, Items: append(slices.Clone(value.Items), item)}
	default:
		value = &conf.Node{Kind: conf.List, Items: []*conf.Node{value, item}}
	}
	return with(root, "certificates", with(section, use, value))
}

// with is n with another value of a key, at its end if it is new.
func with(n *conf.Node, key string, value *conf.Node) *conf.Node {
	out := *n
	out.Entries = slices.Clone(n.Entries)
	for i := range out.Entries {
		if out.Entries[i].Key == key {
			out.Entries[i].Value = value
			return &out
		}
	}
	out.Entries = append(out.Entries, conf.Entry{Key: key, Value: value})
	return &out
}

func (e entry) node() *conf.Node {
	file := &conf.Node{Kind: conf.Scalar, Text: e.file}
	if e.from == "" {
		return file
	}
	from := &conf.Node{Kind: conf.Scalar, Text: e.from}
	return &conf.Node{Kind: conf.Section, Entries: []conf.Entry{{Key: "file", Value: file}, {Key: "from", Value: from}}}
}

// String is the entry as it can stand in a list of either style.
func (e entry) String() string {
	if e.from == "" {
		return quoted(e.file)
	}
	return "{file: " + quoted(e.file) + ", from: " + e.from + "}"
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]*$`)

// quoted is a path that YAML reads as that text.
func quoted(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", "''") + "'"
}

// edited is the text with the entry.
func edited(text []byte, use string, e entry) ([]byte, error) {
	root, err := body(text)
	if err != nil {
		return nil, err
	}
	s := source{text, "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		s.end = "\r\n"
	}
	_, section := root.child("certificates")
	if section == nil {
		at, indent := s.bottom(), strings.Repeat(" ", root.column()-1)
		if root.flow() {
			return s.intoFlow(root.at(s), "certificates: {"+use+": "+e.String()+"}")
		}
		return s.line(at, indent+"certificates:"+s.end+indent+"  "+use+": "+e.String()), nil
	}
	inside := node{section}
	if _, empty := section.(*ast.NullNode); empty {
		return s.fill(root, "certificates", "{"+use+": "+e.String()+"}"), nil
	}
	if !inside.mapping() {
		return nil, errLayout
	}
	_, value := inside.child(use)
	if value == nil {
		if inside.flow() {
			return s.intoFlow(inside.at(s), use+": "+e.String())
		}
		column := inside.column()
		return s.line(s.below(inside.at(s), column), strings.Repeat(" ", column-1)+use+": "+e.String()), nil
	}
	if _, empty := value.(*ast.NullNode); empty {
		return s.fill(inside, use, e.String()), nil
	}
	return s.lengthen(node{value}, e)
}

// body is the tree of the file; one without any key is empty.
func body(text []byte) (node, error) {
	file, err := parser.ParseBytes(bytes.TrimPrefix(linesOf(text), byteOrderMark), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return node{}, err
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return node{&ast.MappingNode{}}, nil
	}
	n := node{file.Docs[0].Body}
	if !n.mapping() {
		return n, errLayout
	}
	return n, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// node is a place in the parser's tree.
type node struct{ ast.Node }

func (n node) mapping() bool {
	switch n.Node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func (n node) entries() []*ast.MappingValueNode {
	switch n := n.Node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// child is the key of that name and its value, nil if there is none.
func (n node) child(name string) (ast.Node, ast.Node) {
	for _, e := range n.entries() {
		if key, ok := e.Key.(*ast.StringNode); ok && key.Value == name {
			return key, e.Value
		}
	}
	return nil, nil
}

func (n node) flow() bool {
	switch n := n.Node.(type) {
	case *ast.MappingNode:
		return n.IsFlowStyle
	case *ast.SequenceNode:
		return n.IsFlowStyle
	}
	return false
}

// first is the node whose token begins n: a block mapping begins with its
// first key.
func (n node) first() ast.Node {
	if e := n.entries(); len(e) > 0 && !n.flow() {
		return e[0].Key
	}
	return n.Node
}

// at is where n begins in the text.
func (n node) at(s source) int { return s.offset(n.first()) }

// column is where n begins in its line, from 1.
func (n node) column() int {
	if tk := n.first().GetToken(); tk != nil {
		return tk.Position.Column
	}
	return 1
}

// offset is where a node begins in the text. The parser counts lines and, in
// them, characters.
func (s source) offset(n ast.Node) int {
	p := n.GetToken().Position
	at := len(s.text) - len(bytes.TrimPrefix(s.text, byteOrderMark))
	for range p.Line - 1 {
		at = s.next(at)
	}
	for range p.Column - 1 {
		_, size := utf8.DecodeRune(s.text[at:])
		at += size
	}
	return at
}
