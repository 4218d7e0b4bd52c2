package as2

import (
	"edigw/fault"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"edigw/internal/tame"
)

// base64Line is the longest line of base64 (RFC 2045 §6.8).
const base64Line = 76

// entity is a MIME entity whose body can be written any number of times, with
// the same bytes each time; that of an encrypted one only once. Nothing is held
// in memory: each layer writes the one below it.
type entity struct {
	header []Field
	size   int64 // of the body
	body   func(w io.Writer) error
}

// headerBlock is the header with the blank line that ends it.
func (e entity) headerBlock() string {
	var b strings.Builder
	for _, f := range e.header {
		b.WriteString(f.Name + ": " + f.Value + "\r\n")
	}
	return b.String() + "\r\n"
}

// total is the size of header and body.
func (e entity) total() int64 { return int64(len(e.headerBlock())) + e.size }

// write writes header and body.
func (e entity) write(w io.Writer) error {
	if _, err := io.WriteString(w, e.headerBlock()); err != nil {
		return err
	}
	return e.body(w)
}

// documentPart is the part that holds the document. One of several files is its
// own multipart: it goes as it is, and its parts have their own names.
func documentPart(a Agreement, d Document, payload io.ReadSeeker) entity {
	encoding := transferEncoding(a, d)
	e := documentBody(encoding, payload, d.Size)
	e.header = []Field{{"Content-Type", d.ContentType}, {"Content-Transfer-Encoding", string(encoding)}}
	if name := tame.FileName(d.FileName); name != "" && !isMultipart(d.ContentType) {
		e.header = append(e.header, Field{"Content-Disposition", "attachment; " + fileNameParameter(name)})
	}
	return e
}

// documentBody is the document in its transfer encoding, without a header.
// QUIRK(Axway, RSSBus): recognise no binary body in some releases, so base64 is
// theirs. QUIRK(MuleSoft): wants its lines at 76.
func documentBody(encoding TransferEncoding, payload io.ReadSeeker, size int64) entity {
	if encoding != Base64 {
		return entity{size: size, body: func(w io.Writer) error { return copyPayload(w, payload, size) }}
	}
	return entity{size: wrappedSize(size), body: func(w io.Writer) error {
		enc := base64.NewEncoder(base64.StdEncoding, &lineWrapper{w: w})
		if err := copyPayload(enc, payload, size); err != nil {
			return err
		}
		return enc.Close()
	}}
}

// transferEncoding is that of the document's part. A multipart is never encoded
// as a whole (RFC 2045 §6.4).
func transferEncoding(a Agreement, d Document) TransferEncoding {
	if a.TransferEncoding == Base64 && !isMultipart(d.ContentType) {
		return Base64
	}
	return Binary
}

// copyPayload writes the document from its beginning. It must have exactly
// size bytes: everything around it was computed from that.
func copyPayload(w io.Writer, payload io.ReadSeeker, size int64) error {
	if _, err := payload.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	r := payloadReader{payload}
	n, err := copyAll(w, io.LimitReader(r, size))
	if err != nil {
		return err
	}
	if n < size {
		return fmt.Errorf("%w: it has %d bytes, its record says %d", fault.ErrPayload, n, size)
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 {
		return fmt.Errorf("%w: it has more than the %d bytes that its record says", fault.ErrPayload, size)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// payloadReader tells a document that cannot be read from a writer that fails.
type payloadReader struct{ r io.Reader }

// Read implements io.Reader.
func (p payloadReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	return n, err
}

// lineWrapper puts CRLF between lines of base64, none behind the last.
type lineWrapper struct {
	w      io.Writer
	column int
}

// Write implements io.Writer.
func (l *lineWrapper) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		if l.column == base64Line {
			if _, err := io.WriteString(l.w, "\r\n"); err != nil {
				return done, err
			}
			l.column = 0
		}
		end := min(done+base64Line-l.column, len(p))
		n, err := l.w.Write(p[done:end])
		done += n
		l.column += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// wrappedSize is how long size bytes are in wrapped base64.
func wrappedSize(size int64) int64 {
	n := (size + 2) / 3 * 4
	if n == 0 {
		return 0
	}
	return n + (n-1)/base64Line*2
}

// wrapped is b in base64, in lines.
func wrapped(b []byte) string {
	var s strings.Builder
	s.Grow(int(wrappedSize(int64(len(b)))))
	enc := base64.NewEncoder(base64.StdEncoding, &lineWrapper{w: &s})
	_, _ = enc.Write(b) // a strings.Builder does not fail
	_ = enc.Close()
	return s.String()
}

// counter counts what is written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
