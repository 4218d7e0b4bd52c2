package sbdh

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Bounds of what is held of a document.
const (
	maxHead = 128 << 10 // to the end of the header
	maxTag  = 16 << 10  // the start tag of the document inside
	maxTail = 4 << 10   // behind the document inside
)

var (
	headerEnd = regexp.MustCompile(`</(?:[^\s:<>/]+:)?StandardBusinessDocumentHeader\s*>`)
	// before is what may stand in front of a root element.
	before = regexp.MustCompile(`^(?:\s+|<\?[^>]*\?>|<!--(?s:.*?)-->)*`)
	name   = regexp.MustCompile(`^<([^\s<>/!?]+)`)
)

// Found is a Standard Business Document that was read to the end of its header.
type Found struct {
	Header Header
	root   string       // its name as it stands
	spaces []etree.Attr // namespaces that its root declares
	end    int64        // of the header
}

// Read reads the header of a Standard Business Document. It gives nil for a
// document of another kind. Errors are ErrHeader, or those of r.
func Read(r io.Reader) (*Found, error) {
	head := make([]byte, maxHead)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = head[:n]
	start := bytes.TrimPrefix(head, []byte("\ufeff"))
	root := name.FindSubmatch(start[len(before.Find(start)):])
	if root == nil {
		return nil, nil
	}
	if _, local, ok := strings.Cut(string(root[1]), ":"); local != "StandardBusinessDocument" && (ok || string(root[1]) != "StandardBusinessDocument") {
		return nil, nil
	}
	at := headerEnd.FindIndex(head)
	if at == nil {
		return nil, fmt.Errorf("%w: its header has no end within %d KiB", ErrHeader, maxHead>>10)
	}
	tree, err := xmltree.Parse(slices.Concat(head[:at[1]], []byte("</"+string(root[1])+">")), xmltree.Limits{Bytes: 2 * maxHead, Elements: 2_000})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	f := &Found{root: string(root[1]), end: int64(at[1])}
	for _, a := range tree.Root().Attr {
		if a.Space == "xmlns" || a.Space == "" && a.Key == "xmlns" {
			f.spaces = append(f.spaces, a)
		}
	}
	return f, f.Header.read(tree.Root())
}

func (h *Header) read(root *etree.Element) error {
	list := xmltree.Children(root, Namespace, "StandardBusinessDocumentHeader")
	if len(list) != 1 {
		return fmt.Errorf("%w: it has %d headers in the namespace of UN/CEFACT", ErrHeader, len(list))
	}
	header := list[0]
	h.Sender, h.Receiver = partner(header, "Sender"), partner(header, "Receiver")
	if list = xmltree.Children(header, Namespace, "DocumentIdentification"); len(list) > 0 {
		d := list[0]
		h.Standard, h.TypeVersion, h.Type, h.Instance = value(d, "Standard"), value(d, "TypeVersion"), value(d, "Type"), value(d, "InstanceIdentifier")
		h.Created, _ = time.Parse(time.RFC3339, value(d, "CreationDateAndTime")) // for display
	}
	for _, all := range xmltree.Children(header, Namespace, "BusinessScope") {
		for _, s := range xmltree.Children(all, Namespace, "Scope") {
			id := ID{value(s, "Identifier"), value(s, "InstanceIdentifier")}
			switch value(s, "Type") {
			case "DOCUMENTID":
				if id.Scheme == "" {
					id.Scheme = SchemeDocument
				}
				h.Document = id
			case "PROCESSID":
				if id.Scheme == "" {
					id.Scheme = SchemeProcess
				}
				h.Process = id
			case "COUNTRY_C1":
				h.Country = id.Value
			}
		}
	}
	return nil
}

func partner(header *etree.Element, side string) ID {
	for _, e := range xmltree.Children(header, Namespace, side) {
		for _, id := range xmltree.Children(e, Namespace, "Identifier") {
			scheme, _ := xmltree.Attr(id, "", "Authority")
			return ID{scheme, strings.TrimSpace(xmltree.Text(id))}
		}
	}
	return ID{}
}

func value(e *etree.Element, local string) string {
	for _, child := range xmltree.Children(e, Namespace, local) {
		return strings.TrimSpace(xmltree.Text(child))
	}
	return ""
}

// Inside gives the document that stands in the Standard Business Document, with
// its size: its bytes as they are, and on its start tag the namespaces that only
// the wrapper declared. content holds the whole, of size bytes; it is read while
// the document is. Errors are ErrHeader, or those of content.
func (f *Found) Inside(content io.ReadSeeker, size int64) (io.ReadSeeker, int64, error) {
	head, err := stretch(content, f.end, min(maxTag, size-f.end))
	if err != nil {
		return nil, 0, err
	}
	skip := len(before.Find(head))
	opened := name.FindSubmatch(head[skip:])
	if opened == nil {
		return nil, 0, fmt.Errorf("%w: there is no document behind its header", ErrHeader)
	}
	more, err := f.missing(head[skip:])
	if err != nil {
		return nil, 0, err
	}
	from := max(f.end, size-maxTail)
	tail, err := stretch(content, from, size-from)
	if err != nil {
		return nil, 0, err
	}
	last := bytes.LastIndex(tail, []byte("</"+f.root))
	if last < 0 {
		return nil, 0, fmt.Errorf("%w: </%s> is missing", ErrHeader, f.root)
	}
	begin := f.end + int64(skip+len(opened[0]))
	if from+int64(last) < begin {
		return nil, 0, fmt.Errorf("%w: the document in it has no end", ErrHeader)
	}
	all := &pieces{list: []piece{text(append(slices.Clone(opened[0]), more...)), {content: content, from: begin, size: from + int64(last) - begin}}}
	return all, all.size(), nil
}

// missing are the declarations of the wrapper that a start tag lacks.
func (f *Found) missing(tag []byte) (more []byte, err error) {
	token, err := xml.NewDecoder(bytes.NewReader(tag)).RawToken()
	start, ok := token.(xml.StartElement)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: the start tag of the document in it cannot be read within %d KiB", ErrHeader, maxTag>>10)
	}
	for _, a := range f.spaces {
		has := slices.ContainsFunc(start.Attr, func(b xml.Attr) bool { return b.Name.Space == a.Space && b.Name.Local == a.Key })
		uses := start.Name.Space == a.Key || a.Space == "" && start.Name.Space == ""
		if !has && (uses || a.Value != Namespace) { // the header's own is of no use inside
			more = append(more, ` `+a.FullKey()+`="`+escape(a.Value)+`"`...)
		}
	}
	return more, nil
}

func stretch(content io.ReadSeeker, from, size int64) ([]byte, error) {
	if _, err := content.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	_, err := io.ReadFull(content, b)
	return b, err
}
