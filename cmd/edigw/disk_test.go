package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edigw/alerts"
	"edigw/queue"
	"edigw/store/spool"
	"edigw/store/sqlite"
	"edigw/web"
)

// TestFullDiskRefuses gives the gateway a disk on which no file grows beyond a
// bound: what does not fit is refused with 507 before it is accepted, the rest
// goes on, and with room again everything does.
func TestFullDiskRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	large := bytes.Repeat([]byte("a line of an invoice\r\n"), 100_000)
	s.env = []string{largestFile + "=" + strconv.Itoa(1<<20)}
	s.start()
	small := s.sent("northwind", "INV-1", []byte("an invoice"))
	_, err := s.send("northwind", "INV-2", large)
	if p := problemOf(err); p == nil || p.Status != http.StatusInsufficientStorage || p.Slug() != "disk-full" {
		t.Errorf("a document that does not fit: %v; want 507 disk-full", err)
	}
	if m := s.end(small.ID); m.State != string(queue.Delivered) {
		t.Errorf("the one that fits is %s", m.State)
	}
	s.kill()
	s.env = nil
	s.start()
	again := s.sent("northwind", "INV-2", large)
	s.settled()
	reckon(s, c, small.ID, again.ID)
}

// TestFullDiskOfTheLedger fills the database itself: documents are refused with
// 507 at some point, none that was accepted is lost, and after a restart with
// room all of them are delivered once.
func TestFullDiskOfTheLedger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	s.start()
	s.kill()
	s.env = []string{largestFile + "=" + strconv.Itoa(1536<<10)}
	s.start()
	var accepted []string
	full := false
	for n := range 2000 {
		m, err := s.send("northwind", fmt.Sprint("INV-", n), fmt.Appendf(nil, "invoice %d", n))
		if err == nil {
			accepted = append(accepted, m.ID)
			continue
		}
		if p := problemOf(err); p == nil || p.Status != http.StatusInsufficientStorage {
			t.Fatalf("document %d: %v; want 507", n, err)
		}
		full = true
		break
	}
	if !full {
		t.Fatalf("%d documents were accepted and the disk is not full", len(accepted))
	}
	s.get("/messages/"+accepted[0], nil, new(any)) // it still answers
	s.await("it says why it is not ready", func() bool {
		code, text := s.run("health", "--ready")
		return code == exitFailed && strings.Contains(text, "503 Service Unavailable: not ready: the store cannot commit: the disk of the data folder is full")
	})
	if code, text := s.run("health"); code != exitFine {
		t.Errorf("it lives all the same: exit code %d: %s", code, text)
	}
	s.roomAgain()
	s.await("the gateway is ready by itself once there is room", func() bool { code, _ := s.run("health", "--ready"); return code == exitFine })
	s.kill()
	s.env = nil
	s.start()
	s.settled()
	t.Logf("%d documents were accepted before the disk was full", len(accepted))
	reckon(s, c, accepted...)
}

// roomAgain lifts the bound on the files of the gateway that runs.
func (s *site) roomAgain() {
	s.Helper()
	var l unix.Rlimit
	pid := s.process.Process.Pid
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &l); err != nil {
		s.Fatal(err)
	}
	l.Cur = l.Max
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &l, nil); err != nil {
		s.Fatal(err)
	}
}

// TestWantOfRoomIsTold: one event when it begins and one when it ends, however
// often it is looked, and also if the gateway was started anew between.
func TestWantOfRoomIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	g := s.opened()
	if err := g.alerts.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.alerts.Stop(context.Background()) }()
	running := func() bool {
		active, err := g.store.ActiveIncidents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(active, func(in alerts.Incident) bool {
			return in.Kind == alerts.KindStore && in.Cause == alerts.RoomShort && in.Stage == alerts.Running
		})
	}
	told := func() (n int) {
		all, err := g.store.Events(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Type == queue.EventStoreBroken {
				n++
			}
		}
		return n
	}
	for want, short := range []error{nil, errors.New("no room for documents: 3 MB free"), nil, errors.New("no room for documents: 4 MB free")} {
		for range 3 {
			if err := g.tell(t.Context(), alerts.RoomShort, short, "there is room for documents again"); err != nil {
				t.Fatal(err)
			}
			s.await("the incidents know it", func() bool { return running() == (short != nil) })
		}
		if n := told(); n != want {
			t.Errorf("%v: %d events, want %d", short, n, want)
		}
	}
}

