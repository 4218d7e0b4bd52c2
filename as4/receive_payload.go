package as4

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/rawmime"
	"edigw/internal/scratch"
	"edigw/internal/tame"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"

	"github.com/klauspost/compress/gzip"
)

// What may be packed: below inflateGrace bytes anything, beyond that so many
// times the packed size. Text of machines hardly shrinks that far, zeros do, and
// what is small does no harm.
const (
	inflateGrace = 8 << 20
	inflateRatio = 250
)

// checkAttached refuses a message one of whose parts is missing: its signature
// would only be found not to hold.
func (d *delivery) checkAttached() error {
	for _, info := range d.env.User.Parts {
		if id, ok := wssec.ContentID(info.Href); ok && d.parts[id] == nil {
			return refuse(codeMIME, "PartInfo names %q, and no part of the message has that Content-ID", tame.Clip(info.Href, maxShown))
		}
	}
	return nil
}

// checkParts holds what PayloadInfo says against what came and is signed (ebMS
// 3.0 Core §5.2.2.13). Parts that it does not name are not looked at any more.
func (d *delivery) checkParts() error {
	seen := map[string]bool{}
	for _, info := range d.env.User.Parts {
		place, err := d.place(info)
		if err != nil {
			return err
		}
		if seen[place] {
			return refuse(codeHeader, "two PartInfo name the same payload, %q", tame.Clip(info.Href, maxShown))
		}
		seen[place] = true
	}
	return nil
}

// place says where a payload is: the URL of its part, or "" for the Body.
func (d *delivery) place(info ebms.PartInfo) (string, error) {
	href := tame.Clip(info.Href, maxShown)
	if id, ok := wssec.ContentID(info.Href); ok {
		return wssec.PartURI(id), nil
	}
	id, local := strings.CutPrefix(info.Href, "#")
	switch {
	case info.Href != "" && !local:
		return "", refuse(codeExternal, "PartInfo names %q, which is outside of the message: payloads are taken within it only", href)
	case d.env.Payload() == nil:
		return "", refuse(codeMIME, "PartInfo names the SOAP Body, which is empty")
	case !local:
		return "", nil
	}
	ids, _ := xmltree.IDs(d.env.Root)
	if e := ids[id]; e == nil || e != d.env.Body && e != d.env.Payload() {
		return "", refuse(codeMIME, "PartInfo names %q, which is neither the SOAP Body nor the element in it", href)
	}
	return "", nil
}

// readPayloads reads each payload once, so that it is known to be whole, and
// hands it over to be read again.
func (d *delivery) readPayloads(rec *Received) error {
	left, asIs := d.h.o.Body, false
	for _, info := range d.env.User.Parts {
		p, err := d.readPayload(info, &left)
		if err != nil {
			rec.Payloads = nil
			return err
		}
		rec.Payloads = append(rec.Payloads, p)
		if _, n := ebms.Lookup(info.Properties, ebms.CompressionType); n > 0 {
			rec.Compressed = true
		} else {
			asIs = true
		}
	}
	if !asIs { // what was decrypted was packed, and nobody reads it any more
		d.aside.Free()
		d.plain.Free()
	}
	return nil
}

// readPayload reads one payload; left is how many bytes those of this message may
// still have.
func (d *delivery) readPayload(info ebms.PartInfo, left *int64) (ReceivedPayload, error) {
	p := ReceivedPayload{Properties: slices.DeleteFunc(slices.Clone(info.Properties), ofMSH)}
	packing, packed := ebms.Lookup(info.Properties, ebms.CompressionType)
	id, attached := wssec.ContentID(info.Href)
	fallback, sum := "application/xml", sha256.New()
	var layer *scratch.Layer
	var err error
	switch {
	case packed > 0 && (!attached || packing != gzipType):
		return p, refuse(codeCompression, "CompressionType of %q is %q; attachments are taken with application/gzip or without", tame.Clip(info.Href, maxShown), tame.Clip(packing, maxShown))
	case !attached:
		layer, err = d.unpacked.Append(func(w io.Writer) error {
			return writePayloadElement(io.MultiWriter(w, sum), d.env.Payload())
		})
	case packed > 0:
		a := d.parts[id]
		fallback = typeOctets // AS4 §3.1 wants MimeType; its type is that of gzip
		layer, err = d.unpacked.Append(func(w io.Writer) error { return inflate(io.MultiWriter(w, sum), a.layer, *left) })
	default:
		fallback, layer = d.parts[id].contentType, d.parts[id].layer
		_, err = copyAll(sum, layer.Open())
	}
	if err != nil {
		return p, refuseInflated(info.Href, err)
	}
	*left -= layer.Size()
	if mime, n := ebms.Lookup(info.Properties, ebms.MimeType); n > 0 {
		fallback = mime
	} else if packed > 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("the compressed part %q has no property MimeType", tame.Clip(info.Href, maxShown)))
	}
	p.ContentID, p.ContentType = id, contentType(fallback, info)
	p.FileName = d.fileName(info)
	p.Size, p.SHA256, p.Content = layer.Size(), hex.EncodeToString(sum.Sum(nil)), newReread(layer)
	return p, nil
}

