// Package scratch puts layers of messages aside while they are opened, and
// shares the room on our own disk out among the requests that do so.
//
// What is larger than Memory lies in a file without a name (mode 0600), which
// vanishes with the process whatever happens. It keeps nothing: what is to be
// kept belongs into the spool.
package scratch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Memory is how much of one layer is held in memory before it goes to a file.
const Memory = 64 << 10

// ErrDisk marks a fault of our own disk: never the partner's.
var ErrDisk = errors.New("scratch file")

// Layer holds one layer of a message while it is looked at. It is written by
// one goroutine, then read.
type Layer struct {
	space    *Space
	mem      []byte
	file     *os.File
	size     int64
	room     int64 // granted to the file
	expected int64
	of       *Layer // whose bytes these are, from at on; nil: they are its own
	at       int64
}

// Expect announces about how many bytes come, so that memory for them is taken
// once. It holds nobody to it: less or more may come.
func (l *Layer) Expect(n int64) { l.expected = n }

// Write implements io.Writer. Its errors wrap ErrDisk.
func (l *Layer) Write(p []byte) (int, error) {
	if l.file == nil && len(l.mem)+len(p) <= Memory {
		if l.mem == nil {
			l.mem = make([]byte, 0, max(int64(len(p)), min(l.expected, Memory)))
		}
		l.mem = append(l.mem, p...)
		l.size += int64(len(p))
		return len(p), nil
	}
	if err := l.ask(l.size + int64(len(p))); err != nil {
		return 0, err
	}
	if l.file == nil {
		if err := l.spill(); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrDisk, err)
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	l.space.claim.wrote(int64(n))
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return n, nil
}

// ask has room granted for a file of size bytes, before anything is written.
func (l *Layer) ask(size int64) error {
	if size <= l.room {
		return nil
	}
	more := (size - l.room + step - 1) / step * step
	if err := l.space.claim.take(more); err != nil {
		return err
	}
	l.room += more
	return nil
}

// spill moves what is in memory to a file.
func (l *Layer) spill() error {
	f, err := os.CreateTemp(l.space.dir, "scratch-*")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return err
	}
	if _, err := f.Write(l.mem); err != nil {
		f.Close()
		return err
	}
	l.space.claim.wrote(int64(len(l.mem)))
	l.file, l.mem = f, nil
	return nil
}

// Size is how many bytes were written.
func (l *Layer) Size() int64 { return l.size }

// Free gives back what a layer holds that nobody reads any more.
func (l *Layer) Free() {
	if l.file != nil {
		l.file.Close()
		l.space.claim.give(l.room, l.size)
	}
	l.file, l.mem, l.room, l.size = nil, nil, 0, 0
}

// Open reads from the beginning; several readers do not disturb each other.
// Faults of the disk wrap ErrDisk.
func (l *Layer) Open() io.ReadSeeker {
	whole := l
	if l.of != nil {
		whole = l.of
	}
	if whole.file == nil {
		held := int64(len(whole.mem))
		return bytes.NewReader(whole.mem[min(l.at, held):min(l.at+l.size, held)])
	}
	section := io.NewSectionReader(whole.file, l.at, l.size)
	return struct {
		io.Reader
		io.Seeker
	}{Reader(section), section}
}

// Section gives n bytes of a layer that was written, from at on, without copying
// them. It ends with the layer: to free it frees nothing.
func (l *Layer) Section(at, n int64) *Layer {
	whole := l
	if l.of != nil {
		whole = l.of
	}
	return &Layer{space: l.space, size: n, of: whole, at: l.at + at}
}

// Append gives what write writes to l, behind all that l has, as a section of it.
// Many small things in one layer take the memory and the open file of one.
func (l *Layer) Append(write func(io.Writer) error) (*Layer, error) {
	at := l.size
	err := write(l)
	return l.Section(at, l.size-at), err
}

// Reader reads from r, which lies on our own disk: its faults wrap ErrDisk.
func Reader(r io.Reader) io.Reader { return reader{r} }

type reader struct{ r io.Reader }

func (l reader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return n, err
}

// Space is all that one request may put aside.
type Space struct {
	dir   string
	claim claim
	all   []*Layer
}

// New makes an empty layer, which ends with the space.
func (s *Space) New() *Layer {
	l := &Layer{space: s}
	s.all = append(s.all, l)
	return l
}

// Take moves a layer of another space into s, which is charged with it from then
// on: nothing is copied. Sections of it stay good.
func (s *Space) Take(l *Layer) error {
	from := l.space
	if l.file != nil {
		if err := s.claim.take(l.room); err != nil {
			return err
		}
		s.claim.wrote(l.size)
		from.claim.give(l.room, l.size)
	}
	from.all = slices.DeleteFunc(from.all, func(other *Layer) bool { return other == l })
	l.space, s.all = s, append(s.all, l)
	return nil
}

// Partner is whom the space is charged to; empty for strangers.
func (s *Space) Partner() string { return s.claim.partner }

// Fits reports, with ErrNoRoom, whether n bytes more could be granted now. What
// fits into memory needs no room.
func (s *Space) Fits(n int64) error {
	if n <= Memory {
		return nil
	}
	return s.claim.fits(n)
}

// Close gives everything back; all layers end.
func (s *Space) Close() {
	for _, l := range s.all {
		if l.file != nil {
			l.file.Close()
		}
	}
	s.claim.close()
}
