package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"edigw/edi"
	"edigw/queue"
	"edigw/store/spool"
)

const (
	factsSuffix = ".json"
	maxName     = 200
	maxFacts    = 1 << 20
)

// place puts a document into the partner's folder: <date>/<name>, and the
// facts beside it as <name>.json. Each appears whole or not at all, the facts
// first. It returns where, below the partner's folder. What an earlier try,
// cut off at any step, put there already is not put there twice.
func (b *Inbox) place(m queue.Message, f Facts) (string, error) {
	dir := filepath.Join(b.Dir, m.Partner)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir) // nothing is written outside, whatever links lie there
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	day := m.Accepted.UTC().Format(time.DateOnly)
	if err := root.MkdirAll(day, 0o700); err != nil {
		return "", err
	}
	if err := b.syncFolders(m.Partner, root, day); err != nil {
		return "", err
	}
	folder, err := root.OpenRoot(day)
	if err != nil {
		return "", err
	}
	defer func() { _ = folder.Close() }()
	p := placing{folder: folder, id: m.ID, name: nameOf(m, f)}
	if placed, err := p.find(); placed || err != nil {
		return path.Join(day, p.name), errors.Join(err, p.sync())
	}
	if err := b.prepare(p, m, f); err != nil {
		return "", err
	}
	if err := b.name(&p); err != nil {
		return "", err
	}
	if err := p.sync(); err != nil {
		return "", err
	}
	return path.Join(day, p.name), nil
}

// name gives both files their names, one document at a time.
func (b *Inbox) name(p *placing) error {
	b.naming.Lock()
	defer b.naming.Unlock()
	if err := p.choose(); err != nil {
		return err
	}
	return p.finish()
}

// placing is a document on its way into a folder.
type placing struct {
	folder *os.Root
	id     string
	name   string
}

// The names of the two files until they are whole.
func (p *placing) document() string { return ".tmp~" + p.id }
func (p *placing) facts() string    { return ".tmp~" + p.id + factsSuffix }

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
		f.Close()
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

// prepare writes both files under their hidden names, durably.
func (b *Inbox) prepare(p placing, m queue.Message, f Facts) error {
	payload, err := b.Spool.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		return err
	}
	defer payload.Close()
	if err := write(p.folder, p.document(), payload); err != nil {
		return err
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // people read it: <id@…>, not \u003cid@…\u003e
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return err
	}
	return write(p.folder, p.facts(), strings.NewReader(text.String()))
}

func write(folder *os.Root, name string, r io.Reader) error {
	w, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
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
	if err := p.folder.Rename(p.facts(), p.name+factsSuffix); err != nil {
		return err
	}
	return p.folder.Rename(p.document(), p.name)
}

// sync makes the names in the folder durable.
func (p *placing) sync() error { return syncRoot(p.folder) }

// syncFolders makes the folders of a partner and of a day durable, the first
// time that the day comes up: also an earlier process may have made them.
func (b *Inbox) syncFolders(partner string, root *os.Root, day string) error {
	b.naming.Lock()
	defer b.naming.Unlock()
	if b.synced[partner] == day {
		return nil
	}
	err := syncRoot(root)
	for _, dir := range []string{b.Dir, filepath.Dir(b.Dir)} {
		if err != nil {
			return err
		}
		var parent *os.Root
		if parent, err = os.OpenRoot(dir); err == nil {
			err = errors.Join(syncRoot(parent), parent.Close())
		}
	}
	if err == nil {
		b.synced[partner] = day
	}
	return err
}

func syncRoot(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
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
