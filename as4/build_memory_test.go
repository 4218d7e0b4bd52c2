package as4

import (
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"edigw/as4/wssec"
	"edigw/internal/scratch"
)

// TestRow46BuildHasConstantMemory: a payload of 100 MB is compressed, signed and
// encrypted in the memory that a small one takes. What is allocated in all bounds
// what is held at any time.
func TestRow46BuildHasConstantMemory(t *testing.T) {
	const size = 100 << 20
	for name, change := range map[string]func(*PMode){
		"compressed, signed, encrypted": func(*PMode) {},
		"signed, encrypted":             func(p *PMode) { p.Compress = false },
		"encrypted":                     func(p *PMode) { p.Compress, p.Sign, p.Receipt = false, wssec.Signing{}, ReceiptRequest{} },
	} {
		t.Run(name, func(t *testing.T) {
			p := toNorthwind()
			change(&p)
			noise := &pseudo{size: size}
			d := orderDocument(Payload{ContentType: "application/edifact", Size: size, Content: noise})
			space := (*scratch.Rooms)(nil).Space(t.TempDir(), "", "")
			defer space.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			r, err := Build(io.Discard, p, d, space, testNow)
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes of wire, %d KiB allocated, %v", r.Size, used>>10, time.Since(begin).Round(time.Millisecond))
			if r.Size < size/8 {
				t.Errorf("%d bytes became %d", size, r.Size)
			}
			if used > 8<<20 {
				t.Errorf("building %d bytes allocates %d", size, used)
			}
		})
	}
}

// pseudo is a payload that can be compressed, but not to nothing.
type pseudo struct{ size, at int64 }

func (p *pseudo) Read(b []byte) (int, error) {
	if p.at == p.size {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.size-p.at)]
	for i := range b {
		x := (uint64(p.at) + uint64(i)) * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		b[i] = "0123456789ABCDEF"[x>>60]
	}
	p.at += int64(len(b))
	return len(b), nil
}

func (p *pseudo) Seek(offset int64, _ int) (int64, error) {
	p.at = offset
	return offset, nil
}

// TestScratchOfABuild: what is put aside lies in files without names, and is
// given back with the space.
func TestScratchOfABuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rooms := scratch.NewRooms(room(1 << 30))
	space := rooms.Space(dir, "northwind", "")
	d := orderDocument(Payload{ContentType: "application/edifact", Size: 4 << 20, Content: &pseudo{size: 4 << 20}})
	if _, err := Build(io.Discard, toNorthwind(), d, space, testNow); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files with names: %v, %v", files, err)
	}
	if rooms.Written() == 0 {
		t.Error("nothing was put aside")
	}
	space.Close()
	if rooms.Written() != 0 || rooms.Granted() != 0 {
		t.Errorf("%d bytes stay written, %d granted", rooms.Written(), rooms.Granted())
	}
}

type room int64

func (r room) Room() (int64, error) { return int64(r), nil }
