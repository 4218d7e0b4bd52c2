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

// placing is a document on its way to a name in a folder.
type placing struct {
	folder *folder
	id     string
	name   string
	there  bool       // it lies in its place already
	files  []*os.File // written, not yet durable
}

// where it lies, below the partner's folder.
func (p *placing) where() string { return path.Join(p.folder.day, p.name) }

// The names of the two files until they are whole.
func (p *placing) document() string    { return ".tmp~" + p.id }
func (p *placing) hiddenFacts() string { return ".tmp~" + p.id + factsSuffix }

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
		var there Facts
		err = json.NewDecoder(io.LimitReader(f, maxFacts)).Decode(&there)
		_ = f.Close()
		if err != nil || there.ID != p.id {
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

// create writes one of the two files.
func (p *placing) create(name string, r io.Reader) error {
	f, err := p.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	p.files = append(p.files, f)
	_, err = io.Copy(f, r)
	return err
}

// choose takes a name that is free for both files.
func (p *placing) choose() error {
	names := []string{p.name, p.other()}
	for _, name := range names {
		taken := false
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
	return fmt.Errorf("both %q and %q are taken in this folder", names[0], names[1])
}

// finish gives both files their names.
func (p *placing) finish() error {
	if err := p.folder.Rename(p.hiddenFacts(), p.name+factsSuffix); err != nil {
		return err
	}
	return p.folder.Rename(p.document(), p.name)
}

// extensions are for documents that came without a name.
var extensions = map[string]string{
	string(edi.X12): ".x12", string(edi.EDIFACT): ".edi", string(edi.UBL): ".xml", string(edi.CII): ".xml", string(edi.XML): ".xml",
}

// nameOf is the partner's file name if it can be created anywhere, else one
// made of the id.
func nameOf(m queue.Message, f Facts) string {
	name := m.Payload.FileName
	if name != "" && len(name) <= maxName && utf8.ValidString(name) && name[0] != '.' && !strings.ContainsAny(name, "/\\\x00") {
		return name
	}
	ext, ok := extensions[f.Kind]
	if !ok {
		ext = ".bin"
	}
	return "document-" + queue.Short(m.ID) + ext
}
