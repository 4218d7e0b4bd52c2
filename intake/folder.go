package intake

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	stable     = 5 * time.Second // how long size and time of a file must not have changed
	maxEntries = 20_000          // names read from a folder at once; the others come later
)

// folder is the outbox of one partner.
type folder struct {
	partner string
	dir     string
	busy    bool // its files are being taken in; nobody else touches it then

	mtime     time.Time // of the folder, when it was last looked at
	since     time.Time // when that was first seen
	wasRead   time.Time
	notBefore time.Time
	seen      map[string]sighting // files that are not stable yet
	ready     []entry             // files to be taken in, oldest first
	within    map[string]bool     // folders in it that nobody looks into
	odd       []string            // those that were not there the last time
}

// sighting is what a file looked like since some time.
type sighting struct {
	size  int64
	mtime time.Time
	since time.Time
}

// Folders in an outbox where its files end.
const (
	acceptedFolder = "accepted"
	rejectedFolder = "rejected"
)

// entry is a file to be taken in.
type entry struct {
	name  string
	mtime time.Time
}

// changed reports whether the folder may hold something that was not there
// when it was last read.
func (f *folder) changed(now time.Time) bool {
	info, err := os.Stat(f.dir)
	if err != nil {
		return false // gone; a reload makes it again
	}
	if !info.ModTime().Equal(f.mtime) {
		f.mtime, f.since = info.ModTime(), now
	}
	return len(f.seen) > 0 || len(f.ready) > 0 || now.Sub(f.since).Abs() < settle || now.Sub(f.wasRead).Abs() >= reread
}

// read lists the folder: what is stable, or was claimed before a crash, is
// ready; the rest is remembered. Links and whatever else is no plain file are
// ready too: they are refused where a file is opened, not passed over.
func (f *folder) read(now time.Time) error {
	f.wasRead, f.ready, f.odd = now, nil, nil
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	seen, within := make(map[string]sighting), make(map[string]bool)
	for _, e := range entries {
		if ignored(e.Name()) {
			continue
		}
		if e.IsDir() {
			if within[e.Name()] = true; !f.within[e.Name()] {
				f.odd = append(f.odd, e.Name())
			}
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s := sighting{info.Size(), info.ModTime(), now}
		if before, ok := f.seen[e.Name()]; ok && before.size == s.size && before.mtime.Equal(s.mtime) && !before.since.After(now) {
			s.since = before.since
		}
		if now.Sub(s.since) >= stable || isClaim(e.Name()) {
			f.ready = append(f.ready, entry{e.Name(), s.mtime})
		}
		seen[e.Name()] = s
	}
	f.seen, f.within = seen, within
	slices.SortFunc(f.ready, func(a, b entry) int {
		return cmp.Or(a.mtime.Compare(b.mtime), strings.Compare(original(a.name), original(b.name)), strings.Compare(a.name, b.name))
	})
	return nil
}

// ignored reports whether a file is somebody's business who has not finished,
// or the place of those that were taken in or refused.
func ignored(name string) bool {
	return name == acceptedFolder || name == rejectedFolder || strings.HasPrefix(name, ".") && !isClaim(name) || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".part")
}
