package interop

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/internal/apiclient"
)

// defects are what no log of edigw may say.
var defects = regexp.MustCompile(`DATA RACE|panic|runtime error`)

// site is an installation of edigw with the real program as a process of its
// own.
type site struct {
	testing.TB
	dir     string
	binary  string
	partner string // host:port where it listens for partners
	front   *front // what stands before that, where receipts are asked to
	api     *apiclient.Client
	process *exec.Cmd
	ended   chan error
	log     *logBuffer
}

// newSite builds edigw and makes an installation without partners.
func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "edigw") // not TempDir: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	s := &site{TB: t, dir: dir, binary: filepath.Join(dir, "edigw"), partner: freeAddress(), log: &logBuffer{}}
	t.Cleanup(s.close)
	s.build()
	s.front = newFront(t, s.partner)
	home := s.path("site")
	_, port, _ := net.SplitHostPort(s.partner)
	_, console, _ := net.SplitHostPort(freeAddress())
	s.run("init", home, "--name", ourName, "--domain", "edigw.example", "--partners-port", port, "--console-port", console)
	for _, sample := range []string{"northwind", "myself", "myself-back"} {
		if err := os.Remove(s.path("site", "partners", sample+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	s.more("edigw.yaml", `
log: {format: text, level: info}
defaults:
  check: none
  empty: allow
  timeout: {connect: 5s, send: 60s, response: 60s}
  retry: {base: 200ms, cap: 1s, attempts: 8} # more than the failures that open the breaker
  breaker: {cooldown: 500ms, max_cooldown: 1s, on_open: hold}
`)
	s.replace("edigw.yaml", `base_url: "http://`+s.partner+`"`, `base_url: "http://`+s.front.address+`"`)
	s.api = apiclient.Local(s.path("site", "data", "edigw.sock"))
	return s
}

// build makes the program that is tried, unless one is named.
func (s *site) build() {
	s.Helper()
	if given := os.Getenv("EDIGW_INTEROP_BINARY"); given != "" {
		s.binary = given
		return
	}
	if out, err := exec.Command("go", "build", "-o", s.binary, "edigw/cmd/edigw").CombinedOutput(); err != nil {
		s.Fatalf("edigw cannot be built: %v\n%s", err, out)
	}
}

// lastPort is the port that was given away last. They lie below those that
// systems give to outgoing connections, so that nobody takes one meanwhile.
var lastPort atomic.Int32

// freeAddress finds a port that nobody uses and gives it away once.
func freeAddress() string {
	lastPort.CompareAndSwap(0, int32(10000+os.Getpid()%100*100))
	for {
		address := fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
}

func (s *site) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *site) write(text string, name ...string) {
	s.Helper()
	file := s.path(name...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// more adds text to a file of the installation.
func (s *site) more(name, text string) {
	s.Helper()
	old, err := os.ReadFile(s.path("site", name))
	if err != nil {
		s.Fatal(err)
	}
	s.write(string(old)+text, "site", name)
}

// replace changes text in a file of the installation.
func (s *site) replace(name, old, text string) {
	s.Helper()
	b, err := os.ReadFile(s.path("site", name))
	if err != nil {
		s.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		s.Fatalf("%s has no %q", name, old)
	}
	s.write(strings.ReplaceAll(string(b), old, text), "site", name)
}

// in makes t the test that failures of the installation belong to, until t ends.
func (s *site) in(t testing.TB) {
	before := s.TB
	s.TB = t
	t.Cleanup(func() { s.TB = before })
}

// command runs edigw to its end.
func (s *site) command(args ...string) error {
	cmd := exec.Command(s.binary, args...)
	if args[0] != "init" {
		cmd.Dir = s.path("site")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("edigw %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// run is a command that must end well.
func (s *site) run(args ...string) {
	s.Helper()
	if err := s.command(args...); err != nil {
		s.Fatal(err)
	}
}

// start runs the gateway and waits until it answers.
func (s *site) start() {
	s.Helper()
	s.process = bound(exec.Command(s.binary, "serve"))
	s.process.Dir = s.path("site")
	s.process.Stdout, s.process.Stderr = s.log, s.log
	if err := s.process.Start(); err != nil {
		s.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func(p *exec.Cmd, ended chan<- error) { ended <- p.Wait() }(s.process, s.ended)
	s.await("edigw answers", func() bool {
		select {
		case err := <-s.ended:
			s.process = nil
			s.Fatalf("edigw ended at its start: %v\n%s", err, s.log)
		default:
		}
		return s.api.Get(context.Background(), "/partners", nil, new(any)) == nil
	})
}

// kill ends the gateway as a power cut would.
func (s *site) kill() {
	s.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.Fatal(err)
	}
	<-s.ended
	s.process = nil
}

func (s *site) close() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.ended
	}
	if s.Failed() {
		s.Logf("log of edigw, without requests of the API:\n%s", regexp.MustCompile(`(?m)^.* msg=request .*\n`).ReplaceAllString(s.log.String(), ""))
	}
	if defects.MatchString(s.log.String()) {
		s.Errorf("edigw has a defect:\n%s", s.log)
	}
	if os.Getenv("EDIGW_INTEROP_KEEP") == "1" {
		s.Logf("kept: %s", s.dir)
		return
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.Error(err)
	}
}

// await waits until done.
func (s *site) await(what string, done func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := await(ctx, what, done); err != nil {
		s.Fatalf("%v\n%s", err, s.log)
	}
}

// await waits until done, or until ctx ends.
func await(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("still not: %s (%w)", what, ctx.Err())
		}
	}
	return nil
}

// url is where partners post to.
func (s *site) url() string { return "http://" + s.front.address + "/as2" }

// logBuffer gathers what a process says.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
