package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
)

// TestFigureAccept is B5: documents of 10 KB accepted durably and not sent, by
// one client and by many, through the HTTP API and through Accept itself,
// beside a plain loop that writes the same bytes with fsync.
func TestFigureAccept(t *testing.T) {
	figureAlone(t)
	var rows strings.Builder
	for _, clients := range []int{1, 64} {
		n := size(20*min(clients, 4), 4000)
		a := newAccepting(t)
		plain := plainWrites(t, n, clients)
		direct := a.direct(t, n, clients)
		api := a.api(t, n, clients)
		if got := lined(t, a.g); got != 2*n {
			t.Fatalf("%d documents stand in line, %d were accepted", got, 2*n)
		}
		if full() {
			for _, r := range []accepting{plain, direct, api} {
				fmt.Fprintf(&rows, "%-22s %7d   %11.0f   %8.0f %%   %s\n", r.what, clients, r.rate, 100*r.rate/plain.rate, r.commits)
			}
		}
	}
	if full() {
		t.Logf("\nB5: accepting 10 KB, durable, nothing is sent\n%-22s clients   documents/s   of the loop   commits a document\n%s%s",
			"", rows.String(), tracedSyncs(t))
	}
}

// accepting is how fast documents went in one way.
type accepting struct {
	what    string
	rate    float64
	commits string
}

// stoppedDoor is a gateway whose only partner is stopped, so that what it accepts
// stays in line.
type stoppedDoor struct {
	g     *gateway
	token string
}

func newAccepting(t *testing.T) stoppedDoor {
	t.Helper()
	p := newPair(t, inAS2, 1)
	p.connect(t, "127.0.0.1:1", 1)
	g := p.out.start(t)
	by := fault.Actor{Name: "figures", From: "local"}
	if err := g.lanes.StopLane(t.Context(), "northwind-0", by, "only accepting is measured", time.Time{}); err != nil {
		t.Fatal(err)
	}
	token, _, err := g.access.NewToken(t.Context(), "figures", []access.Scope{access.Send}, by)
	if err != nil {
		t.Fatal(err)
	}
	return stoppedDoor{g, token}
}

func (d stoppedDoor) measured(t *testing.T, what string, n, clients int, do func()) accepting {
	t.Helper()
	before := commitsOf(d.g)
	took, _ := profiled(t, fmt.Sprintf("%s-%d", strings.Fields(what)[0], clients), do)
	return accepting{what, float64(n) / took.Seconds(), fmt.Sprintf("%.2f", float64(commitsOf(d.g)-before)/float64(n))}
}

// direct hands documents to Accept.
func (d stoppedDoor) direct(t *testing.T, n, clients int) accepting {
	t.Helper()
	return d.measured(t, "Accept", n, clients, func() { acceptAll(t, d.g, []string{"northwind-0"}, load{n: n, document: invoice}, clients) })
}

// api posts documents, each client over a connection of its own.
func (d stoppedDoor) api(t *testing.T, n, clients int) accepting {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer c.CloseIdleConnections()
	url := "http://" + d.g.doors.address("console") + "/api/v1/partners/northwind-0/messages"
	return d.measured(t, "HTTP API", n, clients, func() {
		spread(t, n, clients, func(i int) error { return handIn(c, url, d.token, invoice(1_000_000+i)) })
	})
}

// handIn hands one document in over the API.
func handIn(c *http.Client, url, token string, doc []byte) error {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(doc))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/edi-x12")
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("status %d: %.300s", res.StatusCode, said.Bytes())
	}
	return nil
}

// plainWrites writes the same bytes into files with fsync and does nothing
// else.
func plainWrites(t *testing.T, n, clients int) accepting {
	t.Helper()
	dir := t.TempDir()
	begin := time.Now()
	spread(t, n, clients, func(i int) error {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Write(invoice(i + 1)); err != nil {
			return err
		}
		return f.Sync()
	})
	return accepting{"write and fsync, a loop", float64(n) / time.Since(begin).Seconds(), "-"}
}

// tracedSyncs counts the calls of fsync and fdatasync of a whole process, if
// strace is there.
func tracedSyncs(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		return "fsyncs of the process are not counted: there is no strace\n"
	}
	var rows strings.Builder
	for _, clients := range []int{1, 64} {
		p := newPair(t, inAS2, 1)
		p.connect(t, "127.0.0.1:1", 1)
		log := filepath.Join(t.TempDir(), "calls")
		process := p.out.serve(t, "strace", "-f", "-e", "trace=fsync,fdatasync", "-o", log)
		if err := process.api.Post(t.Context(), "/partners/northwind-0/stop", map[string]string{"reason": "only accepting is measured"}, new(any)); err != nil {
			t.Fatal(err)
		}
		const n = 640
		before := syncs(t, log)
		spread(t, n, clients, func(i int) error {
			_, err := process.api.Send(t.Context(), "/partners/northwind-0/messages", nil, bytes.NewReader(invoice(i+1)), new(any))
			return err
		})
		fmt.Fprintf(&rows, "fsync and fdatasync a document, %2d clients, by strace: %.2f\n", clients, float64(syncs(t, log)-before)/n)
	}
	return rows.String()
}

// syncs counts the calls in a log of strace.
func syncs(t *testing.T, log string) int {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("sync("))
}
