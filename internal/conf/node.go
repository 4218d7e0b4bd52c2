package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Kind tells what stands at a place of a file.
type Kind uint8

// Kinds of a Node.
const (
	Empty Kind = iota // the key is there, its value is not
	Scalar
	List
	Section
)

// Node is a place in a settings file with its line. Nodes are read-only once
// parsed and may be shared.
type Node struct {
	Line    int
	Kind    Kind
	Text    string // Scalar: as written, without quotes
	Quoted  bool   // Scalar: it stood in quotes, so it is text
	Items   []*Node
	Entries []Entry
}

// Entry is one key of a section.
type Entry struct {
	Key   string
	Line  int
	Value *Node
}

// Child is the value of a key of a section and the key's line, or nil.
func (n *Node) Child(key string) (*Node, int) {
	if n == nil {
		return nil, 0
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return n.Entries[i].Value, n.Entries[i].Line
		}
	}
	return nil, 0
}

// LineOf is the line of a key such as "as2.mdn.wait" or "lane.windows[1].cron",
// or of the nearest section around it that is there; 1 if there is none.
func (n *Node) LineOf(key string) int {
	line := 1
	for _, step := range strings.Split(key, ".") {
		name, rest, indexed := strings.Cut(step, "[")
		child, at := n.Child(name)
		if child == nil {
			return line
		}
		n, line = child, at
		var i int
		if !indexed {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d]", &i); err != nil || i < 0 || i >= len(n.Items) {
			return line
		}
		n = n.Items[i]
		line = n.Line
	}
	return line
}

// Hash writes what the node says, without lines, to h. A nil node writes
// nothing.
func (n *Node) Hash(h io.Writer) {
	if n == nil {
		return
	}
	fmt.Fprintf(h, "%d %q %d %d\n", n.Kind, n.Text, len(n.Items), len(n.Entries))
	for _, item := range n.Items {
		item.Hash(h)
	}
	for _, e := range n.Entries {
		fmt.Fprintf(h, "%q\n", e.Key)
		e.Value.Hash(h)
	}
}

// Has reports whether a dotted key stands in the section.
func (n *Node) Has(key string) bool {
	for _, step := range strings.Split(key, ".") {
		if n, _ = n.Child(step); n == nil {
			return false
		}
	}
	return true
}

// Parse reads one YAML document whose root is a section. Problems carry file
// as given. Refused are: more than MaxFile bytes, anchors, aliases, tags,
// merge keys, several documents, deep nesting, keys given twice. The node is
// nil only if nothing could be read.
func Parse(file string, data []byte) (*Node, []Problem) {
	t := &tree{file: file}
	if reason, line := t.refuse(data); reason != "" {
		return nil, []Problem{{File: file, Line: line, Reason: reason}}
	}
	// The parser counts a line that ends in CRLF twice.
	doc, problem := t.syntax(bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")))
	if problem != nil {
		return nil, []Problem{*problem}
	}
	root := &Node{Kind: Section, Line: 1}
	if len(doc.Docs) > 1 && doc.Docs[1].Body != nil {
		t.add(t.line(doc.Docs[1].Body), "", "several YAML documents in one file", "remove the line ---")
	}
	if len(doc.Docs) > 0 && doc.Docs[0].Body != nil {
		root = t.node(doc.Docs[0].Body, "", 0)
	}
	if root.Kind == Empty {
		root.Kind = Section
	}
	if root.Kind != Section && len(t.report.Problems) == 0 {
		t.add(root.Line, "", "the file is not a list of keys with values", "write lines such as name: value")
	}
	if root.Kind != Section {
		return nil, t.report.Problems
	}
	return root, t.report.Problems
}

// tree turns the parser's tree into nodes.
type tree struct {
	file   string
	report Report
}

func (t *tree) add(line int, key, reason, hint string) {
	t.report.Add(Problem{File: t.file, Line: line, Key: key, Reason: reason, Hint: hint})
}

// refuse looks at the bytes before the parser sees them: it recurses with the
// nesting of its input, and a stack that overflows cannot be recovered from.
func (t *tree) refuse(data []byte) (reason string, line int) {
	if len(data) > MaxFile {
		return fmt.Sprintf("the file is larger than %d bytes", MaxFile), 0
	}
	line, depth, start := 1, 0, 0
	for i, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			line, start = line+1, i+1
		case 0:
			return "the file holds a zero byte; it is no text", line
		}
		if depth > maxDepth {
			return fmt.Sprintf("more than %d brackets inside each other", maxDepth), line
		}
		if i-start > maxLine {
			return fmt.Sprintf("a line longer than %d bytes", maxLine), line
		}
		if c == '\n' {
			continue
		}
		if lead := data[start : i+1]; c == '-' || c == '?' {
			if marks := bytes.TrimLeft(lead, "-? \t"); len(marks) == 0 && bytes.Count(lead, []byte("- "))+bytes.Count(lead, []byte("? ")) > maxDepth {
				return fmt.Sprintf("more than %d lists inside each other", maxDepth), line
			}
		}
	}
	if !utf8.Valid(data) {
		return "the file is not UTF-8", 0
	}
	return "", 0
}

