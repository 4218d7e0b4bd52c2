package smime

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
)

// appendHeader writes tag and definite length (X.690 §10.1).
func appendHeader(dst []byte, tag byte, n int64) []byte {
	dst = append(dst, tag)
	if n < 0x80 {
		return append(dst, byte(n))
	}
	size := (bits.Len64(uint64(n)) + 7) / 8
	dst = append(dst, 0x80|byte(size))
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// tlv is one element in DER around the given content.
func tlv(tag byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := appendHeader(make([]byte, 0, n+10), tag, int64(n))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// algorithmID is an AlgorithmIdentifier; params are encoded, nil for absent.
func algorithmID(oid string, params []byte) []byte {
	return tlv(tagSequence, tlv(tagOID, []byte(oid)), params)
}

var derNull = []byte{tagNull, 0}

// derNode is a constructed element that is being rewritten into a derWriter.
type derNode struct {
	tag         byte
	start, body int  // where its header and its content begin
	piece       bool // of an octet string around it: it has no header
}

// derWriter rewrites elements with definite lengths, and octet strings in one
// piece. A header is written when its element begins, by the length that came;
// only where that turns out to be another is the content moved.
type derWriter struct {
	out   []byte
	nodes []derNode
}

// strings reports whether the innermost element is an octet string in pieces.
func (w *derWriter) strings() bool {
	return len(w.nodes) > 0 && w.nodes[len(w.nodes)-1].tag == tagOctets|constructed
}

func (w *derWriter) enter(e element) {
	n := derNode{tag: e.tag, start: len(w.out), piece: w.strings()}
	if !n.piece {
		w.out = appendHeader(w.out, n.tag, max(e.length, 0))
	}
	n.body = len(w.out)
	w.nodes = append(w.nodes, n)
}

// leave ends the innermost element.
func (w *derWriter) leave() {
	n := w.nodes[len(w.nodes)-1]
	w.nodes = w.nodes[:len(w.nodes)-1]
	if n.piece {
		return
	}
	if n.tag == tagOctets|constructed {
		n.tag = tagOctets
	}
	var room [10]byte
	header := appendHeader(room[:0], n.tag, int64(len(w.out)-n.body))
	w.out = slices.Replace(w.out, n.start, n.body, header...)
}

// der reads a whole element, whose header next has just returned, and rewrites
// it with definite lengths and octet strings in one piece, so that it can be
// taken apart in memory. DER comes out as it went in.
func (b *berReader) der(e element) ([]byte, error) {
	if !e.constructed() {
		return b.appendValue(appendHeader(nil, e.tag, e.length), e, b.limits.Structure)
	}
	if err := b.enter(e); err != nil {
		return nil, err
	}
	var w derWriter
	w.enter(e)
	room := b.limits.Structure
	for len(w.nodes) > 0 {
		e, ok, err := b.next()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			w.leave()
			continue
		case w.strings() && e.tag&^constructed != tagOctets:
			return nil, malformed("0x%02x inside an octet string", e.tag)
		case e.constructed():
			if err := b.enter(e); err != nil {
				return nil, err
			}
			w.enter(e)
			continue
		}
		if !w.strings() {
			w.out = appendHeader(w.out, e.tag, e.length)
		}
		before := len(w.out)
		if w.out, err = b.appendValue(w.out, e, room); err != nil {
			return nil, err
		}
		if room -= len(w.out) - before + 2; room < 0 {
			return nil, fmt.Errorf("%w: more than %d bytes outside the content", ErrLimit, b.limits.Structure)
		}
	}
	return w.out, nil
}

// cursor walks over what der gave out. A wrong turn marks it bad, which is
// looked at once at the end; a bad cursor gives only empty values.
type cursor struct {
	rest []byte
	bad  *bool
}

func newCursor(der []byte) cursor { return cursor{rest: der, bad: new(bool)} }

// expectDER is expect, then der, to be taken apart.
func (b *berReader) expectDER(tag byte, what string) (cursor, error) {
	e, err := b.expect(tag, what)
	if err != nil {
		return cursor{}, err
	}
	der, err := b.der(e)
	return newCursor(der), err
}

func (c *cursor) fail() cursor {
	*c.bad = true
	c.rest = nil
	return cursor{bad: c.bad}
}

// next takes the next element apart: its tag, its content and all its bytes.
func (c *cursor) next() (tag byte, body, raw []byte, ok bool) {
	if len(c.rest) == 0 {
		return 0, nil, nil, false
	}
	all := c.rest
	if len(all) < 2 {
		c.fail()
		return 0, nil, nil, false
	}
	head, n := 2, int(all[1])
	if n >= 0x80 {
		size := n & 0x7f
		if size == 0 || size > 4 || len(all) < 2+size {
			c.fail()
			return 0, nil, nil, false
		}
		n = 0
		for _, b := range all[2 : 2+size] {
			n = n<<8 | int(b)
		}
		head += size
	}
	if n > len(all)-head {
		c.fail()
		return 0, nil, nil, false
	}
	c.rest = all[head+n:]
	return all[0], all[head : head+n], all[:head+n], true
}

// peek is the tag of the next element, 0 at the end.
func (c *cursor) peek() byte {
	if len(c.rest) == 0 {
		return 0
	}
	return c.rest[0]
}

// bytes is the content of the next element, which must have this tag.
func (c *cursor) bytes(tag byte) []byte {
	if c.peek() != tag {
		c.fail()
		return nil
	}
	_, body, _, _ := c.next()
	return body
}

// raw is the next element whole, which must have this tag.
func (c *cursor) raw(tag byte) []byte {
	if c.peek() != tag {
		c.fail()
		return nil
	}
	_, _, raw, _ := c.next()
	return raw
}

// in is a cursor over the content of the next element, which must have this tag.
func (c *cursor) in(tag byte) cursor { return cursor{rest: c.bytes(tag), bad: c.bad} }

func (c *cursor) oid() string { return string(c.bytes(tagOID)) }

// algorithm is an AlgorithmIdentifier taken apart.
type algorithm struct {
	oid    string
	params []byte // encoded; nil when absent
}

func (c *cursor) algorithm() algorithm { return c.algorithmAs(tagSequence) }

// algorithmAs reads one that is tagged implicitly.
func (c *cursor) algorithmAs(tag byte) algorithm {
	in := c.in(tag)
	a := algorithm{oid: in.oid()}
	if len(in.rest) > 0 {
		a.params = in.rest
	}
	return a
}

// same compares two, taking NULL for absent parameters: half the products write
// the one and half the other (RFC 5754 §2).
func (a algorithm) same(b algorithm) bool {
	plain := func(params []byte) []byte {
		if bytes.Equal(params, derNull) {
			return nil
		}
		return params
	}
	return a.oid == b.oid && bytes.Equal(plain(a.params), plain(b.params))
}
