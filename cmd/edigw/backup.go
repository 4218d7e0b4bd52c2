package main

import (
	"archive/tar"
	"context"
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

	"edigw/internal/apiclient"
	"edigw/store/spool"
	"edigw/store/sqlite"
)

// BackupCommand writes a consistent copy of the data of a gateway.
type BackupCommand struct {
	File string `arg:"" help:"File to write; it must not exist."`
}

// Help is shown by --help.
func (BackupCommand) Help() string {
	return "Example:\n  edigw backup /backup/edigw-$(date +%F).tar\n\nIt holds the database and every document, message and receipt it names; not the\nsettings, keys and secrets: back those up by your own means. The gateway goes on\nmeanwhile."
}

// Run has the running gateway write it, or writes it from the data folder of a
// stopped one.
func (c *BackupCommand) Run(e *env) error {
	file, err := filepath.Abs(c.File)
	if err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	err = gateway.Post(e.ctx, "/backup", map[string]string{"file": file}, nil)
	var down *apiclient.UnreachableError
	if e.url == "" && errors.As(err, &down) && !down.Denied() {
		err = c.offline(e, file)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("the backup was written by the gateway, but is not to be seen here: %w", err)
	}
	e.say("%s written, %d bytes", c.File, info.Size())
	return e.result(map[string]any{"file": file, "bytes": info.Size()})
}

func (c *BackupCommand) offline(e *env, file string) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	data := string(s.Gateway().Data)
	store, err := sqlite.Open(e.ctx, data, sqlite.Options{})
	var lost *sqlite.LostError
	if errors.As(err, &lost) {
		e.say("The database lacks what was committed last, at %s; the backup holds the rest.", local(lost.Last))
		store, err = sqlite.Open(e.ctx, data, sqlite.Options{Salvage: true})
	}
	if err != nil {
		return err
	}
	err = writeBackup(e.ctx, store, data, s.Gateway().Identity.Domain, file)
	return errors.Join(err, store.Close())
}

// manifest says where a backup comes from. It is the first file of it.
type manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Domain  string    `json:"domain"`
	Created time.Time `json:"created"`
}

const (
	manifestName = "manifest.json"
	spoolName    = "spool"
	copyPrefix   = "backup-"
	format       = 1
)

// writeBackup writes the database first, then documents, messages and receipts:
// one that is newer than the database does no harm, one that is missing would.
// Small ones are written as the files that they might be, so that a backup does
// not depend on where they are kept. The caller keeps retention from running.
func writeBackup(ctx context.Context, store *sqlite.Store, data, domain, file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(file)
		}
	}()
	w := tar.NewWriter(f)
	head, err := json.MarshalIndent(manifest{Format: format, Version: version, Domain: domain, Created: time.Now().UTC()}, "", "  ")
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(head))}); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	copied := filepath.Join(data, copyPrefix+time.Now().UTC().Format("20060102T150405.000000000")+".db")
	defer os.Remove(copied)
	if err := store.Backup(ctx, copied); err != nil {
		return err
	}
	if err := addFile(w, copied, sqlite.FileName); err != nil {
		return err
	}
	if err := addBodies(ctx, w, store.Bodies()); err != nil {
		return err
	}
	if err := addSpool(ctx, w, data); err != nil {
		return err
	}
	return errors.Join(w.Close(), f.Sync(), syncFolder(filepath.Dir(file)))
}

// clearCopies removes copies of the database that a backup which was killed
// left in the data folder. The caller has its lock.
func clearCopies(data string) error {
	left, err := fs.Glob(os.DirFS(data), copyPrefix+"*.db*")
	for _, name := range left {
		err = errors.Join(err, os.Remove(filepath.Join(data, name)))
	}
	return err
}

// addBodies adds every small body.
func addBodies(ctx context.Context, w *tar.Writer, bodies *sqlite.Bodies) error {
	now := time.Now()
	for _, kind := range spool.Kinds {
		for last := ""; ; {
			names, err := bodies.Names(ctx, string(kind), now.Add(orphanAge), last, retainBatch) // however wrong the clock was
			if err != nil {
				return err
			}
			if len(names) == 0 {
				break
			}
			for _, name := range names {
				if err := addBody(ctx, w, bodies, kind, name, now); err != nil {
					return err
				}
				last = name
			}
		}
	}
	return nil
}

func addBody(ctx context.Context, w *tar.Writer, bodies *sqlite.Bodies, kind spool.Kind, name string, now time.Time) error {
	body, err := bodies.Get(ctx, string(kind), name)
	if err != nil {
		return err
	}
	head := &tar.Header{Name: path.Join(spoolName, string(kind), name[:2], name), Mode: 0o600, Size: int64(len(body)), ModTime: now}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// addSpool adds every finished file of the spool.
func addSpool(ctx context.Context, w *tar.Writer, data string) error {
	root := filepath.Join(data, spoolName)
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "tmp-") {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name, err := filepath.Rel(data, file)
		if err != nil {
			return err
		}
		err = addFile(w, file, filepath.ToSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an unfinished one that its writer took away
		}
		return err
	})
}

func addFile(w *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(w, f, info.Size())
	return err
}
