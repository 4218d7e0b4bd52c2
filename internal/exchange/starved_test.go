package exchange_test

import (
	"bufio"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"edigw/fault"
	"edigw/internal/exchange"
)

const starvedEnv = "EDIGW_TEST_WITHOUT_DESCRIPTORS"

// TestWithoutDescriptors: that this process may open no more is no fault of the
// partner's: it counts as if we were stopping. It runs in a process of its
// own, whose limit is lowered.
func TestWithoutDescriptors(t *testing.T) {
	if os.Getenv(starvedEnv) == "" {
		t.Parallel()
		child := exec.Command(os.Args[0], "-test.run=^TestWithoutDescriptors$", "-test.v")
		child.Env = append(os.Environ(), starvedEnv+"=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutDescriptors") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	p := listen(t, nil, func(net.Conn, *bufio.Reader) {})
	proxied := exchange.Settings{Proxy: &url.URL{Scheme: "http", Host: p.addr}}
	addresses := map[string]exchange.Settings{
		"http://" + p.addr: {}, "https://" + p.addr: {}, "http://no-such-host.invalid/": {}, "https://partner.example/": proxied, "http://partner.example/": proxied,
	}
	clients := map[string]*http.Client{}
	for address, s := range addresses {
		clients[address] = client(t, s)
	}
	useUp(t)
	for address, c := range clients {
		_, out := send(t, c, address, "document")
		if out.Cause != fault.CauseStopped || out.Phase.Reached() || out.Suspect != fault.SuspectFiles || !strings.Contains(out.Detail, "open file") {
			t.Errorf("%s: %s at %s, suspect %q, %q", address, out.Cause, out.Phase, out.Suspect, out.Detail)
		}
	}
}

// useUp leaves this process no descriptor.
func useUp(t *testing.T) {
	t.Helper()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open(os.DevNull)
		if fault.OutOfFiles(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
}
