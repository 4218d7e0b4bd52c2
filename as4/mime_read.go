package as4

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"edigw/internal/rawmime"
	"edigw/internal/scratch"
	"edigw/internal/tame"
)

// Bounds of what is read of MIME.
const (
	maxShown    = 200      // of what a partner wrote, in one of our texts
	maxParts    = 500      // attachments of one message
	maxPartHead = 64 << 10 // header block of one part
	usualRoom   = 10 << 10 // memory for an envelope to begin with
)

// Media types of the parts of a message (ebMS 3.0 Core §5.1).
const (
	typeSOAP    = "application/soap+xml"
	typeRelated = "multipart/related"
	typeOctets  = "application/octet-stream"
)

// Errors of reading MIME. Each is wrapped with what was found.
var (
	errNotSOAP  = errors.New("neither application/soap+xml nor multipart/related") // there is no message at all
	errMIME     = errors.New("the MIME parts are not as they should be")           // EBMS:0007
	errEnvelope = errors.New("the SOAP envelope is too large")                     // env:Sender
	errBroken   = errors.New("the body broke off")                                 // the connection's fault, not the message's
)

// framing is how a message lies in its body (ebMS 3.0 Core §5.1): the envelope
// alone, or as the root of a multipart/related.
type framing struct {
	boundary string // empty: the envelope stands alone
	start    string // Content-ID of the root, bare; empty: the first part is it (RFC 2387 §3.2)

	room *envelopeShare // what the envelope takes of the memory; nil: nobody counts
}

// framingOf reads the Content-Type of a request or response. errNotSOAP if no
// message can follow, errMIME if one cannot be read.
func framingOf(contentType string) (framing, error) {
	mediaType, params, err := rawmime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return framing{}, fmt.Errorf("%w: %w", errNotSOAP, err)
	case isEnvelope(mediaType):
		return framing{}, checkCharset(params)
	case mediaType != typeRelated:
		return framing{}, fmt.Errorf("%w: Content-Type is %q", errNotSOAP, tame.Clip(mediaType, maxShown))
	case params["boundary"] == "":
		return framing{}, fmt.Errorf("%w: Content-Type names no boundary", errMIME)
	}
	return framing{boundary: params["boundary"], start: bareID(params["start"])}, nil
}

// isEnvelope tells the media types that an envelope has. SOAP 1.1 has text/xml:
// it is read so far that it can be told which version is spoken here.
func isEnvelope(mediaType string) bool {
	return mediaType == typeSOAP || mediaType == "text/xml" || mediaType == "application/xml"
}

// checkCharset refuses an envelope in anything but UTF-8 (ebMS 3.0 Core
// §5.1.2.5). The other parameters say nothing that counts here.
func checkCharset(params map[string]string) error {
	switch charset := strings.ToLower(params["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	default:
		return fmt.Errorf("%w: the envelope's charset is %q, only UTF-8 is taken", errMIME, tame.Clip(charset, maxShown))
	}
}

// bareID is a Content-ID without its angle brackets.
func bareID(id string) string {
	id = strings.Trim(id, " \t")
	if inner, ok := strings.CutPrefix(id, "<"); ok {
		if inner, ok = strings.CutSuffix(inner, ">"); ok {
			return inner
		}
	}
	return id
}

// readEnvelope reads the bytes of the envelope out of a body: the whole of it,
// or the root part, wherever it stands. What stands behind the root is left
// unread. The envelope may have limit bytes, else errEnvelope.
func (f framing) readEnvelope(body io.Reader, limit int64) ([]byte, error) {
	if f.boundary == "" {
		return f.bounded(body, limit)
	}
	parts := newSplitter(body, f.boundary)
	defer parts.release()
	for n := 1; ; n++ {
		p, err := parts.next(n)
		switch {
		case errors.Is(err, errLastPart) && n == 1:
			return nil, fmt.Errorf("%w: there is no part", errMIME)
		case errors.Is(err, errLastPart):
			return nil, fmt.Errorf("%w: no part has the Content-ID %q, which start names", errMIME, tame.Clip(f.start, maxShown))
		case err != nil:
			return nil, err
		case !f.isRoot(p):
			continue
		}
		if err := p.checkRoot(); err != nil {
			return nil, err
		}
		envelope, err := f.bounded(p.content, limit)
		if err != nil {
			return nil, mimeFault(n, err)
		}
		return envelope, nil
	}
}

// isRoot tells the part that start names, else the first (RFC 2387 §3.2).
func (f framing) isRoot(p mimePart) bool {
	if f.start == "" {
		return p.n == 1
	}
	return p.id == f.start
}

// bounded reads an envelope, as much of it as there is room for.
func (f framing) bounded(r io.Reader, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, usualRoom))
	n, err := b.ReadFrom(io.LimitReader(weighed{r, f.room}, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w: it has more than %d bytes", errEnvelope, limit)
	}
	return b.Bytes(), err
}

// weighed reads what is held in memory.
type weighed struct {
	io.Reader
	room *envelopeShare
}

// Read implements io.Reader.
func (w weighed) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.room != nil {
		if full := w.room.grow(int64(n)); full != nil {
			return n, full
		}
	}
	return n, err
}

// mimePart is one part of a multipart while it passes.
type mimePart struct {
	n           int    // from 1, in their order
	id          string // Content-ID, bare; empty: it has none
	contentType string // as it was sent
	mediaType   string
	params      map[string]string
	content     io.Reader // without its transfer encoding
	asIs        bool      // which changes nothing: the content stands in the body as it is
}

