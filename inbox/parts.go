package inbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"edigw/as2"
	"edigw/edi"
	"edigw/internal/rawmime"
	"edigw/store/spool"
)

// A document of several files (multipart/related, RFC 6362) lies in the folder
// as one file for each part, each with facts of its own that name the others.
// All of them are durable before the first has its name. A part that is a
// multipart itself is one file.
//
// After a crash each part is looked for by itself: what has its name keeps it.

// placed is what lies beside a document in the folder.
type placed struct {
	Facts
	Part  int      `json:"part,omitempty"`  // which of several files this is, from 1; 0: it is the document
	Files []string `json:"files,omitempty"` // the names of all of them, in the order of the document
	Note  string   `json:"note,omitempty"`  // what is odd about how it lies here
}

// severalFiles reports whether a document is to be taken apart.
func severalFiles(contentType string) bool {
	_, related, _ := as2.RelatedBoundary(contentType)
	return related
}

// takeApart writes the parts of a document under their hidden names, but for
// those that lie in their places. as2.ErrRelated says that it cannot be taken
// apart; nothing of it is left then.
func (b *Inbox) takeApart(p *parcel) error {
	err := b.writeParts(p)
	if !errors.Is(err, as2.ErrRelated) {
		return err
	}
	for _, one := range p.parts {
		if err := one.folder.Remove(one.document()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	p.parts = nil
	return err
}

func (b *Inbox) writeParts(p *parcel) error {
	if !p.fresh {
		if err := b.readParts(p, func(*placing) (io.WriteCloser, error) { return nil, nil }); err != nil {
			return err
		}
		p.there = true
		for _, one := range p.parts {
			var err error
			if one.there, err = one.find(); err != nil {
				return err
			}
			p.there = p.there && one.there
		}
		if p.there {
			return nil
		}
	}
	before := p.parts
	return b.readParts(p, func(one *placing) (io.WriteCloser, error) {
		if n := one.part - 1; n < len(before) {
			one.there, one.name = before[n].there, before[n].name
		}
		if one.there {
			return nil, nil
		}
		return b.hidden(one)
	})
}

// readParts reads the document and fills p.parts. Each part is written to what
// create gives; nil: it is only looked at.
func (b *Inbox) readParts(p *parcel, create func(*placing) (io.WriteCloser, error)) error {
	payload, err := b.Spool.Open(spool.Payload, p.message.Payload.SHA256)
	if err != nil {
		return err
	}
	defer func() { _ = payload.Close() }()
	p.parts = nil
	taken := nameSet{}
	return as2.TakeApart(payload, p.facts.ContentType, func(a as2.RelatedPart, content io.Reader) error {
		one := &placing{folder: p.folder, id: p.id, part: len(p.parts) + 1}
		p.parts = append(p.parts, one)
		to, err := create(one)
		if err != nil {
			return err
		}
		one.facts = placed{Facts: p.facts, Part: one.part}
		if err := one.facts.measure(a.Attachment, content, to); err != nil {
			return err
		}
		if one.name == "" {
			one.name = unlike(partName(one.facts.Facts, one.part), one.part, taken)
		}
		return nil
	})
}

// measure writes a part and says in its facts what it is.
func (f *placed) measure(a as2.Attachment, content io.Reader, to io.WriteCloser) error {
	sum, scanner := sha256.New(), edi.NewScanner()
	all := []io.Writer{sum, scanner}
	if to != nil {
		all = append(all, to)
	}
	n, err := io.Copy(io.MultiWriter(all...), content)
	if to != nil {
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		return err
	}
	f.FileName, f.ContentType, f.Size, f.SHA256 = a.Name, a.ContentType, n, hex.EncodeToString(sum.Sum(nil))
	f.Kind, f.Type, f.References = "", "", nil
	f.recognised(scanner.Close())
	return nil
}

// hidden creates the file of a part, which is durable when it is closed: a
// batch may have more parts than there are files to be had.
func (b *Inbox) hidden(one *placing) (io.WriteCloser, error) {
	f, err := one.open(one.document())
	if err != nil {
		return nil, err
	}
	return durable{f, b.flush}, nil
}

// partName is the partner's name of a part, else one made of its number and of
// what it is.
func partName(f Facts, n int) string {
	if creatable(f.FileName) {
		return f.FileName
	}
	return fmt.Sprintf("part-%d%s", n, partExtension(f))
}

// partExtensions are those of parts that are no EDI, by what the partner says
// they are.
var partExtensions = map[string]string{
	"application/pdf": ".pdf", "text/plain": ".txt", "text/xml": ".xml", "application/xml": ".xml", "text/csv": ".csv",
	"application/edifact": extensionOf(string(edi.EDIFACT)), "application/json": ".json", "application/zip": ".zip",
	"image/png": ".png", "image/jpeg": ".jpg",
}

// partExtension goes by the content where it is known, else by the MIME type.
func partExtension(f Facts) string {
	ext := extensionOf(f.Kind)
	if _, known := extensions[f.Kind]; known {
		return ext
	}
	mediaType, _, err := rawmime.ParseMediaType(f.ContentType)
	if err != nil {
		return ext
	}
	return cmp.Or(partExtensions[strings.ToLower(mediaType)], ext)
}

// nameSet are the names of the files of one document. Case does not count: the folder
// may lie on a file system to which "Order.x12" and "order.x12" are the same.
type nameSet map[string]bool

// has reports whether a file, or the facts beside it, would have a name of
// these.
func (n nameSet) has(name string) bool {
	name = strings.ToLower(name)
	return n[name] || n[name+factsSuffix]
}

// take adds the names of a file and of the facts beside it.
func (n nameSet) take(name string) {
	name = strings.ToLower(name)
	n[name], n[name+factsSuffix] = true, true
}

// unlike gives a name that neither a file of the same document has nor the
// facts beside one, and takes it.
func unlike(name string, n int, taken nameSet) string {
	if taken.has(name) {
		ext := path.Ext(name)
		stem := strings.TrimSuffix(name, ext)
		for name = fmt.Sprintf("%s-%d%s", stem, n, ext); taken.has(name); name = stem + ext {
			stem = fmt.Sprintf("%s-%d", stem, n)
		}
	}
	taken.take(name)
	return name
}

// nameParts gives all files of a document their names, the facts first. Whoever
// calls it has the turn of naming.
func (b *Inbox) nameParts(p *parcel) error {
	taken := nameSet{}
	for _, one := range p.parts {
		if one.there {
			taken.take(one.name)
		}
	}
	files := make([]string, len(p.parts))
	for i, one := range p.parts {
		if !one.there {
			if err := one.choose(taken); err != nil {
				return err
			}
			taken.take(one.name)
		}
		files[i] = one.name
	}
	for _, one := range p.parts {
		one.facts.Files = files
		if err := b.writeFacts(one); err != nil {
			return err
		}
	}
	// Those that lie there get their facts anew before any other has a name:
	// when all have theirs, nothing is left to write.
	for _, there := range []bool{true, false} {
		for _, one := range p.parts {
			if one.there == there {
				if err := one.folder.Rename(one.hiddenFacts(), one.name+factsSuffix); err != nil {
					return err
				}
			}
		}
	}
	for _, one := range p.parts {
		if !one.there {
			if err := one.folder.Rename(one.document(), one.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFacts makes the facts of a part durable under their hidden name.
func (b *Inbox) writeFacts(one *placing) error {
	f, err := one.open(one.hiddenFacts())
	if err != nil {
		return err
	}
	err = one.facts.write(f)
	if err == nil {
		err = b.flush(f)
	}
	return errors.Join(err, f.Close())
}
