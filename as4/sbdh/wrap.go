package sbdh

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const end = "</sh:StandardBusinessDocument>\n"

// maxDeclaration bounds an XML declaration.
const maxDeclaration = 1 << 10

// Wrap gives a Standard Business Document around a document of size bytes, which
// is XML in UTF-8, well-formed and without a document type; its XML declaration
// and byte order mark are left out. The size of the whole is given, too. The
// content is read while the whole is. Errors are ErrDocument, or those of content.
func Wrap(h Header, content io.ReadSeeker, size int64) (io.ReadSeeker, int64, error) {
	if missing := h.Missing(); missing != "" {
		return nil, 0, fmt.Errorf("%w: the header has no %s", ErrDocument, missing)
	}
	head := make([]byte, min(size, maxDeclaration))
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	if _, err := io.ReadFull(content, head); err != nil {
		return nil, 0, err
	}
	skip, err := prolog(head)
	if err != nil {
		return nil, 0, err
	}
	all := &pieces{list: []piece{text(h.write()), {content: content, from: int64(skip), size: size - int64(skip)}, text([]byte(end))}}
	return all, all.size(), nil
}

// prolog is the length of byte order mark and XML declaration.
func prolog(head []byte) (int, error) {
	for _, mark := range []string{"\xfe\xff", "\xff\xfe", "\x00<", "<\x00"} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return 0, fmt.Errorf("%w: it is in UTF-16, and UTF-8 is wanted", ErrDocument)
		}
	}
	n := 0
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		n = len("\ufeff")
	}
	const open, close = "<?xml", "?>"
	if !bytes.HasPrefix(head[n:], []byte(open)) || len(head) <= n+len(open) || !blank(head[n+len(open)]) {
		return n, nil
	}
	length := bytes.Index(head[n:], []byte(close))
	if length < 0 {
		return 0, fmt.Errorf("%w: its XML declaration has no end", ErrDocument)
	}
	declared := encoding(string(head[n+len(open) : n+length]))
	if declared != "" && !strings.EqualFold(declared, "UTF-8") && !strings.EqualFold(declared, "US-ASCII") {
		return 0, fmt.Errorf("%w: it declares the encoding %.40q, and UTF-8 is wanted", ErrDocument, declared)
	}
	return n + length + len(close), nil
}

// encoding is what an XML declaration says of it, empty for nothing.
func encoding(declaration string) string {
	_, rest, ok := strings.Cut(declaration, "encoding")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t\r\n=")
	if rest == "" {
		return ""
	}
	value, _, _ := strings.Cut(rest[1:], rest[:1])
	return value
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// piece is a part of pieces: a text, or a stretch of content.
type piece struct {
	text       []byte
	content    io.ReadSeeker
	from, size int64
}

func text(b []byte) piece { return piece{text: b, size: int64(len(b))} }

// pieces read one after the other. They are not for use by several at once.
type pieces struct {
	list []piece
	at   int64
	in   int // the content that stands where at is, −1 for none
	held bool
}

func (p *pieces) size() (n int64) {
	for _, one := range p.list {
		n += one.size
	}
	return n
}

// Read meets io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	off := p.at
	for i, one := range p.list {
		if off >= one.size {
			off -= one.size
			continue
		}
		b = b[:min(int64(len(b)), one.size-off)]
		n, err := 0, error(nil)
		if one.content == nil {
			n = copy(b, one.text[off:])
		} else {
			n, err = p.read(i, one, off, b)
		}
		p.at += int64(n)
		return n, err
	}
	return 0, io.EOF
}

func (p *pieces) read(i int, one piece, off int64, b []byte) (int, error) {
	if !p.held || p.in != i {
		if _, err := one.content.Seek(one.from+off, io.SeekStart); err != nil {
			return 0, err
		}
		p.held, p.in = true, i
	}
	n, err := one.content.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
		if n == 0 {
			err = io.ErrUnexpectedEOF // it is shorter than was said
		}
	}
	return n, err
}

// Seek meets io.Seeker.
func (p *pieces) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size()
	}
	if offset < 0 {
		return p.at, fmt.Errorf("sbdh: a place before the beginning")
	}
	p.at, p.held = offset, false
	return offset, nil
}