// errLastPart says that the closing delimiter was read.
var errLastPart = errors.New("the parts are at their end")

// splitter gives the parts of a multipart, through buffers that are used again.
type splitter struct {
	*rawmime.Multipart
	body, head *bufio.Reader
}

// Buffers that no splitter uses at the moment: of bodies, and of parts.
var (
	bodyReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, copyBuffer) }}
	partReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
)

// newSplitter begins to take a body apart; release ends it.
func newSplitter(body io.Reader, boundary string) *splitter {
	s := &splitter{body: bodyReaders.Get().(*bufio.Reader), head: partReaders.Get().(*bufio.Reader)}
	s.body.Reset(body)
	s.Multipart = rawmime.NewMultipart(s.body, boundary, maxParts+1)
	return s
}

// release gives the buffers back. No part may be read any more.
func (s *splitter) release() {
	s.body.Reset(nil)
	s.head.Reset(nil)
	bodyReaders.Put(s.body)
	partReaders.Put(s.head)
	s.Multipart, s.body, s.head = nil, nil, nil
}

// next reads the header of the next part, whose content is good until the call
// after it.
func (s *splitter) next(n int) (mimePart, error) {
	raw, err := s.Next()
	if err == io.EOF { //nolint:errorlint // io.EOF itself ends the parts, what wraps it does not
		return mimePart{}, errLastPart
	}
	if err != nil {
		return mimePart{}, mimeFault(n, err)
	}
	s.head.Reset(raw)
	h, err := rawmime.ReadHeader(s.head, maxPartHead)
	if err != nil {
		return mimePart{}, mimeFault(n, err)
	}
	p := mimePart{n: n, id: bareID(h.Get("Content-ID")), contentType: h.Get("Content-Type"), mediaType: typeOctets}
	for _, name := range []string{"Content-ID", "Content-Type", "Content-Transfer-Encoding"} {
		if h.Count(name) > 1 {
			return p, fmt.Errorf("%w: part %d has two %s", errMIME, n, name)
		}
	}
	if p.contentType != "" {
		if p.mediaType, p.params, err = rawmime.ParseMediaType(p.contentType); err != nil {
			return p, mimeFault(n, err)
		}
	}
	if p.content, err = rawmime.DecodeTransfer(s.head, h.Get("Content-Transfer-Encoding")); err != nil {
		return p, mimeFault(n, err)
	}
	p.asIs = p.content == io.Reader(s.head)
	return p, nil
}

// checkRoot refuses a root that is no envelope in UTF-8.
func (p mimePart) checkRoot() error {
	if p.contentType != "" && !isEnvelope(p.mediaType) {
		return fmt.Errorf("%w: the root part is %q, not %s", errMIME, tame.Clip(p.mediaType, maxShown), typeSOAP)
	}
	return checkCharset(p.params)
}

// mimeFault tells what is wrong with a part. Faults of our own disk and of the
// connection stay what they are.
func mimeFault(n int, err error) error {
	switch {
	case errors.Is(err, scratch.ErrDisk), errors.Is(err, errEnvelope), errors.Is(err, errBroken):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: part %d: the end of the message is missing: its last boundary was not found", errMIME, n)
	}
	return fmt.Errorf("%w: part %d: %w", errMIME, n, err)
}

// attachment is a part beside the root, put aside.
type attachment struct {
	id          string // Content-ID, bare
	contentType string // as it was sent
	mediaType   string
	layer       *scratch.Layer
	copied      bool // layer is a section of a layer for such parts
}

// readAttachments puts all parts but the root aside, without their transfer
// encodings. Those without a Content-ID cannot be meant by anything and are
// passed over. wire is the layer that body reads, whose bytes are not put aside a
// second time; nil: it lies elsewhere. What is put aside goes to aside: a message
// of many parts takes one file for them.
func (f framing) readAttachments(body io.Reader, wire, aside *scratch.Layer) (map[string]*attachment, error) {
	found := map[string]*attachment{}
	if f.boundary == "" {
		return found, nil
	}
	parts := newSplitter(body, f.boundary)
	defer parts.release()
	seen, root := map[string]bool{}, false
	for n := 1; ; n++ {
		p, err := parts.next(n)
		if errors.Is(err, errLastPart) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		if p.id != "" && seen[p.id] {
			return found, fmt.Errorf("%w: two parts have the Content-ID %q", errMIME, tame.Clip(p.id, maxShown))
		}
		seen[p.id] = true
		if !root && f.isRoot(p) {
			root = true
			continue
		}
		if p.id == "" {
			continue
		}
		a := &attachment{id: p.id, contentType: p.contentType, mediaType: p.mediaType}
		a.copied = wire == nil || !p.asIs
		if a.layer, err = parts.putAside(p, wire, aside); err != nil {
			return found, mimeFault(n, err)
		}
		found[a.id] = a
	}
}

// putAside reads a part to its end and gives its content.
func (s *splitter) putAside(p mimePart, wire, aside *scratch.Layer) (*scratch.Layer, error) {
	if wire != nil && p.asIs {
		n, err := io.Copy(io.Discard, p.content)
		return wire.Section(s.End()-n, n), err
	}
	return aside.Append(func(w io.Writer) error {
		_, err := copyAll(w, p.content)
		return err
	})
}
