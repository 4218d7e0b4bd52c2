package inbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"edigw/as2"
	"edigw/store/spool"
)

// flushers is how many files of a batch are made durable at the same time: the
// disk can do it for several by one write of its journal.
const flushers = 4

// place puts documents into the folders of their partners: <date>/<name>, and
// the facts beside it as <name>.json; one of several parts as one such pair for
// each. Each file appears whole or not at all, the facts first. What an earlier try, cut off at any step, put there already is
// not put there twice. What fails is the err of its parcel.
func (b *Inbox) place(all []*parcel) {
	open := folders{inbox: b, byPath: map[string]*folder{}}
	defer open.close()
	for _, p := range all {
		p.err = b.prepare(&open, p)
	}
	b.flushFiles(all)
	for _, p := range all {
		if p.err == nil && !p.there {
			p.err = b.name(p)
		}
	}
	open.flush()
	for _, p := range all {
		if p.err == nil {
			p.err = p.folder.err
		}
	}
}

// prepare writes the files of a document under their hidden names, unless it
// lies there already.
func (b *Inbox) prepare(open *folders, p *parcel) (err error) {
	m := p.message
	p.placing, p.parts = placing{id: m.ID, name: nameOf(m, p.facts), facts: placed{Facts: p.facts}}, nil
	if p.folder, err = open.get(m.Partner, m.Accepted.UTC().Format(time.DateOnly)); err != nil {
		return err
	}
	if severalFiles(p.facts.ContentType) {
		if err := b.takeApart(p); !errors.Is(err, as2.ErrRelated) {
			return err
		} else {
			p.placing.facts.Note = "it lies here as one file: " + err.Error()
		}
	}
	if !p.fresh {
		if p.there, err = p.find(); p.there || err != nil {
			return err
		}
	}
	return b.write(p)
}

// write writes both files; flushFiles makes them durable.
func (b *Inbox) write(p *parcel) error {
	payload, err := b.Spool.Open(spool.Payload, p.message.Payload.SHA256)
	if err != nil {
		return err
	}
	defer func() { _ = payload.Close() }()
	copied := func(w io.Writer) error {
		_, err := io.Copy(w, payload)
		return err
	}
	if err := p.create(p.document(), copied); err != nil {
		return err
	}
	return p.create(p.hiddenFacts(), p.placing.facts.write)
}

// flushFiles makes the files of a batch durable, a few at a time, and closes
// them.
func (b *Inbox) flushFiles(all []*parcel) {
	next := make(chan *parcel)
	var work sync.WaitGroup
	for range min(flushers, len(all)) {
		work.Go(func() {
			for p := range next {
				for _, f := range p.files {
					if p.err == nil {
						p.err = b.flush(f)
					}
					p.err = errors.Join(p.err, f.Close())
				}
				p.files = nil
			}
		})
	}
	for _, p := range all {
		next <- p
	}
	close(next)
	work.Wait()
}

// name gives the files their names, one document of a partner at a time.
func (b *Inbox) name(p *parcel) error {
	done, err := b.turns.wait(context.Background(), "naming "+p.message.Partner)
	if err != nil {
		return err
	}
	defer done()
	if len(p.parts) > 0 {
		return b.nameParts(p)
	}
	if err := p.choose(nil); err != nil {
		return err
	}
	return p.finish()
}

// folder is that of one partner and day.
type folder struct {
	*os.Root
	day string
	err error // it could not be opened or made durable
}

// folders are those that a batch goes to.
type folders struct {
	inbox  *Inbox
	byPath map[string]*folder
}

// get opens the folder of a partner and a day, and makes it if it is missing.
func (f *folders) get(partner, day string) (*folder, error) {
	key := path.Join(partner, day)
	one := f.byPath[key]
	if one == nil {
		one = &folder{day: day}
		one.Root, one.err = f.inbox.openFolder(partner, day)
		f.byPath[key] = one
	}
	return one, one.err
}

// flush makes the names in the folders durable.
func (f *folders) flush() {
	for _, one := range f.byPath {
		if one.err == nil {
			one.err = f.inbox.flushFolder(one.Root)
		}
	}
}

func (f *folders) close() {
	for _, one := range f.byPath {
		if one.Root != nil {
			_ = one.Close()
		}
	}
}

func (b *Inbox) openFolder(partner, day string) (*os.Root, error) {
	dir := filepath.Join(b.Dir, partner)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // nothing is written outside, whatever links lie there
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(day, 0o700); err != nil {
		return nil, err
	}
	if err := b.syncFolders(partner, root, day); err != nil {
		return nil, err
	}
	return root.OpenRoot(day)
}

// syncFolders makes the folders of a partner and of a day durable, the first
// time that the day comes up: also an earlier process may have made them.
func (b *Inbox) syncFolders(partner string, root *os.Root, day string) error {
	b.mu.Lock()
	known := b.synced[partner] == day
	b.mu.Unlock()
	if known {
		return nil
	}
	err := b.flushFolder(root)
	for _, dir := range []string{b.Dir, filepath.Dir(b.Dir)} {
		if err != nil {
			return err
		}
		var parent *os.Root
		if parent, err = os.OpenRoot(dir); err == nil {
			err = errors.Join(b.flushFolder(parent), parent.Close())
		}
	}
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.synced[partner] = day
	}
	return err
}

func (b *Inbox) flushFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(b.flush(dir), dir.Close())
}
