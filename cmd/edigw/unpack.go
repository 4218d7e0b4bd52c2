package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"edigw/store/spool"
	"edigw/store/sqlite"
)

// commitsAtOnce is how many bodies of a backup become durable together.
const commitsAtOnce = 128

// unpacking fills a new folder from a backup.
type unpacking struct {
	ctx   context.Context
	dir   string
	store *sqlite.Store // once its file is there
	spool *spool.Spool

	places  chan struct{} // of those who commit
	commits sync.WaitGroup
	mu      sync.Mutex
	err     error // the first that happened while a body became durable
}

// unpack reads a backup to its end; after an error the caller removes the
// folder. A backup of another installation makes none.
func (u *unpacking) unpack(r io.Reader, domain string) (m manifest, err error) {
	in := tar.NewReader(r)
	if m, err = readManifest(in, domain); err != nil {
		return m, err
	}
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return m, err
	}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, fmt.Errorf("the backup is cut off or damaged: %w", err)
		}
		if err := u.take(in, head); err != nil {
			return m, err
		}
	}
	if u.store == nil {
		return m, errors.New("the backup holds no database")
	}
	u.commits.Wait()
	return m, u.err
}

// close waits for what still becomes durable and closes the store.
func (u *unpacking) close() error {
	u.commits.Wait()
	if u.store == nil {
		return nil
	}
	return u.store.Close()
}

func readManifest(in *tar.Reader, domain string) (m manifest, err error) {
	head, err := in.Next()
	if err != nil || head.Name != manifestName {
		return m, errors.New("this is no backup of edigw")
	}
	if err := json.NewDecoder(io.LimitReader(in, 1<<20)).Decode(&m); err != nil {
		return m, errors.New("this is no backup of edigw: its manifest cannot be read")
	}
	if m.Format != format {
		return m, fmt.Errorf("a backup in format %d, written by edigw %s; this version reads format %d", m.Format, m.Version, format)
	}
	if m.Domain != domain {
		return m, fmt.Errorf("a backup of the installation with identity.domain %s, this one is %s", m.Domain, domain)
	}
	return m, nil
}

// take takes one file of the backup: the database first, then bodies. Any other
// is refused, whatever its name would lead to.
func (u *unpacking) take(in io.Reader, head *tar.Header) error {
	parts := strings.Split(head.Name, "/")
	switch {
	case head.Typeflag == tar.TypeReg && head.Name == sqlite.FileName && u.store == nil:
		return u.database(in)
	case head.Typeflag == tar.TypeReg && u.store != nil && len(parts) == 4 && parts[0] == spoolName && slices.Contains(spool.Kinds, spool.Kind(parts[1])):
		return u.body(in, spool.Kind(parts[1]))
	}
	return fmt.Errorf("the backup holds %q, which does not belong there", head.Name)
}

// database writes the database and opens it.
func (u *unpacking) database(in io.Reader) (err error) {
	f, err := os.OpenFile(filepath.Join(u.dir, sqlite.FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if u.store, err = sqlite.Open(u.ctx, u.dir, sqlite.Options{Check: true}); err != nil {
		return err
	}
	u.spool, err = spool.Open(filepath.Join(u.dir, spoolName), u.store.Bodies())
	return err
}

// body takes a document, message or receipt in, under the name that its bytes
// have: one that was damaged is missing then, and never mistaken for what it
// was. While it becomes durable the next ones are read.
func (u *unpacking) body(in io.Reader, kind spool.Kind) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	w, err := u.spool.Create(kind, 0)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		w.Abort()
		return fmt.Errorf("the backup is cut off or damaged: %w", err)
	}
	u.places <- struct{}{}
	u.commits.Go(func() {
		defer func() { <-u.places }()
		if _, _, err := w.Commit(); err != nil {
			u.failed(err)
		}
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func (u *unpacking) failed(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err == nil {
		u.err = err
	}
}
