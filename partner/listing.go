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

// place is where a list stands in a settings file: a key of the file, or of
// one of its sections.
type place struct{ section, key string }

// Places of the lists that are lengthened by program.
var (
	listKeys    = place{"", "keys"}
	listVerify  = place{"certificates", "verify"}
	listEncrypt = place{"certificates", "encrypt"}
	listTrust   = place{"tls", "trust"}
	listClient  = place{"tls", "client"}
)

// String is the key as check and show name it.
func (p place) String() string {
	if p.section == "" {
		return p.key
	}
	return p.section + "." + p.key
}

// item is the text of a first item, which may stand without a list unless the
// list is that of keys.
func (p place) item(e entry) string {
	if p == listKeys {
		return "[" + string(e) + "]"
	}
	return string(e)
}

// entry is one item of a list, in flow style.
type entry string

// fileEntry is a certificate with the first day of its use, which may be
// missing.
func fileEntry(file, from string) entry {
	if from == "" {
		return entry(quoted(file))
	}
	return entry("{file: " + quoted(file) + ", from: " + from + "}")
}

// fieldsEntry is a section of fields; those without text are left out.
func fieldsEntry(fields ...[2]string) entry {
	var parts []string
	for _, f := range fields {
		if f[1] != "" {
			parts = append(parts, f[0]+": "+f[1])
		}
	}
	return entry("{" + strings.Join(parts, ", ") + "}")
}

// errLayout says that a file is written in a way that list does not edit.
var errLayout = errors.New("the lists of certificates are written in a way that is not edited by program")

// list adds an entry to a list in the text of a settings file, behind those
// that are there, and leaves every other byte alone. The error is errLayout
// unless the new text says exactly what the old one did, and the entry.
func list(text []byte, at place, e entry) ([]byte, error) {
	old, problems := conf.Parse("", text)
	if old == nil {
		return nil, errors.New(problems[0].Reason)
	}
	out, err := edited(text, at, e)
	if err != nil {
		return nil, err
	}
	got, _ := conf.Parse("", out)
	item, _ := conf.Parse("", []byte("item: "+string(e)+"\n"))
	if got == nil || item == nil {
		return nil, errLayout
	}
	added, _ := item.Child("item")
	if digestNode(got) != digestNode(listed(old, at, added)) {
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
func listed(root *conf.Node, at place, item *conf.Node) *conf.Node {
	section := root
	if at.section != "" {
		section, _ = root.Child(at.section)
		if section == nil || section.Kind == conf.Empty {
			section = &conf.Node{Kind: conf.Section}
		}
	}
	value, _ := section.Child(at.key)
	switch none := value == nil || value.Kind == conf.Empty; {
	case none && at == listKeys:
		value = &conf.Node{Kind: conf.List, Items: []*conf.Node{item}}
	case none:
		value = item
	case value.Kind == conf.List:
		value = &conf.Node{Kind: conf.List, Items: append(slices.Clone(value.Items), item)}
	default:
		value = &conf.Node{Kind: conf.List, Items: []*conf.Node{value, item}}
	}
	if at.section == "" {
		return with(root, at.key, value)
	}
	return with(root, at.section, with(section, at.key, value))
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

var plainPath = regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]*$`)

// quoted is a path that YAML reads as that text.
func quoted(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", "''") + "'"
}

// edited is the text with the entry.
func edited(text []byte, at place, e entry) ([]byte, error) {
	root, err := body(text)
	if err != nil {
		return nil, err
	}
	s := source{text, "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		s.end = "\r\n"
	}
	if at.section == "" {
		return s.extend(root, true, at, e)
	}
	_, section := root.child(at.section)
	if section == nil {
		return s.section(root, at, e)
	}
	inside := node{section}
	if _, empty := section.(*ast.NullNode); empty {
		return s.fill(root, at.section, "{"+at.key+": "+at.item(e)+"}"), nil
	}
	if !inside.mapping() {
		return nil, errLayout
	}
	return s.extend(inside, false, at, e)
}

// section adds a section with the list at the end of the document.
func (s source) section(root node, at place, e entry) ([]byte, error) {
	if root.flow() {
		return s.intoFlow(root.at(s), at.section+": {"+at.key+": "+at.item(e)+"}")
	}
	indent := strings.Repeat(" ", root.column()-1)
	return s.line(s.bottom(), indent+at.section+":"+s.end+indent+"  "+at.key+": "+at.item(e)), nil
}

// extend adds the entry to the list inside a section, or inside the root.
func (s source) extend(inside node, root bool, at place, e entry) ([]byte, error) {
	_, value := inside.child(at.key)
	if value == nil {
		if inside.flow() {
			return s.intoFlow(inside.at(s), at.key+": "+at.item(e))
		}
		column := inside.column()
		bottom := s.bottom()
		if !root {
			bottom = s.below(inside.at(s), column)
		}
		return s.line(bottom, strings.Repeat(" ", column-1)+at.key+": "+at.item(e)), nil
	}
	if _, empty := value.(*ast.NullNode); empty {
		return s.fill(inside, at.key, at.item(e)), nil
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
