package smime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// Tags with their class and, where it is part of the type, the constructed bit
// (X.690 §8.1.2).
const (
	constructed = 0x20

	tagInteger     = 0x02
	tagBitString   = 0x03
	tagOctets      = 0x04
	tagNull        = 0x05
	tagOID         = 0x06
	tagUTCTime     = 0x17
	tagGeneralTime = 0x18
	tagSequence    = 0x30
	tagSet         = 0x31
	tagContext0    = 0x80
	tagContext1    = 0x81
	tagExplicit0   = tagContext0 | constructed
	tagExplicit1   = tagContext1 | constructed
	tagExplicit2   = 0xa2
	tagExplicit3   = 0xa3
	tagHighNumber  = 0x1f
)

const (
	indefinite  = -1
	noEnd       = math.MaxInt64
	readBuffer  = 32 << 10
	smallBuffer = 4 << 10 // for messages that are in memory already
)

// element is the header of a BER value: its tag byte and the length of its
// content, or indefinite.
type element struct {
	tag    byte
	length int64
}

func (e element) constructed() bool { return e.tag&constructed != 0 }

// berFrame is one open constructed element.
type berFrame struct {
	indefinite bool
	bound      int64 // offset that content must not pass: its own end or an outer one
}

// berReader pulls BER (X.690 §8.1), definite and indefinite, off a stream. It
// keeps its own stack, so that no input can exhaust ours, and allocates by what
// arrives, never by what a length announces.
type berReader struct {
	src    *bufio.Reader
	off    int64
	open   []berFrame
	limits Limits
	left   int // objects still allowed
}

func newBERReader(r io.Reader, l Limits) *berReader {
	size := readBuffer
	switch r.(type) {
	case *bytes.Reader, *bufio.Reader: // what has a buffer already shares it
		size = smallBuffer
	}
	return newBufferedBERReader(bufio.NewReaderSize(r, size), l)
}

func newMemoryBERReader(message []byte) *berReader {
	return newBufferedBERReader(bufio.NewReaderSize(bytes.NewReader(message), min(smallBuffer, len(message)+1)), Limits{})
}

func newBufferedBERReader(r *bufio.Reader, l Limits) *berReader {
	l = l.withDefaults()
	return &berReader{src: r, limits: l, left: l.Objects}
}

func (b *berReader) bound() int64 {
	if len(b.open) == 0 {
		return noEnd
	}
	return b.open[len(b.open)-1].bound
}

// readError tells an input that ends early from one that cannot be read.
func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends early: %w", ErrMalformed, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read CMS message: %w", err)
}

func (b *berReader) readByte() (byte, error) {
	if b.off >= b.bound() {
		return 0, malformed("an element passes the end of the one around it")
	}
	c, err := b.src.ReadByte()
	if err != nil {
		return 0, readError(err)
	}
	b.off++
	return c, nil
}

// next reads the header of the next element. At the end of the innermost open
// element it closes that one and reports false.
func (b *berReader) next() (element, bool, error) {
	if n := len(b.open); n > 0 && !b.open[n-1].indefinite && b.off == b.open[n-1].bound {
		b.open = b.open[:n-1]
		return element{}, false, nil
	}
	tag, err := b.readByte()
	if err != nil {
		return element{}, false, err
	}
	length, err := b.readLength()
	if err != nil {
		return element{}, false, err
	}
	e := element{tag: tag, length: length}
	switch {
	case tag == 0: // end of contents, X.690 §8.1.5
		n := len(b.open)
		if n == 0 || !b.open[n-1].indefinite || length != 0 {
			return e, false, malformed("stray end-of-contents")
		}
		b.open = b.open[:n-1]
		return element{}, false, nil
	case tag&tagHighNumber == tagHighNumber:
		return e, false, malformed("tag number above 30") // CMS has none
	case length == indefinite && !e.constructed():
		return e, false, malformed("primitive element of indefinite length") // X.690 §8.1.3.2
	case length > b.bound()-b.off:
		return e, false, malformed("an element passes the end of the one around it")
	}
	return e, true, nil
}

