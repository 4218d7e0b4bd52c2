package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"edigw/queue"
)

// Writer makes one body. It is used by one goroutine, and ends with Commit or
// Abort. Its errors are queue.ErrNoSpace and queue.ErrTooLarge by errors.Is,
// or a fault of the disk.
type Writer struct {
	spool *Spool
	kind  Kind
	held  *[]byte  // all of it, as long as it is small; of gathering
	file  *os.File // nil until it is too large for that
	hash  hash.Hash
	size  int64
	limit int64
	room  int64 // it was looked whether so much has room
	begun int64 // so much of the file the disk was told to write
	ended bool
	err   error // the first failure; the body is lost
}

// lookEvery is how much is written until it is looked again whether Reserve
// stays free: many files that fit one by one may not fit together.
const lookEvery = 256 << 10

// ahead is how much of a file gathers until the disk is told to begin with it.
// It then works while the rest is made, and neither Commit nor the fsync of
// somebody else's small body waits for a gigabyte to be written.
const ahead = 8 << 20

// gathering lends the memory that small bodies gather in.
var gathering = sync.Pool{New: func() any { b := make([]byte, 0, MaxSmall); return &b }}

// giveBack ends the use of that memory.
func (w *Writer) giveBack() {
	if w.held != nil {
		*w.held = (*w.held)[:0]
		gathering.Put(w.held)
		w.held = nil
	}
}

// Create begins a body of at most limit bytes; 0 means no limit.
func (s *Spool) Create(k Kind, limit int64) (*Writer, error) {
	w := &Writer{spool: s, kind: k, held: gathering.Get().(*[]byte), hash: sha256.New(), limit: limit}
	if s.small == nil {
		if err := w.spill(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// spill goes on in a file.
func (w *Writer) spill() error {
	f, err := os.CreateTemp(filepath.Join(w.spool.dir, string(w.kind)), tempPrefix)
	if err != nil {
		return fault(err)
	}
	w.file = f
	if _, err := f.Write(*w.held); err != nil {
		return fault(err)
	}
	w.giveBack()
	return nil
}

// Write appends p. A writer that failed stays failed.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.limit > 0 && w.size+int64(len(p)) > w.limit {
		w.err = fmt.Errorf("spool: %s of more than %d bytes: %w", w.kind, w.limit, queue.ErrTooLarge)
		return 0, w.err
	}
	if err := w.look(int64(len(p))); err != nil {
		w.err = err
		return 0, err
	}
	n, err := w.append(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	w.err = err
	if w.file != nil && w.size-w.begun >= ahead {
		begin(w.file, w.begun, w.size-w.begun)
		w.begun = w.size
	}
	return n, err
}

func (w *Writer) append(p []byte) (int, error) {
	if w.file == nil && len(*w.held)+len(p) <= MaxSmall {
		*w.held = append(*w.held, p...)
		return len(p), nil
	}
	if w.file == nil {
		if err := w.spill(); err != nil {
			return 0, err
		}
	}
	n, err := w.file.Write(p)
	if err != nil {
		err = fault(err)
	}
	return n, err
}

// look fails if the body would grow into Reserve. A receipt may: it is small,
// and proves what was done already.
func (w *Writer) look(n int64) error {
	if w.kind == Receipt || w.size+n <= w.room {
		return nil
	}
	n += lookEvery
	if err := w.spool.HasRoom(n); err != nil {
		return err
	}
	w.room = w.size + n
	return nil
}

// Commit gives the body its name and returns when it would survive a power
// cut. Bytes that are stored already are renewed under the same name. After an
// error the name is not given out; a body of these bytes may stand there, from
// before or because it could not be taken away.
func (w *Writer) Commit() (name string, size int64, err error) {
	if w.ended {
		return "", 0, errors.New("spool: body was ended already")
	}
	defer w.Abort()
	if w.err != nil {
		return "", 0, w.err
	}
	name = hex.EncodeToString(w.hash.Sum(nil))
	path, err := w.spool.path(w.kind, name)
	if err != nil {
		return "", 0, err
	}
	if w.file == nil { // its age is told by the same clock as a file's
		body := *w.held
		if w.kind.soonRead() {
			body = bytes.Clone(body) // recent keeps it
		}
		if err = w.spool.small.Put(context.Background(), string(w.kind), name, body, time.Now()); err == nil && w.kind.soonRead() {
			w.spool.recent.put(key{w.kind, name}, body)
		}
	} else if err = w.place(path); err == nil {
		w.file = nil
	}
	if err != nil {
		return "", 0, fault(err)
	}
	return name, w.size, nil
}

// place makes the file durable under its name. A new one gets the name first:
// nobody knows the name yet, and file and folder then reach the disk by one
// write of the journal in place of two. A file that is there already is
// replaced by its equal once that is durable, so that its age begins anew
// (Remove) and a damaged one heals.
func (w *Writer) place(path string) error {
	fresh, err := w.move(path, false)
	if err != nil {
		return err
	}
	if err = w.file.Sync(); err == nil && !fresh {
		_, err = w.move(path, true)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		if fresh {
			w.takeBack(path)
		}
		return err
	}
	return w.file.Close()
}

// move gives the file its name, and reports whether it did: not if another
// file has it, unless that is to be replaced.
func (w *Writer) move(path string, replace bool) (moved bool, err error) {
	w.spool.mu.Lock()
	defer w.spool.mu.Unlock()
	if !replace {
		if _, err := os.Lstat(path); err == nil {
			return false, nil
		}
	}
	err = os.Rename(w.file.Name(), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.spool.shard(filepath.Dir(path)); err == nil {
			err = os.Rename(w.file.Name(), path)
		}
	}
	return err == nil, err
}

// takeBack removes a file that has its name and could not be made durable,
// unless a good one replaced it meanwhile.
func (w *Writer) takeBack(path string) {
	w.spool.mu.Lock()
	defer w.spool.mu.Unlock()
	ours, err := w.file.Stat()
	if err != nil {
		return
	}
	if there, err := os.Lstat(path); err == nil && os.SameFile(ours, there) {
		os.Remove(path)
	}
}

// shard makes a folder that is missing, durably.
func (s *Spool) shard(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(folder))
}

// Abort throws the body away. It does nothing after Commit.
func (w *Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	w.giveBack()
	if w.file != nil {
		w.file.Close()
		os.Remove(w.file.Name())
		w.file = nil
	}
	if w.err == nil {
		w.err = fs.ErrClosed
	}
}
