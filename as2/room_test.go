package as2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"testing/iotest"

	"edigw/internal/scratch"
)

// disk has so many bytes for everybody; what scratch files hold of it is gone.
type disk struct {
	size  int64
	fault error
	rooms *scratch.Rooms
}

func (d *disk) Room() (int64, error) {
	if d.rooms == nil {
		return d.size, d.fault
	}
	return d.size - d.rooms.Written(), d.fault
}

func newDisk(size int64) *disk {
	d := &disk{size: size}
	d.rooms = scratch.NewRooms(d)
	return d
}

// crowdedHandler has a disk, and notes what it tells of it.
type crowdedHandler struct {
	*Handler
	disk   *disk
	told   []string
	errors *int
}

func newCrowded(t *testing.T, m *memory, size int64) *crowdedHandler {
	t.Helper()
	c := &crowdedHandler{Handler: testHandler(t, m), disk: &disk{size: size}, errors: new(int)}
	c.o.Log = slog.New(counting{c.errors})
	c.o.Room = scratch.NewRooms(c.disk)
	c.disk.rooms = c.o.Room
	c.o.Crowded = func(partner string, _ error) { c.told = append(c.told, partner) }
	return c
}

// counting counts errors in the log.
type counting struct{ n *int }

func (counting) Enabled(context.Context, slog.Level) bool { return true }
func (c counting) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c counting) WithGroup(string) slog.Handler          { return c }
func (c counting) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		*c.n++
	}
	return nil
}

// noise cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(rand.NewChaCha8([32]byte{1}), b); err != nil {
		panic(err)
	}
	return b
}

// numbered is lines that can be compressed well.
func numbered(lines int) []byte {
	var b bytes.Buffer
	for n := range lines {
		fmt.Fprintf(&b, "LIN+%d++an article of an order\r\n", n)
	}
	return b.Bytes()
}

// TestNoRoomIsTriedAgain: an upload that does not fit into the room is refused
// before the disk is full, at any layer, and nothing of it is kept; the sender
// is asked to come again, and is served when there is room.
func TestNoRoomIsTriedAgain(t *testing.T) {
	t.Parallel()
	compressed := toNorthwind()
	compressed.Compress = CompressBeforeSign
	for name, tc := range map[string]struct {
		a       Agreement
		content []byte
		room    int64
		chunked bool
		unread  bool // it is refused before its body is read
	}{
		"announced":           {a: toNorthwind(), content: noise(3 << 20), room: 4 << 20, unread: true},
		"not announced":       {a: toNorthwind(), content: noise(3 << 20), room: 4 << 20, chunked: true},
		"a layer within":      {a: toNorthwind(), content: noise(3 << 20), room: 4 * 5 << 20},
		"what it inflates to": {a: compressed, content: numbered(200_000), room: 20 << 20},
		"nothing is left":     {a: toNorthwind(), content: noise(1 << 20), room: -1, unread: true},
	} {
		m := &memory{agreement: fromAcme()}
		c := newCrowded(t, m, tc.room)
		r, wire := mustBuild(t, tc.a, tc.content)
		for range 3 {
			req := wireRequest(t, r, wire)
			body := &reads{Reader: bytes.NewReader(wire)}
			req.Body = io.NopCloser(body)
			if tc.chunked {
				req.ContentLength = -1
			}
			res := serve(c, req)
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
				t.Errorf("%s: status %d, Retry-After %q", name, res.StatusCode, res.Header.Get("Retry-After"))
			}
			if tc.unread && body.n > 0 {
				t.Errorf("%s: %d bytes were read", name, body.n)
			}
		}
		if len(m.received) > 0 || c.o.Room.Granted() != 0 {
			t.Errorf("%s: %d received, %d bytes still granted", name, len(m.received), c.o.Room.Granted())
		}
		if left, err := os.ReadDir(c.o.Scratch); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
		if len(c.told) != 1 || c.told[0] != "p1" || *c.errors != 1 {
			t.Errorf("%s: told %q with %d errors in the log, want once", name, c.told, *c.errors)
		}
		c.disk.size = 1 << 30
		if _, state := dispositionOf(t, serve(c, wireRequest(t, r, wire))); state != "processed" {
			t.Errorf("%s: with room: %q", name, state)
		}
	}
}

type reads struct {
	io.Reader
	n int
}

func (r *reads) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += n
	return n, err
}

// TestUnknownRoomIsNoRoom: a disk that cannot be asked takes nothing.
func TestUnknownRoomIsNoRoom(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	c := newCrowded(t, m, 1<<30)
	c.disk.fault = errors.New("input/output error")
	r, wire := mustBuild(t, toNorthwind(), noise(1<<20))
	if res := serve(c, wireRequest(t, r, wire)); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d", res.StatusCode)
	}
}

// TestSmallMessagesNeedNoRoom: what fits into memory is taken as long as the
// inbox takes it, and a body that breaks off is the sender's fault, not ours.
func TestSmallMessagesNeedNoRoom(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	c := newCrowded(t, m, 0)
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	if _, state := dispositionOf(t, serve(c, wireRequest(t, r, wire))); state != "processed" {
		t.Errorf("answered %q", state)
	}
	req := wireRequest(t, r, wire)
	req.Body = io.NopCloser(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(wire))))
	if res := serve(c, req); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that breaks off: status %d", res.StatusCode)
	}
}