// readLength reads the octets of X.690 §8.1.3.
func (b *berReader) readLength() (int64, error) {
	c, err := b.readByte()
	if err != nil {
		return 0, err
	}
	if c < 0x80 {
		return int64(c), nil
	}
	if c == 0x80 {
		return indefinite, nil
	}
	count := int(c & 0x7f)
	if count > 8 {
		return 0, malformed("length of %d octets", count)
	}
	var n uint64
	for range count {
		if c, err = b.readByte(); err != nil {
			return 0, err
		}
		n = n<<8 | uint64(c)
	}
	if n > math.MaxInt64 {
		return 0, malformed("length beyond 63 bits")
	}
	return int64(n), nil
}

// count charges one element outside the content.
func (b *berReader) count() error {
	if b.left--; b.left < 0 {
		return fmt.Errorf("%w: more than %d elements", ErrLimit, b.limits.Objects)
	}
	return nil
}

// enter opens a constructed element whose header next has just returned.
func (b *berReader) enter(e element) error {
	if !e.constructed() {
		return malformed("element 0x%02x cannot hold others", e.tag)
	}
	if len(b.open) >= b.limits.Depth {
		return fmt.Errorf("%w: more than %d levels", ErrNesting, b.limits.Depth)
	}
	if err := b.count(); err != nil {
		return err
	}
	frame := berFrame{indefinite: e.length == indefinite, bound: b.bound()}
	if !frame.indefinite {
		frame.bound = b.off + e.length
	}
	b.open = append(b.open, frame)
	return nil
}

// expect reads the header of the next element, which must be there with this tag.
func (b *berReader) expect(tag byte, what string) (element, error) {
	e, ok, err := b.next()
	switch {
	case err != nil:
		return e, err
	case !ok:
		return e, malformed("%s is missing", what)
	case e.tag != tag:
		return e, malformed("0x%02x where %s belongs", e.tag, what)
	}
	return e, nil
}

// enterNext is expect, then enter.
func (b *berReader) enterNext(tag byte, what string) error {
	e, err := b.expect(tag, what)
	if err != nil {
		return err
	}
	return b.enter(e)
}

// read fills p from the content of a primitive element.
func (b *berReader) read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.off += int64(n)
	if n > 0 {
		return n, nil // an error comes again
	}
	if err != nil {
		return 0, readError(err)
	}
	return 0, nil
}

// appendValue reads the content of a primitive element of at most limit bytes
// behind dst.
func (b *berReader) appendValue(dst []byte, e element, limit int) ([]byte, error) {
	if e.constructed() {
		return dst, malformed("element 0x%02x must be primitive", e.tag)
	}
	if err := b.count(); err != nil {
		return dst, err
	}
	if e.length > int64(limit) {
		return dst, fmt.Errorf("%w: %d bytes outside the content", ErrLimit, e.length)
	}
	for left := int(e.length); left > 0; {
		step := min(left, readBuffer)
		start := len(dst)
		dst = append(dst, make([]byte, step)...)
		n, err := io.ReadFull(b.src, dst[start:])
		b.off += int64(n)
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return dst, readError(err)
		}
		left -= step
	}
	return dst, nil
}

// skip passes over an element of any form.
func (b *berReader) skip(e element) error {
	base := len(b.open)
	for {
		if e.constructed() {
			if err := b.enter(e); err != nil {
				return err
			}
		} else if err := b.discard(e.length); err != nil {
			return err
		}
		for ok := false; !ok; {
			if len(b.open) == base {
				return nil
			}
			var err error
			if e, ok, err = b.next(); err != nil {
				return err
			}
		}
	}
}

func (b *berReader) discard(n int64) error {
	if err := b.count(); err != nil {
		return err
	}
	m, err := io.CopyN(io.Discard, b.src, n)
	b.off += m
	if err != nil {
		return readError(err)
	}
	return nil
}

// finish reads on to the end of the outermost element. What follows it is not
// looked at: line ends behind a message are common.
func (b *berReader) finish() error {
	for len(b.open) > 0 {
		e, ok, err := b.next()
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := b.skip(e); err != nil {
			return err
		}
	}
	return nil
}
