package intake

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"edigw/queue"
)

// A claimed file is called ".claim~<message id>~<name>". The id is that of the
// message that the file becomes: if edigw is killed between accepting and
// moving it, the repeat finds its own message and is no duplicate.
const (
	claimPrefix = ".claim~"
	idLength    = 26
)

// claim is a file that is being taken in.
type claim struct {
	id   string // of the message to be made
	name string // as it was dropped, shortened so that all names made of it fit
}

func (c claim) file() string { return claimPrefix + c.id + "~" + c.name }

// isClaim reports whether a file was claimed.
func isClaim(name string) bool { _, ok := parseClaim(name); return ok }

func parseClaim(file string) (claim, bool) {
	rest, ok := strings.CutPrefix(file, claimPrefix)
	if !ok || len(rest) < idLength+2 || rest[idLength] != '~' || strings.Trim(rest[:idLength], "0123456789abcdefghjkmnpqrstvwxyz") != "" {
		return claim{}, false
	}
	return claim{rest[:idLength], rest[idLength+1:]}, true
}

// original is the name under which a file was dropped.
func original(file string) string {
	if c, ok := parseClaim(file); ok {
		return c.name
	}
	return file
}

// claim renames a file so that a crash leaves it to be claimed again.
func (o *Outbox) claim(root *os.Root, file string, now time.Time) (claim, error) {
	if c, ok := parseClaim(file); ok {
		one, err1 := root.Lstat(c.file())
		other, err2 := root.Lstat(c.name)
		if err1 == nil && err2 == nil && os.SameFile(one, other) {
			return c, root.Remove(c.name) // a crash came while it was given back
		}
		return c, nil
	}
	id, err := queue.NewID(now, o.in.Random)
	if err != nil {
		return claim{}, err
	}
	c := claim{id, file[:min(len(file), maxFileName)]}
	return c, root.Rename(file, c.file())
}

// unclaim gives a file its name back, unless another one has it by now: then
// it stays claimed, and is taken in again as that.
func unclaim(root *os.Root, c claim) {
	if root.Link(c.file(), c.name) == nil {
		_ = root.Remove(c.file()) // what stays of two links is found when it is claimed again
	}
}

// place moves a claimed file below the outbox.
func place(root *os.Root, c claim, folder, name string) error {
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := root.Rename(c.file(), path.Join(folder, name)); err != nil {
		return err
	}
	// To rename one of two links to the same file does nothing.
	if err := root.Remove(c.file()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// note writes a small file for people.
func note(root *os.Root, folder, name, text string) error {
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(path.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// errChanging says that a file was written to while it was read.
var errChanging = errors.New("intake: the file is still being written")

// steady reads a file and fails at its end if it changed meanwhile.
type steady struct {
	file    *os.File
	before  fs.FileInfo
	changed bool
}

func (s *steady) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if err != io.EOF {
		return n, err
	}
	after, failed := s.file.Stat()
	if failed != nil {
		return n, failed
	}
	if after.Size() != s.before.Size() || !after.ModTime().Equal(s.before.ModTime()) {
		s.changed = true
		return n, errChanging
	}
	return n, io.EOF
}
