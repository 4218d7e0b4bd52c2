package smime

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// NewCompressor writes CompressedData (RFC 3274) by zlib. As its length is not
// known before its end it is BER: indefinite lengths and content in chunks.
// Close writes the end and does not close w.
func NewCompressor(w io.Writer) (io.WriteCloser, error) {
	head := []byte{tagSequence, 0x80}
	head = append(head, tlv(tagOID, []byte(oidCompressedData))...)
	head = append(head, tagExplicit0, 0x80, tagSequence, 0x80)
	head = append(head, tagInteger, 1, 0)             // RFC 3274 §1.1
	head = append(head, algorithmID(oidZlib, nil)...) // RFC 3274 §2: parameters absent
	head = append(head, tagSequence, 0x80)            // EncapsulatedContentInfo
	head = append(head, tlv(tagOID, []byte(oidData))...)
	head = append(head, tagExplicit0, 0x80, tagOctets|constructed, 0x80)
	if _, err := w.Write(head); err != nil {
		return nil, fmt.Errorf("write compressed message: %w", err)
	}
	c := &compressor{chunks: bufio.NewWriterSize(&chunkWriter{w: w}, readBuffer), w: w}
	c.zlib = zlib.NewWriter(c.chunks)
	return c, nil
}

type compressor struct {
	w      io.Writer
	chunks *bufio.Writer
	zlib   *zlib.Writer
	closed bool
}

func (c *compressor) Write(p []byte) (int, error) { return c.zlib.Write(p) }

// Close ends the six elements that are open.
func (c *compressor) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	if err := c.zlib.Close(); err != nil {
		return err
	}
	if err := c.chunks.Flush(); err != nil {
		return err
	}
	if _, err := c.w.Write(make([]byte, 2*6)); err != nil {
		return fmt.Errorf("write compressed message: %w", err)
	}
	return nil
}

// chunkWriter puts each write into an octet string of its own.
type chunkWriter struct {
	w    io.Writer
	head [10]byte
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	if _, err := c.w.Write(appendHeader(c.head[:0], tagOctets, int64(len(p)))); err != nil {
		return 0, fmt.Errorf("write compressed message: %w", err)
	}
	n, err := c.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("write compressed message: %w", err)
	}
	return n, nil
}

// decompressor reads the content of CompressedData.
type decompressor struct {
	ber    *berReader
	octets *octetReader
	in     *bufio.Reader // keeps zlib from reading past its stream
	zlib   io.ReadCloser
	size   int64 // bytes handed out
	err    error
}

// NewDecompressor reads the head of a CompressedData message (RFC 3274), BER or
// DER, and gives a reader of what was compressed. ErrDecompress is the answer
// to a broken stream and to one that swells past the limits; also
// ErrUnsupported, ErrMalformed, ErrNesting, ErrLimit, and errors of r.
func NewDecompressor(r io.Reader, l Limits) (io.Reader, error) {
	b := newBERReader(r, l)
	if err := b.enterContent(CompressedData); err != nil {
		return nil, err
	}
	c, err := b.expectDER(tagSequence, "compression algorithm")
	if err != nil {
		return nil, err
	}
	alg := c.algorithm()
	switch {
	case *c.bad:
		return nil, malformed("compression algorithm cannot be read")
	case alg.oid != oidZlib:
		return nil, unsupported("compression %s", oidText(alg.oid))
	}
	_, content, err := b.enterEncapsulated()
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, malformed("compressed data holds no content")
	}
	d := &decompressor{ber: b, octets: content, in: bufio.NewReader(content)}
	if d.zlib, err = zlib.NewReader(d.in); err != nil {
		return nil, d.failure(err)
	}
	return d, nil
}

// failure tells a broken stream from a broken message around it.
func (d *decompressor) failure(err error) error {
	if d.octets.err != nil && !errors.Is(d.octets.err, io.EOF) {
		return d.octets.err
	}
	return fmt.Errorf("%w: %w", ErrDecompress, err)
}

func (d *decompressor) Read(p []byte) (int, error) {
	if d.err != nil || len(p) == 0 {
		return 0, d.err
	}
	n, err := d.zlib.Read(p)
	d.size += int64(n)
	switch {
	case d.swollen():
		d.err = fmt.Errorf("%w: %d bytes and more out of %d", ErrDecompress, d.size, d.octets.size)
		return 0, d.err
	case err == io.EOF:
		d.err = d.finish()
	case err != nil:
		d.err = d.failure(err)
	}
	return n, d.err
}

func (d *decompressor) swollen() bool {
	l := d.ber.limits
	return d.size > l.InflateTotal || d.size > inflateGrace && d.size/int64(l.InflateRatio) > d.octets.size
}

// finish makes sure that nothing hides behind the stream.
func (d *decompressor) finish() error {
	if _, err := d.in.ReadByte(); err == nil {
		return fmt.Errorf("%w: bytes behind the compressed stream", ErrDecompress)
	} else if err != io.EOF {
		return err
	}
	if err := d.ber.leaveEncapsulated(); err != nil {
		return err
	}
	if err := d.ber.finish(); err != nil {
		return err
	}
	return io.EOF
}
