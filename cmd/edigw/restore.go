package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edigw/internal/words"
	"edigw/partner"
)

// RestoreCommand fills an empty data folder from a backup.
type RestoreCommand struct {
	File string `arg:"" type:"existingfile" help:"A file that edigw backup wrote."`
}

// Help is shown by --help.
func (RestoreCommand) Help() string {
	return "Example:\n  mv data data.broken && edigw restore /backup/edigw-2026-11-30.tar\n\nSince the backup was made documents may have gone out that it does not know of.\nTherefore every unfinished message becomes uncertain and every lane is stopped,\nuntil edigw partner start. Files in outbox/*/accepted that are newer\nthan the backup can be dropped in again: they keep their Message-IDs."
}

// Run checks that the backup belongs to this installation, unpacks it and
// marks what is uncertain.
func (c *RestoreCommand) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	data := string(s.Gateway().Data)
	if entries, err := os.ReadDir(data); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: move it away first, a restore never overwrites", data)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	m, messages, lanes, err := restore(e.ctx, f, s)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	e.say("Restored as of %s.", m.Created.Local().Format(time.DateTime))
	e.say("%s may have been sent since and became uncertain; %s stopped.", words.Count(messages, "unfinished message", "unfinished messages"), words.Count(lanes, "lane is", "lanes are"))
	e.say("Next: edigw serve, look at edigw dlq list and edigw message list, then")
	e.say("  edigw partner start ID      (or --all-partners)")
	return e.result(map[string]any{"created": m.Created, "uncertain": messages, "stopped": lanes})
}

// restoringSuffix is of the folder beside the data folder that a restore
// fills. It gets the data folder's name when it is whole: what is cut off
// earlier can never be served.
const restoringSuffix = ".restoring"

// restoredWhole fails if a restore was cut off: a gateway that began with no
// data would take documents again that were sent before.
func restoredWhole(data string) error {
	switch _, err := os.Lstat(data + restoringSuffix); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("a restore was cut off or is under way: run edigw restore again, or delete %s to do without it", data+restoringSuffix)
}

// restore fills the data folder, which is missing or empty, from a backup.
func restore(ctx context.Context, r io.Reader, s *partner.Snapshot) (m manifest, messages, lanes int, err error) {
	data := string(s.Gateway().Data)
	folder := data + restoringSuffix
	if err := os.RemoveAll(folder); err != nil { // of a try that was cut off
		return m, 0, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	u := &unpacking{ctx: ctx, dir: folder, places: make(chan struct{}, commitsAtOnce)}
	m, err = u.unpack(r, s.Gateway().Identity.Domain)
	if err == nil {
		messages, lanes, err = u.store.MarkRestored(ctx, time.Now(), s.IDs())
	}
	if err := errors.Join(err, u.close()); err != nil {
		return m, 0, 0, err
	}
	if err := syncFolders(folder); err != nil {
		return m, 0, 0, err
	}
	if err := os.Remove(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, 0, 0, err
	}
	if err := os.Rename(folder, data); err != nil {
		return m, 0, 0, err
	}
	return m, messages, lanes, syncFolder(filepath.Dir(data))
}
