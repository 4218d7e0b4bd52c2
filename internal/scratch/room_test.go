package scratch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// disk has so many bytes for everybody; what scratch files hold of it is gone.
type disk struct {
	size  int64
	fault error
	rooms *Rooms
}

func (d *disk) Room() (int64, error) {
	if d.rooms == nil {
		return d.size, d.fault
	}
	return d.size - d.rooms.Written(), d.fault
}

func newDisk(size int64) *disk {
	d := &disk{size: size}
	d.rooms = NewRooms(d)
	return d
}

// TestUploadsShareTheRoom holds the bounds of docs/security.md: half of the
// room for all, half of that for a partner, three fourths for an address.
func TestUploadsShareTheRoom(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		held map[string]int64 // "partner@address"
		who  string
		want int64 // in MB
	}{
		"a partner alone":               {nil, "a@1", 20},
		"strangers are one partner":     {map[string]int64{"@1": 20}, "@2", 0},
		"another one has his part":      {map[string]int64{"a@1": 20}, "b@2", 20},
		"a third one gets what is over": {map[string]int64{"a@1": 20, "b@2": 15}, "c@3", 5},
		"all together":                  {map[string]int64{"a@1": 20, "b@2": 20}, "c@3", 0},
		"one address, many names":       {map[string]int64{"a@1": 20}, "b@1", 10},
		"one partner, many addresses":   {map[string]int64{"a@1": 15}, "a@2", 5},
	} {
		d := newDisk(80 * mb)
		as := func(who string) *claim {
			partner, address, _ := strings.Cut(who, "@")
			return &claim{rooms: d.rooms, partner: partner, address: address}
		}
		for who, n := range tc.held {
			c := as(who)
			if err := c.take(n * mb); err != nil {
				t.Fatalf("%s: %s is refused: %v", name, who, err)
			}
			c.wrote(n * mb / 2) // the rest is granted and not on the disk yet
			defer c.close()
		}
		got := int64(0)
		c := as(tc.who)
		for c.take(mb) == nil {
			got++
		}
		if got != tc.want {
			t.Errorf("%s: %s gets %d MB, want %d", name, tc.who, got, tc.want)
		}
		if err := c.take(mb); !errors.Is(err, ErrNoRoom) || !errors.Is(err, ErrDisk) {
			t.Errorf("%s: refused with %v", name, err)
		}
		c.close()
		if c = as(tc.who); tc.want > 0 && c.take(mb) != nil {
			t.Errorf("%s: what was given back is not to be had", name)
		}
	}
}

// TestRow15ScratchIsGivenBack: nothing of a request is left when it ended.
func TestRow15ScratchIsGivenBack(t *testing.T) {
	t.Parallel()
	d := newDisk(80 << 20)
	s := d.rooms.Space(t.TempDir(), "a", "1")
	for range 3 {
		if _, err := s.New().Write(make([]byte, 3<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if d.rooms.Written() != 9<<20 || d.rooms.granted != 9<<20 {
		t.Errorf("%d bytes granted, %d written", d.rooms.granted, d.rooms.Written())
	}
	s.Close()
	if r := d.rooms; r.Written() != 0 || r.granted != 0 || len(r.partners)+len(r.addresses) != 0 {
		t.Errorf("left: %d granted, %d written, %v, %v", r.granted, r.Written(), r.partners, r.addresses)
	}
}

// TestLayer holds that what comes out is what went in, for any number of
// readers, whether it lies in memory or in a file, and that no file has a name.
func TestLayer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := (*Rooms)(nil).Space(dir, "", "")
	defer s.Close()
	for _, size := range []int{0, 1, Memory - 1, Memory, Memory + 1, 3 * Memory} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7 >> 3)
		}
		l := s.New()
		if _, err := io.CopyBuffer(struct{ io.Writer }{l}, struct{ io.Reader }{bytes.NewReader(content)}, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		first, second := l.Open(), l.Open()
		if err := iotest.TestReader(struct{ io.Reader }{first}, content); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got, err := io.ReadAll(second); err != nil || !bytes.Equal(got, content) || l.Size() != int64(size) {
			t.Errorf("%d bytes: the second reader gives %d, %v; size %d", size, len(got), err, l.Size())
		}
		if inFile := l.file != nil; inFile != (size > Memory) {
			t.Errorf("%d bytes: in a file: %t", size, inFile)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files with a name: %v, %v", left, err)
	}
}

// TestSections: they give bytes of a layer that are not copied, also after it
// moved to another space, and nothing is freed with them.
func TestSections(t *testing.T) {
	t.Parallel()
	d := newDisk(80 << 20)
	for _, size := range []int{10, Memory, 3 * Memory} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7 >> 3)
		}
		strangers, s := d.rooms.Space(t.TempDir(), "", "1"), d.rooms.Space(t.TempDir(), "a", "1")
		l := strangers.New()
		l.Expect(int64(size / 2))
		if _, err := l.Write(content[:size/2]); err != nil {
			t.Fatal(err)
		}
		early := l.Section(1, 2)
		if err := s.Take(l); err != nil {
			t.Fatal(err)
		}
		strangers.Close()
		if _, err := l.Write(content[size/2:]); err != nil {
			t.Fatal(err)
		}
		section := l.Section(3, int64(size-4))
		inner := section.Section(1, 4)
		for name, tc := range map[string]struct {
			*Layer
			want []byte
		}{"early": {early, content[1:3]}, "all but": {section, content[3 : size-1]}, "of a section": {inner, content[4:8]}} {
			if got, err := io.ReadAll(tc.Open()); err != nil || !bytes.Equal(got, tc.want) || tc.Size() != int64(len(tc.want)) {
				t.Errorf("%d bytes, %s: %d bytes, %v; size %d", size, name, len(got), err, tc.Size())
			}
		}
		inner.Free()
		if got, err := io.ReadAll(l.Open()); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: the layer gives %d after a section was freed, %v", size, len(got), err)
		}
		l.Free()
		if got, err := io.ReadAll(section.Open()); size <= Memory && (err != nil || len(got) > 0) {
			t.Errorf("%d bytes: the section gives %d after the layer was freed, %v", size, len(got), err)
		}
		s.Close()
	}
	if r := d.rooms; r.Written() != 0 || r.granted != 0 || len(r.partners)+len(r.addresses) != 0 {
		t.Errorf("left: %d granted, %d written, %v, %v", r.granted, r.Written(), r.partners, r.addresses)
	}
}

