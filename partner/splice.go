package partner

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// source is the text of a settings file and how its lines end.
type source struct {
	text []byte
	end  string
}

// put replaces text[from:to].
func (s source) put(from, to int, text string) []byte {
	return slices.Concat(s.text[:from], []byte(text), s.text[to:])
}

// next is where the line behind the one at begins.
func (s source) next(at int) int {
	if i := bytes.IndexByte(s.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s.text)
}

// line puts a line at the beginning of another, or at the end of the text.
func (s source) line(at int, text string) []byte {
	if at > 0 && s.text[at-1] != '\n' {
		return s.put(at, at, s.end+text)
	}
	return s.put(at, at, text+s.end)
}

// endMark ends a document or begins the next one.
var endMark = regexp.MustCompile(`(?m)^(\.\.\.|---)(\s|$)`)

// content reports whether there is more in text than blanks and comments.
var content = regexp.MustCompile(`(?m)^[ \t]*[^\s#]`)

// bottom is where a key at the end of the document goes.
func (s source) bottom() int {
	for _, m := range endMark.FindAllIndex(s.text, -1) {
		if content.Match(s.text[:m[0]]) {
			return m[0]
		}
	}
	return len(s.text)
}

// below is the beginning of the line behind a block that begins at at, in
// column: a list, whose dashes stand there, or a section. Comments and blank
// lines behind it are left to what follows.
func (s source) below(at, column int) int {
	list := s.text[at] == '-'
	last := s.next(at)
	for line := last; line < len(s.text); line = s.next(line) {
		text := s.text[line:s.next(line)]
		blanks := len(text) - len(bytes.TrimLeft(text, " "))
		switch rest := bytes.TrimSpace(text); {
		case len(rest) == 0 || rest[0] == '#':
		case blanks < column-1, list && blanks == column-1 && rest[0] != '-':
			return last
		default:
			last = s.next(line)
		}
	}
	return last
}

// fill gives a key of n, which has no value or a null, a value in its line.
func (s source) fill(n node, name, value string) []byte {
	key, null := n.child(name)
	at := s.offset(key)
	at += bytes.IndexByte(s.text[at:], ':') + 1
	if word := null.GetToken().Value; !bytes.HasPrefix(bytes.TrimLeft(s.text[at:], " \t"), []byte(word)) {
		return s.put(at, at, " "+value)
	}
	from := s.offset(null)
	return s.put(from, from+len(null.GetToken().Value), value)
}

// lengthen adds an entry behind the value of a list: the list may be written in
// either style, or as its only item.
func (s source) lengthen(value node, e entry) ([]byte, error) {
	at, column := value.at(s), value.column()
	indent := strings.Repeat(" ", column-1)
	switch value.Node.(type) {
	case *ast.SequenceNode:
		if value.flow() {
			return s.intoFlow(at, string(e))
		}
		return s.line(s.below(at, column), indent+"- "+string(e)), nil
	case *ast.MappingNode, *ast.MappingValueNode:
		if !value.flow() {
			return s.itemize(at, s.below(at, column), indent+"- "+string(e)), nil
		}
		_, end, ok := s.flow(at)
		if !ok {
			return nil, errLayout
		}
		return s.put(at, end, "["+string(s.text[at:end])+", "+string(e)+"]"), nil
	}
	tk := value.GetToken()
	if mark := s.text[at]; mark == '"' || mark == '\'' {
		end := at + s.quote(at)
		return s.put(at, end, "["+string(s.text[at:end])+", "+string(e)+"]"), nil
	}
	if !bytes.HasPrefix(s.text[at:], []byte(tk.Value)) {
		return nil, errLayout // it goes over several lines
	}
	text := tk.Value
	if strings.ContainsAny(text, ",[]{}") {
		text = quoted(text)
	}
	return s.put(at, at+len(tk.Value), "["+text+", "+string(e)+"]"), nil
}

// itemize makes the block section in text[at:end] the first item of a list with
// one more line.
func (s source) itemize(at, end int, line string) []byte {
	first := s.next(at)
	rest := source{slices.Clone(s.text[:first]), s.end}
	rest.text = rest.put(at, at, "- ")
	for from := first; from < end; from = s.next(from) {
		text := s.text[from:s.next(from)]
		if len(bytes.TrimSpace(text)) > 0 {
			rest.text = append(rest.text, "  "...)
		}
		rest.text = append(rest.text, text...)
	}
	at = len(rest.text)
	rest.text = append(rest.text, s.text[end:]...)
	return rest.line(at, line)
}

// intoFlow adds an item behind those of the flow list or section at open.
func (s source) intoFlow(open int, item string) ([]byte, error) {
	last, _, ok := s.flow(open)
	if !ok {
		return nil, errLayout
	}
	switch s.text[last-1] {
	case '[', '{':
		if last-1 == open {
			return s.put(last, last, item), nil
		}
	case ',':
		return s.put(last, last, " "+item), nil
	}
	return s.put(last, last, ", "+item), nil
}

// flow scans a flow list or section: last is the end of what stands in it,
// without blanks and comments, end the byte behind its bracket.
func (s source) flow(open int) (last, end int, ok bool) {
	depth, fresh := 0, true // fresh: a quote here begins a quoted text
	for i := open; i < len(s.text); {
		n, c := 1, s.text[i]
		switch {
		case c == '[' || c == '{':
			depth++
			fresh = true
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return last, i + 1, true
			}
			fresh = false
		case c == ',' || c == ':':
			fresh = true
		case (c == '"' || c == '\'') && fresh:
			n = s.quote(i)
			fresh = false
		case c == '#' && i > 0 && blank(s.text[i-1]):
			i = s.next(i)
			continue
		case blank(c):
			i++
			continue
		default:
			fresh = false
		}
		i += n
		last = min(i, len(s.text))
	}
	return 0, 0, false
}

func blank(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }

// quote is the length of the quoted text at at, its quotes included.
func (s source) quote(at int) int {
	mark := s.text[at]
	for i := at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && mark == '"':
			i++
		case s.text[i] == mark && mark == '\'' && i+1 < len(s.text) && s.text[i+1] == mark:
			i++
		case s.text[i] == mark:
			return i + 1 - at
		}
	}
	return len(s.text) - at
}
