package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// LockName is the file that holds the id of the process which has the data
// folder.
const LockName = "lock"

// LockedError says that another process has the data folder.
type LockedError struct {
	Dir string
	PID int // 0 if it is not known
}

// Error names the folder and the process.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("edigw already runs here: %s has %s; stop it first, a data folder belongs to one", who, e.Dir)
}

// folderLock is held until it is released or the process is gone, however it
// ends.
type folderLock struct{ folder, file *os.File }

// lockFolder locks a data folder. The folder itself is locked, so that no file
// that somebody removes lets a second process in; the file beside says who it
// is, and is locked too, as earlier versions did.
func lockFolder(dir string) (*folderLock, error) {
	l := new(folderLock)
	var err error
	if l.folder, err = os.Open(dir); err != nil {
		return nil, fmt.Errorf("sqlite: lock: %w", err)
	}
	if err = flock(l.folder); err == nil {
		l.file, err = os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = flock(l.file)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &LockedError{Dir: dir, PID: holder(dir)}
		return nil, errors.Join(err, l.Close())
	}
	if err == nil {
		err = l.file.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(l.file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: lock %s: %w", dir, err), l.Close())
	}
	return l, nil
}

// Close gives the folder free.
func (l *folderLock) Close() error {
	var errs []error
	for _, f := range []*os.File{l.file, l.folder} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

func flock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// holder is the process that has a folder, as one of its files says; 0 if
// none does.
func holder(dir string) int {
	for _, name := range []string{LockName, MarkName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if pid, err := strconv.Atoi(strings.TrimSpace(first)); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
