package spool

import (
	"os"
	"syscall"
)

// startWriting is SYNC_FILE_RANGE_WRITE: begin, and wait for nothing.
const startWriting = 2

// begin has the disk begin to write a stretch of a file. It promises nothing and
// cannot fail: a file system that does not know it writes when it is synced.
func begin(f *os.File, at, n int64) {
	_ = syscall.SyncFileRange(int(f.Fd()), at, n, startWriting)
}
