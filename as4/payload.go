package as4

import (
	"bufio"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/scratch"
	"edigw/internal/xmltree"

	"github.com/klauspost/compress/gzip"
)

// gzipType is the media type of a compressed part and the value of its
// CompressionType (AS4 §3.1).
const gzipType = "application/gzip"

// maxBody is the largest payload that is put into the Body: it is held as a tree.
const maxBody = 2 << 20

// part is one payload on its way into an attachment.
type part struct {
	contentID   string
	contentType string // before encryption; its digest goes by it
	space       *scratch.Space
	compress    bool
	payload     Payload
	layer       *scratch.Layer // what was compressed for the digest; nil: nothing was
}

// takePayloads makes parts of the payloads, or puts the one into the Body.
func (b *builder) takePayloads() error {
	if b.p.Body && len(b.d.Payloads) > 0 {
		return b.takeBody(b.d.Payloads[0])
	}
	for i, p := range b.d.Payloads {
		made := part{contentID: b.names.part(i + 1), contentType: p.ContentType, space: b.space, compress: b.p.Compress, payload: p}
		if b.p.Compress {
			made.contentType = gzipType
		}
		b.parts = append(b.parts, made)
	}
	return nil
}

// takeBody reads the payload that stands in the Body: its root element.
func (b *builder) takeBody(p Payload) error {
	var text strings.Builder
	if err := p.write(&text); err != nil {
		return err
	}
	doc, err := xmltree.Parse([]byte(text.String()), xmltree.Limits{Bytes: maxBody})
	if err != nil {
		return badSetting("as4.body", "the payload cannot stand in the SOAP Body: %v", err)
	}
	b.body = doc.Root()
	return nil
}

// digest reads the content of a part, as the signature covers it: compressed,
// not encrypted. What was compressed is put aside, so that it is done once.
func (p *part) digest(h crypto.Hash) ([]byte, error) {
	d := wssec.PartDigest(h, p.contentType)
	w := io.Writer(d)
	var layer *scratch.Layer
	if p.compress {
		layer = p.space.New()
		w = io.MultiWriter(layer, d)
	}
	err := p.write(w)
	if err == nil {
		err = d.Close()
	}
	if errors.Is(err, wssec.ErrPolicy) || errors.Is(err, wssec.ErrMalformed) {
		return nil, badSetting("as4.compress", "a payload of type %s cannot be signed uncompressed: %v", p.contentType, err)
	}
	p.layer = layer
	return d.Sum(), err
}

// write writes the content of the part, without encryption.
func (p *part) write(w io.Writer) error {
	switch {
	case p.layer != nil:
		_, err := copyAll(w, p.layer.Open())
		return err
	case !p.compress:
		return p.payload.write(w)
	}
	c := compressors.Get().(*compressor)
	defer compressors.Put(c)
	defer c.out.Reset(nil) // w is not ours to keep
	c.out.Reset(w)
	c.Reset(c.out)
	if err := p.payload.write(c); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	return c.out.Flush()
}

// level is how hard is compressed: documents become hardly larger than by the
// level that is built in, and take much less time.
const level = 3

// compressor is one for gzip, with what it writes through: by itself it hands on
// some 200 bytes at a time.
type compressor struct {
	*gzip.Writer
	out *bufio.Writer
}

// compressors are those that nobody uses at the moment: each has tables of
// some hundred kilobytes.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, level) // fails for other levels only
	return &compressor{z, bufio.NewWriterSize(nil, copyBuffer)}
}}

// write writes the payload from its beginning. It must have exactly the bytes
// that its record says.
func (p Payload) write(w io.Writer) error {
	if _, err := p.Content.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	r := payloadReader{p.Content}
	n, err := copyAll(w, io.LimitReader(r, p.Size))
	if err != nil {
		return err
	}
	if n < p.Size {
		return fmt.Errorf("%w: it has %d bytes, its record says %d", fault.ErrPayload, n, p.Size)
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 {
		return fmt.Errorf("%w: it has more than the %d bytes that its record says", fault.ErrPayload, p.Size)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// payloadReader tells a payload that cannot be read from a writer that fails.
type payloadReader struct{ r io.Reader }

// Read implements io.Reader.
func (p payloadReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	return n, err
}

// properties are those of a payload that mean something to its reader.
func (b *builder) properties(p Payload) []ebms.Property {
	all := slices.Clone(b.p.PartProperties)
	if b.p.FileNameProperty != "" && p.FileName != "" {
		all = Merged(all, []ebms.Property{{Name: b.p.FileNameProperty, Value: p.FileName}})
	}
	// Whatever the producer says of them, these are the MSH's (AS4 §3.1).
	return slices.DeleteFunc(all, func(p ebms.Property) bool {
		return p.Name == ebms.MimeType || p.Name == ebms.CharacterSet || p.Name == ebms.CompressionType
	})
}

// ownProperties are those that the receiving MSH goes by (AS4 §3.1). They are
// set for each part by itself: whether it was compressed is told by
// CompressionType, whatever the payload is.
func (b *builder) ownProperties(p Payload) []ebms.Property {
	mediaType, _, _ := strings.Cut(p.ContentType, ";")
	own := []ebms.Property{{Name: ebms.MimeType, Value: strings.TrimSpace(mediaType)}}
	if _, params, err := rawmime.ParseMediaType(p.ContentType); err == nil && params["charset"] != "" {
		own = append(own, ebms.Property{Name: ebms.CharacterSet, Value: params["charset"]})
	}
	if b.p.Compress {
		own = append(own, ebms.Property{Name: ebms.CompressionType, Value: gzipType})
	}
	return own
}

// Merged is base with the values of over, and what base lacks behind it. Of a
// property that over gives no type, that of base stays.
func Merged(base, over []ebms.Property) []ebms.Property {
	all := slices.Clone(base)
	for _, o := range over {
		i := slices.IndexFunc(all, func(p ebms.Property) bool { return p.Name == o.Name })
		if i < 0 {
			all = append(all, o)
			continue
		}
		all[i].Value = o.Value
		if o.Type != "" {
			all[i].Type = o.Type
		}
	}
	return all
}
