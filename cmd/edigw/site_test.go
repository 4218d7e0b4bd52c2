package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"edigw/internal/apiclient"
	"edigw/internal/testpki"
)

// patience bounds every wait: a gateway that is this late will not come.
const patience = 60 * time.Second

// defects are what no log may say.
var defects = regexp.MustCompile(`DATA RACE|panic`)

// site is an installation in a folder of its own, with a gateway as a process
// of its own that can be killed and started again.
type site struct {
	testing.TB
	dir     string
	receive string // where partners reach it
	own     testpki.Identity
	env     []string
	api     *apiclient.Client
	process *exec.Cmd
	ended   chan error
	log     *logBuffer
}

// newSite makes an installation with fast settings and no partner; more is
// added to edigw.yaml.
func newSite(tb testing.TB, more string) *site {
	tb.Helper()
	dir, err := os.MkdirTemp("", "edigw") // not TempDir: the path of a socket is bounded
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{TB: tb, dir: dir, receive: freeAddress(tb), log: &logBuffer{},
		own: testpki.SelfSigned(tb, testpki.RSA(tb, 0), "ACME-AS2", testpki.Valid())}
	s.api = apiclient.Local(s.path("data", socketName))
	if err := os.Mkdir(s.path("partners"), 0o700); err != nil {
		tb.Fatal(err)
	}
	s.write("keys/own.pem", string(s.own.KeyPEM(tb))+string(s.own.CertPEM()))
	s.write("edigw.yaml", fmt.Sprintf(`identity: {domain: edi.acme.example, as2: ACME-AS2}
keys: [{use: [sign, decrypt], file: keys/own.pem}]
listen:
  partners: {address: %q, base_url: "http://%s"}
  console: {address: "127.0.0.1:0"}
limits: {sockets: 100, retry_budget: 100%%}
log: {format: text, level: info}
defaults:
  check: none
  timeout: {connect: 2s, send: 5s, response: 5s}
  retry: {base: 100ms, cap: 400ms, attempts: 4}
  breaker: {cooldown: 200ms, max_cooldown: 400ms, on_open: hold}
  lane: {concurrency: 4, replay_rate: 100/s}
%s`, s.receive, s.receive, more))
	tb.Cleanup(s.close)
	return s
}

// lastPort is the port that was given away last. They lie below those that
// systems give to outgoing connections, so that nobody takes one meanwhile.
var lastPort atomic.Int32

// freeAddress is nextAddress for tests.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	return nextAddress()
}

// nextAddress finds a port that nobody uses and gives it away once.
func nextAddress() string {
	lastPort.CompareAndSwap(0, int32(20000+os.Getpid()%100*100))
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

func (s *site) write(name, text string) {
	s.Helper()
	file := s.path(filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// command is edigw with arguments, run in the installation's folder.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), append([]string{asProgram + "=1"}, s.env...)...)
	return cmd
}

// start runs the gateway and waits until it answers.
func (s *site) start() {
	s.Helper()
	s.process = s.command("serve")
	s.process.Stdout, s.process.Stderr = s.log, s.log
	if err := s.process.Start(); err != nil {
		s.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func(p *exec.Cmd, ended chan<- error) { ended <- p.Wait() }(s.process, s.ended)
	s.await("the gateway answers", func() bool {
		select {
		case err := <-s.ended:
			s.process = nil
			s.Fatalf("the gateway ended at its start: %v", err)
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

// stop ends the gateway as systemd would.
func (s *site) stop() {
	s.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			s.Errorf("the gateway ended with %v\n%s", err, s.log)
		}
	case <-time.After(patience):
		s.Fatalf("the gateway does not stop\n%s", s.log)
	}
	s.process = nil
}

func (s *site) close() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.ended
	}
	if s.Failed() {
		s.Logf("log of the gateway:\n%s", s.log)
	}
	if defects.MatchString(s.log.String()) {
		s.Errorf("the gateway has a defect:\n%s", s.log)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.Error(err)
	}
}

// await waits until done.
func (s *site) await(what string, done func() bool) {
	s.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(end) {
			s.Fatalf("after %v still not: %s\n%s", patience, what, s.log)
		}
	}
}

// send hands a document in under a key.
func (s *site) send(to, key string, document []byte) (messageView, error) {
	var m messageView
	header := http.Header{"Idempotency-Key": {key}}
	_, err := s.api.Send(context.Background(), "/partners/"+to+"/messages", header, bytes.NewReader(document), &m)
	return m, err
}

// sent is send that must succeed.
func (s *site) sent(to, key string, document []byte) messageView {
	s.Helper()
	m, err := s.send(to, key, document)
	if err != nil {
		s.Fatalf("document %s: %v\n%s", key, err, s.log)
	}
	return m
}

func (s *site) get(path string, q url.Values, out any) {
	s.Helper()
	if err := s.api.Get(context.Background(), path, q, out); err != nil {
		s.Fatalf("%s: %v\n%s", path, err, s.log)
	}
}

func (s *site) post(path string, body, out any) {
	s.Helper()
	if err := s.api.Post(context.Background(), path, body, out); err != nil {
		s.Fatalf("%s: %v\n%s", path, err, s.log)
	}
}

func (s *site) message(id string) (m messageView) {
	s.Helper()
	s.get("/messages/"+id, nil, &m)
	return m
}

// everything lists a kind of record, all pages of it.
func everything[T any](s *site, path string, q url.Values) (all []T) {
	s.Helper()
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", "500")
	for {
		var list page[T]
		s.get(path, q, &list)
		all = append(all, list.Items...)
		if list.Next == "" {
			return all
		}
		q.Set("cursor", list.Next)
	}
}

// settled waits until no outgoing message moves any more, and gives them.
func (s *site) settled() (all []messageView) {
	s.Helper()
	s.await("every message has its end", func() bool {
		all = everything[messageView](s, "/messages", query("direction", "out"))
		for _, m := range all {
			if !m.done() {
				return false
			}
		}
		return true
	})
	return all
}

// ended waits until one message has its end.
func (s *site) end(id string) (m messageView) {
	s.Helper()
	s.await("message "+id+" has its end", func() bool { m = s.message(id); return m.done() })
	return m
}

// metric sums the series of a metric that have these labels, name and value in
// turn; a histogram counts its observations.
func (s *site) metric(name string, labels ...string) (sum float64) {
	s.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.path("data", socketName))
	}}}
	resp, err := client.Get("http://edigw/metrics")
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
series:
	for _, m := range families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		for i := 0; i+1 < len(labels); i += 2 {
			if have[labels[i]] != labels[i+1] {
				continue series
			}
		}
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

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

// problemOf gives what the gateway refused.
func problemOf(err error) *apiclient.Problem {
	var p *apiclient.Problem
	if errors.As(err, &p) {
		return p
	}
	return nil
}

// run is a command of edigw to its end.
func (s *site) run(args ...string) (code int, text string) {
	s.Helper()
	cmd := s.command(args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
