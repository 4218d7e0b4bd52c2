package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edigw/internal/apiclient"
)

// TestScripts plays testdata/script: what an operator types and reads.
func TestScripts(t *testing.T) {
	t.Parallel()
	others := map[string]string{
		"OPENAS2": "../../partner/openas2/testdata/north", "HOLODECK": "../../partner/holodeck/testdata/north/pmodes", "DOMIBUS": "../../partner/domibus/testdata/pmode.xml",
	}
	for name, path := range others {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		others[name] = abs
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			for name, path := range others {
				e.Setenv(name, path)
			}
			e.Setenv("EDIGW_CONFIG", filepath.Join(e.WorkDir, "site", "edigw.yaml"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"site": scriptSite, "gateway": scriptGateway, "endgateway": scriptStop, "server": scriptServer,
			"exits": scriptExits, "eventually": scriptEventually, "keep": scriptKeep, "isjson": scriptJSON,
		},
	})
}

// scriptSite makes the installation site/ of a script, on ports of its own.
func scriptSite(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("edigw", "init", ts.MkAbs("site")))
	receive, console := nextAddress(), nextAddress()
	files, err := filepath.Glob(ts.MkAbs("site/partners/*.yaml"))
	ts.Check(err)
	for _, f := range append(files, ts.MkAbs("site/edigw.yaml")) {
		text, err := os.ReadFile(f)
		ts.Check(err)
		text = bytes.ReplaceAll(text, []byte("127.0.0.1:4080"), []byte(receive))
		text = bytes.ReplaceAll(text, []byte("127.0.0.1:4000"), []byte(console))
		ts.Check(os.WriteFile(f, text, 0o600))
	}
	ts.Setenv("CONSOLE", console)
	ts.Setenv("RECEIVE", receive)
}

// scriptGateways are the gateways that scripts started, by their folder.
var scriptGateways sync.Map

type scriptProcess struct {
	cmd   *exec.Cmd
	ended chan error
	log   *logBuffer
}

// scriptGateway starts the gateway of site/ and waits until it answers.
func scriptGateway(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("site")
	cmd := exec.Command(os.Args[0], "serve")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	p := &scriptProcess{cmd, make(chan error, 1), log}
	go func() { p.ended <- cmd.Wait() }()
	scriptGateways.Store(dir, p)
	ts.Defer(func() { endScriptGateway(ts, dir) })
	api := apiclient.Local(filepath.Join(dir, "data", socketName))
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); api.Get(context.Background(), "/partners", nil, new(any)) != nil; <-look.C {
		if time.Now().After(end) || len(p.ended) > 0 {
			ts.Fatalf("the gateway does not answer:\n%s", log.String())
		}
	}
}

// scriptStop ends the gateway of site/.
func scriptStop(ts *testscript.TestScript, _ bool, _ []string) {
	endScriptGateway(ts, ts.MkAbs("site"))
}

func endScriptGateway(ts *testscript.TestScript, dir string) {
	v, running := scriptGateways.LoadAndDelete(dir)
	if !running {
		return
	}
	p := v.(*scriptProcess)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		ts.Fatalf("the gateway does not end")
	}
	if defects.MatchString(p.log.String()) {
		ts.Fatalf("the gateway has a defect:\n%s", p.log)
	}
}

// scriptServer writes the file of a partner whose server behaves badly:
// `server ID refuses|resets|fails [line of the file…]`.
func scriptServer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: server ID refuses|resets|fails [line…]")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is wrong with it shows in the answer
		if args[1] == "fails" || r.Method != http.MethodPost {
			http.Error(w, "no", http.StatusGone)
			return
		}
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}))
	if args[1] == "refuses" {
		server.Close()
	} else {
		ts.Defer(server.Close)
	}
	text := fmt.Sprintf(`name: %s
stage: test
protocol: as2
as2: {id: %s, url: "%s/as2"}
certificates: {verify: ../keys/own.crt, encrypt: ../keys/own.crt}
retry: {base: 100ms, cap: 200ms, attempts: 3}
%s
`, strings.ToUpper(args[0]), strings.ToUpper(args[0]), server.URL, strings.Join(args[2:], "\n"))
	ts.Check(os.WriteFile(ts.MkAbs("site/partners/"+args[0]+".yaml"), []byte(text), 0o600))
}

// scriptExits runs a command that must end with a code: `exits 3 edigw reload`.
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// scriptEventually repeats a command until its output matches:
// `eventually 'delivered' edigw message list`.
func scriptEventually(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); ; <-look.C {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("it never printed %q", args[0])
		}
	}
}

// scriptKeep puts what a group of an expression found in the last output into
// a variable: `keep ID '^(\S+) accepted'`.
func scriptKeep(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing matches %q", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// scriptJSON runs a command with --json that must print one JSON value and
// nothing else, and end well: `isjson edigw dlq list`; with `!` it must not.
func scriptJSON(ts *testscript.TestScript, fails bool, args []string) {
	if err := ts.Exec(args[0], append(slices.Clone(args[1:]), "--json")...); fails != (err != nil) {
		ts.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var v any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s prints no JSON: %v", strings.Join(args, " "), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s prints more than one JSON value", strings.Join(args, " "))
	}
}
