package sqlite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/queue"
)

// crashFolder tells the test binary that it is the child of the crash test.
const crashFolder = "EDIGW_TEST_CRASH_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		acceptForEver(dir)
	}
	flag.Set("rapid.checks", "40") // each opens a database; the command line says otherwise
	os.Exit(m.Run())
}

// acceptForEver accepts documents from several goroutines and prints the
// number of each that was acknowledged, until it is killed.
func acceptForEver(dir string) {
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("open")
	var mu sync.Mutex
	for worker := range int64(8) {
		go func() {
			for n := worker; ; n += 8 {
				if _, err := s.Accept(context.Background(), testArrival(n)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(n)
				mu.Unlock()
			}
		}()
	}
	select {}
}

func TestAcknowledgedDocumentsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	known := map[int64]bool{}
	for _, count := range []int{100, 500, 1000} {
		child := exec.Command(self)
		child.Env = append(os.Environ(), crashFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "open" {
			t.Fatalf("the child said %q", lines.Text())
		}
		if count == 100 {
			var locked *LockedError
			if _, err := Open(t.Context(), dir, Options{}); !errors.As(err, &locked) || locked.PID != child.Process.Pid {
				t.Errorf("while another process has it: %v", err)
			}
		}
		for n := 0; lines.Scan(); n++ {
			number, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				break // the line that the kill cut
			}
			known[number] = true
			if n == count {
				child.Process.Kill() // and read on: what was printed was acknowledged
			}
		}
		child.Wait()
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range known {
			id := testArrival(n).Message.ID
			m, err := s.Message(t.Context(), id)
			if err != nil || m.State != queue.Queued {
				t.Errorf("acknowledged %s: %s, %v", id, m.State, err)
			}
			if events, err := s.Timeline(t.Context(), id); err != nil || len(events) == 0 {
				t.Errorf("%s has no event: %v", id, err)
			}
		}
		if err := recount(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// recount compares every counter with a count of the rows.
func recount(ctx context.Context, s *Store) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	checks := map[string]string{
		"lanes": `SELECT c.lane FROM lane_counts AS c WHERE
			c.depth <> (SELECT count(*) FROM messages AS m WHERE m.lane = c.lane AND m.state IN ('queued', 'waiting', 'sending')) OR
			c.bytes <> (SELECT coalesce(sum(size), 0) FROM messages AS m WHERE m.lane = c.lane AND m.state IN ('queued', 'waiting', 'sending')) OR
			c.acks <> (SELECT count(*) FROM messages AS m WHERE m.lane = c.lane AND m.state = 'awaiting-ack') OR
			c.dead <> (SELECT count(*) FROM letters AS l WHERE l.lane = c.lane AND l.status = 'open')`,
		"lanes without a counter":   "SELECT DISTINCT lane FROM messages WHERE lane NOT IN (SELECT lane FROM lane_counts)",
		"reasons":                   "SELECT c.lane || ' ' || c.reason FROM letter_counts AS c WHERE c.open <> (SELECT count(*) FROM letters AS l WHERE l.lane = c.lane AND l.reason = c.reason AND l.status = 'open')",
		"letters without a counter": "SELECT l.id FROM letters AS l WHERE NOT EXISTS (SELECT 1 FROM letter_counts AS c WHERE c.lane = l.lane AND c.reason = l.reason)",
		"outages": `SELECT c.outage FROM outage_counts AS c WHERE c.letters <> (SELECT count(*) FROM letters AS l WHERE l.outage = c.outage) OR
			c.open <> (SELECT count(*) FROM letters AS l WHERE l.outage = c.outage AND l.status = 'open')`,
		"outages without a counter": "SELECT outage FROM letters WHERE outage <> '' AND outage NOT IN (SELECT outage FROM outage_counts)",
	}
	var wrong []string
	err := s.read(ctx, func(t *tx) error {
		for name, query := range checks {
			rows, err := collect(t, scanValue[string], query)
			if err != nil {
				return err
			}
			for _, r := range rows {
				wrong = append(wrong, name+": "+r)
			}
		}
		return nil
	})
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("counters are wrong: %s", strings.Join(wrong, ", "))
	}
	return err
}
