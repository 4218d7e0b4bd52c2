package spool

import (
	"fmt"
	"syscall"
)

// Room is the space in bytes that may be filled without touching Reserve, below
// zero if that has begun, and the size of the whole file system.
func (s *Spool) Room() (free, size int64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &st); err != nil {
		return 0, 0, fmt.Errorf("spool: free space of %s: %w", s.dir, err)
	}
	return int64(st.Bavail)*st.Bsize - s.reserve, int64(st.Blocks) * st.Bsize, nil
}
