package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"edigw/as2"
	"edigw/edi"
	"edigw/queue"
	"edigw/store/spool"
)

const (
	margin   = 1 << 20  // headers, signatures and receipts of one message
	lookEach = 8 << 20  // bytes between two looks at the free space
	buffer   = 32 << 10 // bytes read at once
)

// wireSize is how much a document of n bytes may take on the wire: base64, and
// what surrounds it.
func wireSize(n int64) int64 { return n + n/5*2 + margin }

// document is a body on its way into the spool: read once, recognised while it
// passes. Of several files the root is what is recognised.
type document struct {
	spool   Spool
	writer  *spool.Writer
	scanner *edi.Scanner
	whole   bool      // the scanner gets every byte, not those of a root alone
	err     error     // the spool failed
	sum     hash.Hash // nil: the spool's own is enough
	size    int64
	looked  int64 // size when the free space was looked at
	report  edi.Report
	name    string // once it is durable
}

// expectation is what is known of a document before it is read.
type expectation struct {
	size    int64  // −1: unknown
	limit   int64  // most bytes that are taken
	sum     bool   // a digest is wanted before anything is durable
	related string // MIME type of a document of several files, else empty
}

// readDocument reads body to its end. Nothing is durable yet; the caller ends
// with commit or close.
func readDocument(ctx context.Context, s Spool, body io.Reader, e expectation) (*document, error) {
	size, limit := e.size, e.limit
	if size > limit {
		return nil, tooLarge(limit)
	}
	known := max(size, 0)
	if err := room(s, known+wireSize(known)); err != nil {
		return nil, err
	}
	w, err := s.Create(spool.Payload, limit)
	if err != nil {
		return nil, stored(err, limit)
	}
	d := &document{spool: s, writer: w, scanner: edi.NewScanner(), whole: e.related == ""}
	if e.sum {
		d.sum = sha256.New()
	}
	from := &source{ctx: ctx, r: body}
	buf := make([]byte, buffer)
	if size >= 0 && size < buffer {
		buf = buf[:max(size+1, 512)]
	}
	if e.related != "" {
		err = d.takeApart(from, e.related)
	}
	if err == nil {
		_, err = io.CopyBuffer(d, from, buf)
	}
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("intake: the document was not read to its end: %w", context.Cause(ctx))
	case errors.Is(from.err, errChanging):
		err = from.err
	case from.err != nil:
		err = refuse(BadRequest, "", "The document broke off after %d bytes.", d.size)
	case errors.Is(err, as2.ErrRelated) && d.err == nil:
		err = refuse(BadParts, "", "The body is %v.", err)
	case err != nil:
		err = stored(err, limit)
	case size >= 0 && d.size != size:
		err = refuse(BadRequest, "Content-Length", "The document has %d bytes, %d were announced.", d.size, size)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	d.report = d.scanner.Close()
	return d, nil
}

// Write takes the next bytes.
func (d *document) Write(p []byte) (int, error) {
	n, err := d.writer.Write(p)
	if err != nil {
		d.err = err
		return n, err
	}
	d.size += int64(n)
	if d.whole {
		_, _ = d.scanner.Write(p) // never fails
	}
	if d.sum != nil {
		d.sum.Write(p)
	}
	if d.size-d.looked >= lookEach {
		d.looked = d.size
		d.err = room(d.spool, wireSize(d.size))
		return n, d.err
	}
	return n, nil
}

// takeApart stores a document of several files up to the end of its last part,
// finds out whether its reader can take it apart, and has its root recognised.
func (d *document) takeApart(from io.Reader, contentType string) error {
	return as2.ReadRelated(io.TeeReader(from, d), contentType, d.scanner)
}

// digest is the SHA-256 of the content in lower-case hex. If it was not asked
// for when reading began, the document becomes durable by it.
func (d *document) digest() (string, error) {
	if d.sum != nil {
		return hex.EncodeToString(d.sum.Sum(nil)), nil
	}
	err := d.commit()
	return d.name, err
}

// commit makes the document durable.
func (d *document) commit() (err error) {
	if d.name == "" {
		d.name, _, err = d.writer.Commit()
	}
	return stored(err, 0)
}

// close throws away what is not durable.
func (d *document) close() { d.writer.Abort() }

// room refuses what the disk cannot hold.
func room(s Spool, n int64) error {
	return stored(s.HasRoom(n), 0)
}

// stored tells a fault of the spool.
func stored(err error, limit int64) error {
	var no *Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no):
		return no
	case errors.Is(err, queue.ErrTooLarge):
		return tooLarge(limit)
	case errors.Is(err, queue.ErrNoSpace):
		return refuse(DiskFull, "", "There is no room to store the document and its message safely.")
	}
	return fmt.Errorf("intake: store the document: %w", err)
}

func tooLarge(limit int64) error {
	return refuse(TooLarge, "", "The document has more than %d bytes, which limits.document allows.", limit)
}

// source reads a body and keeps apart what goes wrong there.
type source struct {
	ctx   context.Context
	r     io.Reader
	err   error
	empty int // reads in a row that gave nothing
}

// maxEmpty is how often in a row a reader may give nothing.
const maxEmpty = 100

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	if n == 0 && err == nil {
		if s.empty++; s.empty >= maxEmpty {
			err = io.ErrNoProgress
		}
	} else {
		s.empty = 0
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
