package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edigw/queue"
)

// Open opens a body for reading; the caller closes it. The error is
// fs.ErrNotExist by errors.Is if there is none of that name, and
// queue.ErrUnavailable or the context's if that cannot be told now. A small body
// that is not what its name says is an error: the disk damaged it.
func (s *Spool) Open(k Kind, name string) (io.ReadSeekCloser, error) {
	path, err := s.path(k, name)
	if err != nil {
		return nil, err
	}
	if body, ok := s.recent.get(key{k, name}); ok {
		return inMemory{bytes.NewReader(body)}, nil
	}
	if s.small != nil {
		body, err := s.small.Get(context.Background(), string(k), name)
		if err == nil {
			return held(k, name, body)
		}
		if !errors.Is(err, queue.ErrNotFound) {
			return nil, fault(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault(err)
	}
	return f, nil
}

// inMemory is a small body that was read.
type inMemory struct{ *bytes.Reader }

// Close meets io.Closer.
func (inMemory) Close() error { return nil }

func held(k Kind, name string, body []byte) (io.ReadSeekCloser, error) {
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("spool: %s %s is damaged: it holds other bytes than were stored; restore the last backup, or have the document sent again", k, name)
	}
	return inMemory{bytes.NewReader(body)}, nil
}

// Size is the length of a body in bytes; errors as with Open.
func (s *Spool) Size(k Kind, name string) (int64, error) {
	path, err := s.path(k, name)
	if err != nil {
		return 0, err
	}
	if body, ok := s.recent.get(key{k, name}); ok {
		return int64(len(body)), nil
	}
	if s.small != nil {
		n, err := s.small.Size(context.Background(), string(k), name)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, queue.ErrNotFound) {
			return 0, fault(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fault(err)
	}
	return info.Size(), nil
}

// Remove deletes bodies unless they were committed, also again, after before:
// an arrival that just stored the same bytes may be about to name them. It
// reports whether all are gone; one that never was is gone too. A zero before
// deletes in any case.
func (s *Spool) Remove(k Kind, before time.Time, names ...string) (gone bool, err error) {
	paths := make([]string, len(names))
	for i, name := range names {
		if paths[i], err = s.path(k, name); err != nil {
			return false, err
		}
	}
	if len(names) == 0 {
		return true, nil
	}
	gone = true
	if s.small != nil {
		n, err := s.small.Delete(context.Background(), string(k), before, names...)
		s.recent.drop(k, names)
		if err != nil {
			return false, fault(err)
		}
		gone = n == len(names)
	}
	for _, path := range paths {
		one, err := s.removeFile(path, before)
		if err != nil {
			return false, err
		}
		gone = gone && one
	}
	return gone, nil
}

func (s *Spool) removeFile(path string, before time.Time) (gone bool, err error) {
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

// page is how many names are asked for at once.
const page = 500

// Walk calls fn with the name of each body of a kind that was last committed
// before the given time, until fn fails. A name comes twice if an earlier
// version left a file of it. Bodies that nobody names stay behind when an
// arrival comes to nothing; this finds them.
func (s *Spool) Walk(k Kind, before time.Time, fn func(name string) error) error {
	if s.small != nil {
		if err := s.walkSmall(k, before, fn); err != nil {
			return err
		}
	}
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

func (s *Spool) walkSmall(k Kind, before time.Time, fn func(name string) error) error {
	for last := ""; ; {
		names, err := s.small.Names(context.Background(), string(k), before, last, page)
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		for _, name := range names {
			if err := fn(name); err != nil {
				return err
			}
			last = name
		}
		if len(names) == 0 {
			return nil
		}
	}
}
