// Package spool keeps bodies: documents, wire bytes and raw receipts. A body is
// named by the SHA-256 of its bytes, is durable before its name is given out
// and is never changed, so that a row of the database may refer to it. Small
// ones lie in a database of their own, where many become durable by one write
// of the disk; the others are files.
//
// It knows no message: which bodies are still needed is for the store to say.
package spool

import (
	"context"
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

// Kind is what a body is for, and its folder. The same bytes may be of several.
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

// Small keeps the small bodies: those of at most MaxSmall bytes. Put returns
// when the body would survive a power cut, and keeps nothing of the slice; one
// that is kept already is renewed.
// Get and Size fail with queue.ErrNotFound if there is none. Delete drops those
// that were last put at or before a time, of any age if it is zero, and counts
// the names that are not kept now; Names lists such bodies in order of their
// names after one, none at the end. A full disk is queue.ErrNoSpace; what
// cannot be done now and may be later is queue.ErrUnavailable. All may be
// called concurrently.
type Small interface {
	Put(ctx context.Context, kind, name string, body []byte, at time.Time) error
	Get(ctx context.Context, kind, name string) ([]byte, error)
	Size(ctx context.Context, kind, name string) (int64, error)
	Delete(ctx context.Context, kind string, before time.Time, names ...string) (gone int, err error)
	Names(ctx context.Context, kind string, before time.Time, after string, limit int) ([]string, error)
}

// MaxSmall is the largest small body in bytes. Beyond it a file costs less than
// to write every byte twice, into the log of a database and into its place.
const MaxSmall = 64 << 10

// Spool is a folder of files, and small bodies beside it. All methods may be
// called concurrently; two processes must not share one.
type Spool struct {
	dir     string
	small   Small      // nil: each body is a file
	recent  recent     // small ones
	reserve int64      // Reserve
	mu      sync.Mutex // held while a file gets or loses its name
}

// Open makes the folder if it is missing and clears away what writers of an
// earlier process left unfinished. Without small each body is a file. What lies
// there as a file is found in any case.
func Open(dir string, small Small) (*Spool, error) {
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
	return &Spool{dir: dir, small: small, recent: recent{bodies: map[key][]byte{}}, reserve: Reserve}, nil
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
	if free-s.reserve < n {
		return fmt.Errorf("spool: %s has %d bytes free, %d are needed and %d are kept: %w", s.dir, free, n, s.reserve, queue.ErrNoSpace)
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

// fault says what an error means: queue.ErrNoSpace for a full disk, a used up
// quota, a file over the process's limit; queue.ErrUnavailable for what the
// machine lacks at the moment.
func fault(err error) error {
	for meaning, codes := range map[error][]syscall.Errno{
		queue.ErrNoSpace:     {syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG},
		queue.ErrUnavailable: {syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR, syscall.ETIMEDOUT},
	} {
		for _, code := range codes {
			if errors.Is(err, code) {
				return fmt.Errorf("spool: %w: %w", meaning, err)
			}
		}
	}
	return fmt.Errorf("spool: %w", err)
}