// TestSmallDocumentsThatCannotBeStoredAreTold locks the database of small bodies
// for everybody else: the gateway says that it is not ready, and people are
// told by the ledger, which is well, until documents can be stored again.
func TestSmallDocumentsThatCannotBeStoredAreTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	g := s.opened()
	if err := g.alerts.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.alerts.Stop(context.Background()) }()
	other, err := sql.Open("sqlite3", "file:"+s.path("data", sqlite.BodiesName)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	held, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("0", 64)
	if err := g.store.Bodies().Put(t.Context(), "payload", name, []byte("an invoice"), time.Now()); !errors.Is(err, queue.ErrUnavailable) {
		t.Errorf("a body that cannot be stored: %v", err)
	}
	var problem *web.Problem
	if err := g.ready(t.Context()); !errors.As(err, &problem) || problem.Detail != "the store cannot commit" {
		t.Errorf("ready: %v", err)
	}
	incident := func(stage alerts.Stage) func() bool {
		return func() bool {
			all, _, err := g.store.Incidents(t.Context(), false, queue.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(all, func(in alerts.Incident) bool {
				return in.Kind == alerts.KindStore && in.Cause == alerts.BodiesBroken && in.Stage == stage && strings.Contains(in.Detail, sqlite.BodiesName) && (stage == alerts.Over || in.Severity == alerts.Page)
			})
		}
	}
	if err := g.watchDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await("people are told", incident(alerts.Running))
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.await("it is ready again", func() bool { return g.ready(t.Context()) == nil })
	if err := g.watchDisk(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await("people are told that it is over", incident(alerts.Over))
}

// TestFullDiskOfAnUpload: a message that does not fit on the disk while it is
// opened is asked for again, and nothing of it is left.
func TestFullDiskOfAnUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.env = []string{largestFile + "=" + strconv.Itoa(1<<20)}
	s.start()
	request, err := http.NewRequest(http.MethodPost, "http://"+s.receive+"/as2", bytes.NewReader(make([]byte, 3<<20)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AS2-From": "NORTHWIND", "AS2-To": "ACME-AS2", "Message-ID": "<1@northwind.example>", "Content-Type": "application/octet-stream", "Expect": "100-continue"} {
		request.Header[name] = []string{value}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", answer.StatusCode, answer.Header.Get("Retry-After"))
	}
	left, err := filepath.Glob(s.path("data", spoolName, "as2-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRoomIsWhatTheSpoolLeaves: partners get what is free without the reserve.
func TestRoomIsWhatTheSpoolLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	room, err1 := spoolRoom(dir).Room()
	free, err2 := spool.Free(dir)
	if err1 != nil || err2 != nil || room > free-spool.Reserve+1<<30 || room < free-spool.Reserve-1<<30 {
		t.Errorf("room %d of %d free, %v, %v", room, free, err1, err2)
	}
	if _, err := spoolRoom(filepath.Join(dir, "nowhere")).Room(); err == nil {
		t.Error("a folder that is not there has room")
	}
}

// TestAStartOnAFullDiskSaysWhatToDo: the databases cannot be opened then.
func TestAStartOnAFullDiskSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	newCounterpart(s, "", "")
	s.start()
	s.kill()
	s.env = []string{largestFile + "=4096"}
	code, text := s.run("serve")
	if code != exitFailed || !strings.Contains(text, "is full") || !strings.Contains(text, "Free at least 16 MB there") || !strings.Contains(text, "delete nothing in the folder itself") {
		t.Errorf("exit code %d: %s", code, text)
	}
	s.env = nil
	s.start()
}
