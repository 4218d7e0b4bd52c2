// Package spool keeps the big things as files: documents, wire bytes and raw
// receipts. A file is named by the SHA-256 of its bytes, is durable before its
// name is given out and is never changed, so that a row of the database may
// refer to it.
//
// It knows no message: which files are still needed is for the store to say.
package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"edigw/queue"
)

// Kind is the folder of a file. The same bytes may lie in several.
type Kind string

// Kinds of files. The first three are the words of queue.Garbage.What.
const (
	Payload Kind = "payload" // documents, sent and received
	Wire    Kind = "wire"    // what builds put on the wire
	Receipt Kind = "receipt" // raw acknowledgements with their headers
	Inbox   Kind = "inbox"   // whole requests of partners
)

// Kinds lists every kind.
var Kinds = []Kind{Payload, Wire, Receipt, Inbox}

// Reserve is the space in bytes that HasRoom leaves to the database, so that a
// full disk stops arrivals before it stops results from being recorded.
const Reserve = 64 << 20

const tempPrefix = "tmp-"

// Spool is a folder of files. All methods may be called concurrently; two
// processes must not share one.
type Spool struct {
	dir string
	mu  sync.Mutex // held while a file gets or loses its name
}

// Open makes the folder if it is missing and clears away what writers of an
// earlier process left unfinished.
func Open(dir string) (*Spool, error) {
	for _, k := range Kinds {
		folder := filepath.Join(dir, string(k))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tempPrefix) {
				if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
					return nil, fmt.Errorf("spool: clear unfinished file: %w", err)
				}
			}
		}
		if err := syncDir(folder); err != nil { // of shards that an earlier process made
			return nil, fmt.Errorf("spool: %w", err)
		}
	}
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := syncDir(folder); err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
	}
	return &Spool{dir: dir}, nil
}

// Open opens a file for reading; the caller closes it. The error is
// fs.ErrNotExist by errors.Is if there is none of that name.
func (s *Spool) Open(k Kind, name string) (*os.File, error) {
	path, err := s.path(k, name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return f, nil
}

// Size is the length of a file in bytes; errors as with Open.
func (s *Spool) Size(k Kind, name string) (int64, error) {
	path, err := s.path(k, name)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	return info.Size(), nil
}

// Remove deletes a file unless it was committed, also again, after before: an
// arrival that just stored the same bytes may be about to name it. It reports
// whether the file is gone; one that never was is gone too. A zero before
// deletes in any case.
func (s *Spool) Remove(k Kind, name string, before time.Time) (gone bool, err error) {
	path, err := s.path(k, name)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !before.IsZero() {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("spool: %w", err)
		}
		if info.ModTime().After(before) {
			return false, nil
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("spool: %w", err)
	}
	return true, nil
}

// Walk calls fn with the name of each file of a kind that was last committed
// before the given time, in order of names, until fn fails. Files that nobody
// names stay behind when an arrival comes to nothing; this finds them.
func (s *Spool) Walk(k Kind, before time.Time, fn func(name string) error) error {
	root := filepath.Join(s.dir, string(k))
	shards, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	for _, shard := range shards {
		if !shard.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(root, shard.Name()))
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.ModTime().After(before) || !valid(f.Name()) {
				continue
			}
			if err := fn(f.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Free is the space in bytes that the file system of dir has left for us.
func Free(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("spool: free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// HasRoom is queue.ErrNoSpace unless n bytes fit and Reserve stays free.
func (s *Spool) HasRoom(n int64) error {
	free, err := Free(s.dir)
	if err != nil {
		return err
	}
	if free-Reserve < n {
		return fmt.Errorf("spool: %s has %d bytes free, %d are needed and %d are kept: %w", s.dir, free, n, int64(Reserve), queue.ErrNoSpace)
	}
	return nil
}

// path is where a file lies. A name that is not a digest never reaches the
// file system.
func (s *Spool) path(k Kind, name string) (string, error) {
	if !valid(name) {
		return "", fmt.Errorf("spool: %.80q is not the name of a file: %w", name, fs.ErrNotExist)
	}
	return filepath.Join(s.dir, string(k), name[:2], name), nil
}

// valid reports whether name is 64 lower-case hexadecimal digits.
func valid(name string) bool {
	if len(name) != 64 {
		return false
	}
	return strings.Trim(name, "0123456789abcdef") == ""
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// fault adds queue.ErrNoSpace to the errors that mean it: a full disk, a used
// up quota, a file over the process's limit.
func fault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("spool: %w: %w", queue.ErrNoSpace, err)
	}
	return fmt.Errorf("spool: %w", err)
}
