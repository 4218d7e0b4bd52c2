package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as2"
	"edigw/internal/testpage"
)

var updatePages = flag.Bool("update", false, "write tables of docs/ anew")

// hostileDir has the hostile requests of AS2 and their manifest.
const hostileDir = "../../as2/testdata/hostile"

// hostileCase is a request and what must come back: a disposition, or a status
// of HTTP alone.
type hostileCase struct {
	file, expect, answer string
	statuses             []int // instead of an answer
	raw                  []byte
}

// hostileCases are the requests of the manifest, and two with headers that are
// too large to be kept.
func hostileCases(t *testing.T) (list []hostileCase) {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(hostileDir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Split(line, "\t")
		if !strings.HasPrefix(f[0], "as2/") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(hostileDir, f[0]))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, hostileCase{file: f[0], expect: f[6], answer: f[7], raw: raw})
	}
	if len(list) < 20 {
		t.Fatalf("%d requests in the manifest", len(list))
	}
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "X-%d: a\r\n", i)
	}
	folded := "X-Long: " + strings.Repeat("a", 70) + "\r\n" + strings.Repeat(" "+strings.Repeat("b", 72)+"\r\n", 14_000)
	for _, long := range []struct{ name, header string }{{"http-header-1mb-folded.http", folded}, {"http-headers-100000.http", many.String()}} {
		raw := "POST /as2 HTTP/1.1\r\nHost: localhost\r\nAS2-From: PARTNER\r\nAS2-To: EDIGW\r\nMessage-ID: <long@partner.edigw.test>\r\n" +
			long.header + "Content-Type: application/EDI-X12\r\nContent-Length: 4\r\n\r\nISA*"
		list = append(list, hostileCase{file: long.name, expect: "fail", statuses: []int{http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge}, raw: []byte(raw)})
	}
	return list
}

// TestHostileRequestsAtTheDoor throws each hostile request at the socket of a
// gateway that runs as a process of its own: it answers as it must, keeps what
// is right, connects to nobody, stays below 64 MiB above what it took idle and
// goes on serving.
func TestHostileRequestsAtTheDoor(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	var called atomic.Int64
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer partner.Close()
	for _, name := range []string{"gateway.key.pem", "gateway.crt.pem", "partner.crt.pem"} {
		text, err := os.ReadFile(filepath.Join(hostileDir, "keys", name))
		if err != nil {
			t.Fatal(err)
		}
		s.write("keys/"+name, string(text))
	}
	s.write("keys/both.pem", read(s, "keys/gateway.key.pem")+read(s, "keys/gateway.crt.pem"))
	s.replace("edigw.yaml", "as2: ACME-AS2", "as2: EDIGW")
	s.replace("edigw.yaml", "keys/own.pem", "keys/both.pem")
	require := func(what string) {
		s.write("partners/partner.yaml", fmt.Sprintf(`name: Partner
protocol: as2
as2: {id: PARTNER, url: %q, receive: {require: %s}}
certificates: {verify: ../keys/partner.crt.pem, encrypt: ../keys/partner.crt.pem}
`, partner.URL, what))
	}
	require("signed")
	s.start()
	gateway := &process{pid: s.process.Process.Pid}
	idle := gateway.status(t, "VmRSS")

	table := testpage.Row("request", "answered") + "|---|---|\n"
	delivered, compressed := 0, false
	for _, c := range hostileCases(t) {
		if needless := strings.Contains(c.file, "compressed"); needless != compressed {
			compressed = needless
			require(map[bool]string{true: "none", false: "signed"}[compressed])
			if code, text := s.run("reload"); code != exitFine {
				t.Fatalf("reload: %d, %s", code, text)
			}
		}
		table += testpage.Row(c.file, s.throw(c))
		if c.expect == "ok" {
			delivered++
		}
	}
	s.await("what is right lies in the inbox", func() bool { return len(s.orders()) == delivered })
	for _, text := range s.orders() {
		if !strings.Contains(text, "GOOD-1") || strings.Contains(text, "EVIL") {
			t.Errorf("delivered: %.200q", text)
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("the partner was called %d times", n)
	}
	if above := gateway.status(t, "VmHWM") - idle; above > 64<<20 {
		t.Errorf("%d bytes above idle", above)
	}
	if t.Failed() {
		return
	}
	testpage.Table(t, "../../docs/hostile-inputs.md", "door", "go test ./cmd/edigw -run TestHostileRequestsAtTheDoor -update", table, *updatePages)
}

// throw sends the bytes of a request as they are, and says what came back.
func (s *site) throw(c hostileCase) string {
	s.Helper()
	conn, err := net.Dial("tcp", s.receive)
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.Fatal(err)
	}
	go io.Copy(conn, bytes.NewReader(c.raw)) // refused half-way, it is read no further
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Errorf("%s: no answer: %v", c.file, err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.Errorf("%s: %v", c.file, err)
	}
	if c.statuses != nil {
		for _, status := range c.statuses {
			if res.StatusCode == status {
				return fmt.Sprintf("%d %s", status, http.StatusText(status))
			}
		}
		s.Errorf("%s: status %d, want one of %v", c.file, res.StatusCode, c.statuses)
		return ""
	}
	mdn, _ := as2.ParseMDN(res.Header, body)
	if res.StatusCode != http.StatusOK || !mdn.Signed || mdn.Disposition.State() != c.answer {
		s.Errorf("%s: status %d, signed %t, %q, want %q", c.file, res.StatusCode, mdn.Signed, mdn.Disposition.State(), c.answer)
	}
	return mdn.Disposition.State()
}

// orders are the documents in the inbox.
func (s *site) orders() (texts []string) {
	s.Helper()
	files, err := filepath.Glob(s.path("inbox", "*", "*", "*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") || strings.HasSuffix(f, ".json") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			s.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
