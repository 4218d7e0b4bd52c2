package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// LockName is the file that the process which has the data folder keeps
// locked; it holds the process id.
const LockName = "lock"

// LockedError says that another process has the data folder.
type LockedError struct {
	Dir string
	PID int // 0 if it is not known
}

// Error names the folder and the process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("sqlite: %s: store locked by another process", e.Dir)
	}
	return fmt.Sprintf("sqlite: %s: store locked by process %d", e.Dir, e.PID)
}

// lockFolder locks a data folder until the file is closed or the process is
// gone, however it ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		text, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &LockedError{Dir: dir, PID: pid}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("sqlite: lock %s: %w", dir, err)
	}
	return f, nil
}
