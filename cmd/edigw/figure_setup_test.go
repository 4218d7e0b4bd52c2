package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/testfixture"
	"edigw/internal/testpki"
)

// full reports whether figures are measured at their real size. Otherwise the
// same code runs small, and only counts are judged.
func full() bool { return os.Getenv("EDIGW_FIGURES") == "full" }

// size is how much a figure takes: small in CI, real for a measurement.
func size[T any](small, real T) T {
	if full() {
		return real
	}
	return small
}

// figureAlone skips a figure where the whole tree is tested quickly.
func figureAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("figures take some seconds; -short leaves them out")
	}
}

// house is an installation in a folder of its own.
type house struct{ dir string }

func (h house) config() string { return filepath.Join(h.dir, "edigw.yaml") }

// newHouse makes an installation without partners, on ports that the system
// chooses.
func newHouse(t testing.TB, as2Name string, own testpki.Identity) house {
	t.Helper()
	dir, err := os.MkdirTemp("", "edigw") // not TempDir: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := house{dir}
	h.write(t, "edigw.yaml", fmt.Sprintf(`node: figures
identity: {domain: edi.acme.example, as2: %[1]s, as4: {party: "urn:example:%[1]s"}}
keys:
  - {use: [sign, decrypt], file: keys/own.pem}
listen:
  partners: {address: "127.0.0.1:0", base_url: "http://127.0.0.1"}
  console: {address: "127.0.0.1:0"}
limits: {sockets: 300, backlog: {messages: 2000000, size: 100GB}}
`, as2Name))
	h.write(t, "keys/own.pem", string(own.KeyPEM(t))+string(own.CertPEM()))
	if err := os.MkdirAll(filepath.Join(h.dir, "partners"), 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h house) write(t testing.TB, name, content string) {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// partner writes a partner's file.
func (h house) partner(t testing.TB, id, content string) {
	t.Helper()
	h.write(t, "partners/"+id+".yaml", content)
}

// start opens and starts the gateway of the house in this process.
func (h house) start(t testing.TB) *gateway {
	t.Helper()
	g := h.open(t)
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// open opens the gateway of the house; it is stopped when the test ends.
func (h house) open(t testing.TB) *gateway {
	t.Helper()
	g, err := open(t.Context(), h.config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(context.Background()); err != nil {
			t.Errorf("the gateway did not stop well: %v", err)
		}
	})
	return g
}

// process is a gateway that runs as a process of its own.
type process struct {
	pid               int
	partners, console string        // where it listens
	ready             time.Duration // from its start until readyz said 200
	api               *apiclient.Client
	ended             chan struct{}
}

var servesLine = regexp.MustCompile(`partners on (\S+), console and API on (http://\S+)`)

// serve starts a gateway of its own for the house, under a command such as strace if one
// is given, and returns when readyz says 200.
func (h house) serve(t testing.TB, under ...string) *process {
	t.Helper()
	args := append(under, os.Args[0], "--config", h.config(), "serve")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = &failureLog{t: t}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it runs under ends with it
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		select {
		case <-ended:
		default:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			<-ended
		}
	})
	p := &process{ended: ended, pid: cmd.Process.Pid, api: apiclient.Local(filepath.Join(h.dir, "data", socketName))}
	lines := bufio.NewScanner(out)
	for p.console == "" && lines.Scan() {
		if m := servesLine.FindStringSubmatch(lines.Text()); m != nil {
			p.partners, p.console = m[1], m[2]
		}
	}
	if p.console == "" {
		t.Fatal("the gateway did not begin to serve")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	until(t, time.Minute, "readyz", func() bool { return p.get("/readyz") == http.StatusOK })
	p.ready = time.Since(begin)
	return p
}

// stop ends the process as systemd would.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.ended
}

func (p *process) get(path string) int {
	res, err := http.Get(p.console + path)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// failureLog keeps the last lines of a process for a test that fails.
type failureLog struct {
	t    testing.TB
	once sync.Once
	mu   sync.Mutex
	tail []byte
}

func (f *failureLog) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.once.Do(func() {
		f.t.Cleanup(func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.t.Failed() {
				f.t.Logf("the process said last:\n%s", f.tail)
			}
		})
	})
	f.tail = append(f.tail, p...)
	if over := len(f.tail) - 8<<10; over > 0 {
		f.tail = f.tail[over:]
	}
	return len(p), nil
}

// status reads a figure in KiB of /proc/PID/status, in bytes: VmRSS, VmHWM.
func (p *process) status(t testing.TB, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		testfixture.Missing(t, "/proc")
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("/proc/PID/status has no %s", field)
	return 0
}

// cpu is the processor time that the process has used.
func (p *process) cpu(t testing.TB) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		testfixture.Missing(t, "/proc")
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest) // from the third on; utime and stime are 14 and 15, in 1/100 s
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// until waits for a condition.
func until(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(limit); !done(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// lined is how many messages are queued, waiting, being sent or awaiting their
// receipt.
func lined(t testing.TB, g *gateway) (n int) {
	t.Helper()
	all, err := g.store.Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		n += d.Lined + d.Acks
	}
	return n
}

// invoice is an X12 interchange of about 10 KB that nobody sent before.
func invoice(n int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "ISA*00*          *00*          *ZZ*ACMEAS2        *ZZ*NORTHWIND      *261130*0600*U*00401*%09d*0*P*>~\n", n)
	fmt.Fprintf(&b, "GS*IN*ACMEAS2*NORTHWIND*20261130*0600*%d*X*004010~\nST*810*0001~\nBIG*20261130*INV-%09d~\n", n, n)
	segments := 3
	for b.Len() < 10<<10-120 {
		fmt.Fprintf(&b, "IT1*%d*%d*EA*12.50**BP*PART-%07d*VP*%09d~\n", segments, 1+n%9, segments*7919, n*31+segments)
		segments++
	}
	fmt.Fprintf(&b, "SE*%d*0001~\nGE*1*%d~\nIEA*1*%09d~\n", segments, n, n)
	return []byte(b.String())
}

// spread does n pieces of work, so many at once.
func spread(t testing.TB, n, clients int, do func(i int) error) {
	t.Helper()
	var next atomic.Int64
	var work sync.WaitGroup
	for range clients {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !t.Failed(); i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// profiled measures a span of this process: wall time and processor time. With
// EDIGW_FIGURES_PROFILE=DIR a CPU profile of the span is written there.
func profiled(t testing.TB, name string, do func()) (wall, cpu time.Duration) {
	t.Helper()
	if dir := os.Getenv("EDIGW_FIGURES_PROFILE"); dir != "" {
		f, err := os.Create(filepath.Join(dir, name+".prof"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			t.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	begin, used := time.Now(), cpuTime(t)
	do()
	return time.Since(begin), cpuTime(t) - used
}

// cpuTime is the processor time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// metric reads a metric without labels of the process.
func (p *process) metric(t testing.TB, name string) float64 {
	t.Helper()
	res, err := http.Get(p.console + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
