package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"edigw/edi"
	"edigw/queue"
)

const (
	factsSuffix = ".json"
	maxName     = 200
	maxFacts    = 1 << 20
)

// placing is a document, or one part of it, on its way to a name in a folder.
type placing struct {
	folder *folder
	id     string
	part   int // number of the part, from 1; 0: it is the document
	name   string
	facts  placed
	there  bool       // it lies in its place already
	files  []*os.File // written, not yet durable
}

// where it lies, below the partner's folder.
func (p *placing) where() string { return path.Join(p.folder.day, p.name) }

// The names of the two files until they are whole.
func (p *placing) document() string {
	if p.part > 0 {
		return fmt.Sprintf(".tmp~%s~%d", p.id, p.part)
	}
	return ".tmp~" + p.id
}
func (p *placing) hiddenFacts() string { return p.document() + factsSuffix }

// other is the name to take if the first is somebody else's.
func (p *placing) other() string {
	ext := path.Ext(p.name)
	return strings.TrimSuffix(p.name, ext) + "~" + queue.Short(p.id) + ext
}

// find reports whether the facts lie there under one of the names already, and
// finishes what was begun.
func (p *placing) find() (bool, error) {
	for _, name := range []string{p.name, p.other()} {
		f, err := p.folder.Open(name + factsSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		var there placed
		err = json.NewDecoder(io.LimitReader(f, maxFacts)).Decode(&there)
		_ = f.Close()
		if err != nil || there.ID != p.id || there.Part != p.part {
			continue
		}
		p.name = name
		err = p.folder.Rename(p.document(), name)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was in its place, and may be taken by now
		}
		return true, err
	}
	return false, nil
}

// open makes one of the two files.
func (p *placing) open(name string) (*os.File, error) {
	return p.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// create writes one of the two files; it is made durable later.
func (p *placing) create(name string, write func(io.Writer) error) error {
	f, err := p.open(name)
	if err != nil {
		return err
	}
	p.files = append(p.files, f)
	return write(f)
}

// durable is a file that is made so when it is closed.
type durable struct {
	*os.File
	flush func(*os.File) error
}

// Close implements io.Closer.
func (d durable) Close() error { return errors.Join(d.flush(d.File), d.File.Close()) }

// write writes facts as people read them: <id@…>, not \u003cid@…\u003e.
func (f placed) write(w io.Writer) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// choose takes a name that is free for both files, and that no other part of
// the document has taken.
func (p *placing) choose(others nameSet) error {
	both := []string{p.name, p.other()}
	for _, name := range both {
		taken := others.has(name)
		for _, file := range []string{name, name + factsSuffix} {
			_, err := p.folder.Lstat(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			taken = taken || err == nil
		}
		if !taken {
			p.name = name
			return nil
		}
	}
	return fmt.Errorf("both %q and %q are taken in this folder", both[0], both[1])
}

// finish gives both files their names.
func (p *placing) finish() error {
	if err := p.folder.Rename(p.hiddenFacts(), p.name+factsSuffix); err != nil {
		return err
	}
	return p.folder.Rename(p.document(), p.name)
}

// extensions are for what came without a name.
var extensions = map[string]string{
	string(edi.X12): ".x12", string(edi.EDIFACT): ".edi", string(edi.UBL): ".xml", string(edi.CII): ".xml", string(edi.XML): ".xml",
}

func extensionOf(kind string) string {
	if ext, ok := extensions[kind]; ok {
		return ext
	}
	return ".bin"
}

// nameOf is the partner's file name if it can be created anywhere, else one
// made of the id.
func nameOf(m queue.Message, f Facts) string {
	if creatable(m.Payload.FileName) {
		return m.Payload.FileName
	}
	return "document-" + queue.Short(m.ID) + extensionOf(f.Kind)
}

// creatable reports whether a file can have the name anywhere.
func creatable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && name[0] != '.' && !strings.ContainsAny(name, "/\\\x00")
}