// TestTakenLayersAreCharged: the partner whose space a layer moves to must have
// the room for it.
func TestTakenLayersAreCharged(t *testing.T) {
	t.Parallel()
	d := newDisk(16 << 20) // 4 MB for a partner, 8 MB for all
	strangers, s := d.rooms.Space(t.TempDir(), "", "1"), d.rooms.Space(t.TempDir(), "a", "2")
	defer strangers.Close()
	defer s.Close()
	l := strangers.New()
	if _, err := l.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(l); err != nil {
		t.Fatal(err)
	}
	if r := d.rooms; r.partners["a"] != 3<<20 || r.partners[""] != 0 || r.granted != 3<<20 || r.Written() != 3<<20 {
		t.Errorf("%d granted, %d written, by partner %v", r.granted, r.Written(), r.partners)
	}
	other := strangers.New()
	if _, err := other.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(other); !errors.Is(err, ErrNoRoom) {
		t.Errorf("more than a partner may hold: %v", err)
	}
	if r := d.rooms; r.partners["a"] != 3<<20 || r.partners[""] != 2<<20 {
		t.Errorf("after a refusal, by partner %v", r.partners)
	}
}

// TestFaultsOfTheDisk: they are told from those of whoever sends.
func TestFaultsOfTheDisk(t *testing.T) {
	t.Parallel()
	l := (*Rooms)(nil).Space(t.TempDir()+"/nowhere", "", "").New()
	if _, err := l.Write(make([]byte, Memory+1)); !errors.Is(err, ErrDisk) || errors.Is(err, ErrNoRoom) {
		t.Errorf("no folder: %v", err)
	}
	broken := Reader(iotest.ErrReader(errors.New("input/output error")))
	if _, err := io.ReadAll(broken); !errors.Is(err, ErrDisk) {
		t.Errorf("a disk that does not read: %v", err)
	}
	d := newDisk(1 << 30)
	d.fault = errors.New("input/output error")
	if err := d.rooms.Space("", "", "").Fits(Memory + 1); !errors.Is(err, ErrDisk) || errors.Is(err, ErrNoRoom) {
		t.Errorf("a disk that cannot be asked: %v", err)
	}
}

// TestFreedLayersMakeRoom: and what fits into memory needs none.
func TestFreedLayersMakeRoom(t *testing.T) {
	t.Parallel()
	d := newDisk(8 << 20) // 2 MB for a partner
	s := d.rooms.Space(t.TempDir(), "a", "1")
	defer s.Close()
	l := s.New()
	if _, err := l.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := s.Fits(Memory + 1); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "messages of a ") {
		t.Errorf("a full space: %v", err)
	}
	if err := s.Fits(Memory); err != nil {
		t.Errorf("what fits into memory: %v", err)
	}
	l.Free()
	if err := s.Fits(2 << 20); err != nil || l.Size() != 0 || d.rooms.Granted() != 0 {
		t.Errorf("a space whose layer was freed: %v, %d bytes, %d granted", err, l.Size(), d.rooms.Granted())
	}
}

func TestStretch(t *testing.T) {
	t.Parallel()
	var s Stretch
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {time.Minute, false}, {9 * time.Minute, false}, {10 * time.Minute, true}, {time.Second, false}, {-time.Hour, true}} {
		now = now.Add(tc.after)
		if got := s.Begins(now); got != tc.want {
			t.Errorf("%v later: begins %t", tc.after, got)
		}
	}
}