// ofMSH tells the properties that MSHs tell each other (AS4 §3.1).
func ofMSH(p ebms.Property) bool {
	return p.Name == ebms.MimeType || p.Name == ebms.CharacterSet || p.Name == ebms.CompressionType
}

// contentType is the MIME type that a payload is said to have, with its charset.
func contentType(said string, info ebms.PartInfo) string {
	if said == "" {
		said = typeOctets
	}
	charset, _ := ebms.Lookup(info.Properties, ebms.CharacterSet)
	if _, params, err := rawmime.ParseMediaType(said); err == nil && charset != "" && params["charset"] == "" && !strings.ContainsAny(charset, " \t\"\\;,=") {
		said += "; charset=" + charset
	}
	return tame.Clip(tame.Line(said), maxShown)
}

// fileName is the name that a property gives a payload. That of the MIME part is
// not signed and says nothing.
func (d *delivery) fileName(info ebms.PartInfo) string {
	if d.p.FileNameProperty == "" {
		return ""
	}
	name, _ := ebms.Lookup(info.Properties, d.p.FileNameProperty)
	return tame.FileName(name)
}

var errInflate = errors.New("it cannot be decompressed")

// inflate unpacks a part to its end: every checksum holds, and nothing stands
// behind the last member (RFC 1952 §2.2). It writes at most limit bytes.
func inflate(w io.Writer, packed *scratch.Layer, limit int64) error {
	d := decompressors.Get().(*decompressor)
	defer decompressors.Put(d)
	defer d.in.Reset(nil) // the layer is not ours to keep
	d.in.Reset(packed.Open())
	err := d.Reset(d.in)
	if err == nil {
		_, err = copyAll(&swelling{w: w, packed: packed.Size(), limit: limit}, d)
	}
	if err == nil || errors.Is(err, scratch.ErrDisk) {
		return err
	}
	return fmt.Errorf("%w: %w", errInflate, err)
}

// decompressor is one for gzip, with what it reads through.
type decompressor struct {
	gzip.Reader
	in *bufio.Reader
}

// decompressors are those that nobody uses at the moment: each has tables and a
// window of 40 KB together.
var decompressors = sync.Pool{New: func() any { return &decompressor{in: bufio.NewReaderSize(nil, copyBuffer)} }}

// swelling is a writer that a bomb does not fill.
type swelling struct {
	w             io.Writer
	packed, limit int64
	n             int64
}

// Write implements io.Writer.
func (s *swelling) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	if s.n > s.limit || s.n > inflateGrace && s.n/inflateRatio > s.packed {
		return 0, fmt.Errorf("%d bytes and more out of %d", s.n, s.packed)
	}
	return s.w.Write(p)
}

// refuseInflated tells that a payload cannot be read.
func refuseInflated(href string, err error) error {
	if errors.Is(err, errInflate) {
		return refuse(codeCompression, "part %q: %v", tame.Clip(href, maxShown), err)
	}
	return err
}

// writePayloadElement writes the payload in the Body as a document of its own:
// in its canonical form, which is what was signed. Prefixes that its text or
// attributes may mean are kept, as in xsi:type="x:Order": the canonical form
// would leave them out.
func writePayloadElement(w io.Writer, e *etree.Element) error {
	return xmltree.Canonical(w, e, xmltree.Method{Prefixes: meantPrefixes(e)})
}

// meantPrefixes are those in scope of e that stand in front of a colon in a value
// in it.
func meantPrefixes(e *etree.Element) (meant []string) {
	named := map[string]bool{}
	for _, inner := range xmltree.Find(e, func(*etree.Element) bool { return true }) {
		for _, a := range inner.Attr {
			addPrefixes(named, a.Value)
		}
		addPrefixes(named, xmltree.Text(inner))
	}
	for above := e.Parent(); above != nil; above = above.Parent() {
		for _, a := range above.Attr {
			if a.Space == "xmlns" && named[a.Key] && !slices.Contains(meant, a.Key) {
				meant = append(meant, a.Key)
			}
		}
	}
	return meant
}

// addPrefixes adds what stands in front of the colons of a value: each byte of it
// is looked at once, however many prefixes there are.
func addPrefixes(named map[string]bool, value string) {
	for {
		before, after, found := strings.Cut(value, ":")
		if !found {
			return
		}
		begin := strings.LastIndexFunc(before, func(r rune) bool {
			return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
		})
		if prefix := before[begin+1:]; prefix != "" && !named[prefix] {
			named[strings.Clone(prefix)] = true
		}
		value = after
	}
}