// syntax runs the parser. A panic of the parser on strange input is a syntax
// error of the file, not the end of the process.
func (t *tree) syntax(data []byte) (doc *ast.File, problem *Problem) {
	defer func() {
		if recover() != nil {
			problem = &Problem{File: t.file, Reason: "not valid YAML"}
		}
	}()
	doc, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return doc, nil
	}
	problem = &Problem{File: t.file, Reason: "not valid YAML: " + err.Error()}
	var at yaml.Error
	if errors.As(err, &at) {
		problem.Reason = "not valid YAML: " + at.GetMessage()
		if tk := at.GetToken(); tk != nil && tk.Position != nil {
			problem.Line = tk.Position.Line
		}
	}
	return nil, problem
}

func (t *tree) line(n ast.Node) int {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line
	}
	return 0
}

func (t *tree) node(n ast.Node, path string, depth int) *Node {
	out := &Node{Line: t.line(n), Kind: Empty}
	if depth > maxDepth {
		t.add(out.Line, path, fmt.Sprintf("more than %d sections inside each other", maxDepth), "")
		return out
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		out.Kind = Section
		for _, v := range n.Values {
			t.entry(out, v, path, depth)
		}
		if len(out.Entries) > 0 {
			out.Line = out.Entries[0].Line
		}
	case *ast.MappingValueNode:
		out.Kind = Section
		t.entry(out, n, path, depth)
	case *ast.SequenceNode:
		out.Kind = List
		for i, v := range n.Values {
			out.Items = append(out.Items, t.node(v, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case *ast.StringNode:
		out.Kind, out.Text = Scalar, strings.Clone(n.Value)
		out.Quoted = n.Token.Type.String() == "DoubleQuote" || n.Token.Type.String() == "SingleQuote"
	case *ast.LiteralNode:
		out.Kind, out.Quoted = Scalar, true
		if n.Value != nil {
			out.Text = n.Value.Value
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = Scalar, strings.Clone(n.GetToken().Value)
	case *ast.NullNode:
	default:
		t.add(out.Line, path, "anchors (&), aliases (*), tags (!) and merge keys (<<) are not supported", "write the value out")
	}
	return out
}

func (t *tree) entry(out *Node, v *ast.MappingValueNode, path string, depth int) {
	line := t.line(v.Key)
	var key string
	switch k := v.Key.(type) {
	case *ast.StringNode:
		key = strings.Clone(k.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		key = strings.Clone(v.Key.GetToken().Value)
	default:
		t.add(line, path, "a key must be a plain word", "")
		return
	}
	full := join(path, key)
	if before, at := out.Child(key); before != nil {
		t.add(line, full, fmt.Sprintf("given twice, first in line %d", at), "remove one of the two")
		return
	}
	out.Entries = append(out.Entries, Entry{Key: key, Line: line, Value: t.node(v.Value, full, depth+1)})
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
