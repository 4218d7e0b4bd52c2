package as2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// scratchMemory is how much of one layer is held in memory before it goes to a
// file.
const scratchMemory = 64 << 10

// errScratch marks a fault of our own disk: never the partner's.
var errScratch = errors.New("scratch file")

// scratch holds one layer of a message while it is looked at. What is larger than
// scratchMemory lies in a file without a name (mode 0600), which vanishes with
// the process whatever happens.
type scratch struct {
	dir   string
	claim *claim
	mem   []byte
	file  *os.File
	size  int64
	room  int64 // granted to the file
}

// Write implements io.Writer.
func (s *scratch) Write(p []byte) (int, error) {
	if s.file == nil && len(s.mem)+len(p) <= scratchMemory {
		s.mem = append(s.mem, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	if err := s.ask(s.size + int64(len(p))); err != nil {
		return 0, err
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return 0, fmt.Errorf("%w: %w", errScratch, err)
		}
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	s.claim.wrote(int64(n))
	if err != nil {
		return n, fmt.Errorf("%w: %w", errScratch, err)
	}
	return n, nil
}

// ask has room granted for a file of size bytes, before anything is written.
func (s *scratch) ask(size int64) error {
	if size <= s.room {
		return nil
	}
	more := (size - s.room + scratchStep - 1) / scratchStep * scratchStep
	if err := s.claim.take(more); err != nil {
		return err
	}
	s.room += more
	return nil
}

// spill moves what is in memory to a file.
func (s *scratch) spill() error {
	f, err := os.CreateTemp(s.dir, "as2-*")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return err
	}
	if _, err := f.Write(s.mem); err != nil {
		f.Close()
		return err
	}
	s.claim.wrote(int64(len(s.mem)))
	s.file, s.mem = f, nil
	return nil
}

// free gives back what a layer holds that nobody reads any more.
func (s *scratch) free() {
	if s.file != nil {
		s.file.Close()
		s.claim.give(s.room, s.size)
	}
	s.file, s.mem, s.room, s.size = nil, nil, 0, 0
}

// open reads from the beginning; several readers do not disturb each other.
func (s *scratch) open() io.Reader {
	if s.file == nil {
		return bytes.NewReader(s.mem)
	}
	return scratchReader{io.NewSectionReader(s.file, 0, s.size)}
}

// scratchReader marks faults of the disk.
type scratchReader struct{ r io.Reader }

// Read implements io.Reader.
func (s scratchReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errScratch, err)
	}
	return n, err
}

// space is all that one request may put aside.
type space struct {
	dir   string
	claim claim
	all   []*scratch
}

func (s *space) new() *scratch {
	n := &scratch{dir: s.dir, claim: &s.claim}
	s.all = append(s.all, n)
	return n
}

// close gives everything back.
func (s *space) close() {
	for _, one := range s.all {
		if one.file != nil {
			one.file.Close()
		}
	}
	s.claim.close()
}
