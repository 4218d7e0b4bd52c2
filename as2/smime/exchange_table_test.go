package smime

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"edigw/internal/testpage"
)

var update = flag.Bool("update", false, "write the table of docs/cms.md anew")

// exchangeParts make the rows of the table, in its order. A part fails the test
// when an exchange does not go as its row says.
var exchangeParts = []func(*testing.T) []exchanged{
	exchangedSignatures,
	exchangedEncryption,
}

// exchangeDirections are the columns: who writes, and who reads it.
var exchangeDirections = []string{
	"we→openssl", "openssl→we", "we→bouncy", "bouncy→we", "we→mozilla", "mozilla→we",
}

// exchanged is one row: a form of message, and for each direction "yes", or a
// dash and why the other product cannot.
type exchanged struct {
	form    string
	verdict map[string]string
}

func newExchanged(form string) exchanged {
	return exchanged{form: form, verdict: map[string]string{}}
}

// judge makes an exchange and fills its cell. What another product cannot read,
// for the reason given, is tried all the same if we write it.
func (e exchanged) judge(t *testing.T, direction, reason string, written bool, exchange func() error) {
	t.Helper()
	switch {
	case reason == "":
		e.works(t, direction, exchange())
	case strings.HasPrefix(direction, "we→") && written:
		e.refuses(t, direction, reason, exchange())
	default:
		e.cannot(direction, reason)
	}
}

// judges are the foreign programs, each with the content and the keys.
func judges(t *testing.T, content []byte, parties map[string]party) (openssl, bouncyFolder) {
	t.Helper()
	o, b := newOpenSSL(t), bouncyFolder{dir: t.TempDir()}
	o.write("content", content)
	b.write(t, "content", content)
	for name, p := range parties {
		o.party(name, p)
		b.party(t, name, p)
	}
	return o, b
}

// works says that an exchange has to succeed, and whether it did.
func (e exchanged) works(t testing.TB, direction string, err error) {
	t.Helper()
	e.verdict[direction] = "yes"
	if err != nil {
		e.verdict[direction] = "FAILS"
		t.Errorf("%s, %s: %v", e.form, direction, err)
	}
}

// refuses says that the other product was seen to fail, and why it does.
func (e exchanged) refuses(t testing.TB, direction, reason string, err error) {
	t.Helper()
	e.cannot(direction, reason)
	if err == nil {
		t.Errorf("%s, %s works, but is said not to: %s", e.form, direction, reason)
	}
}

// cannot says that a product has no way to make such a message.
func (e exchanged) cannot(direction, reason string) {
	e.verdict[direction] = "— " + reason
}

const cmsPage = "../../docs/cms.md"

// TestExchangeTable makes every exchange and holds docs/cms.md to what came of
// it. Not parallel: some parts set variables of go.mozilla.org/pkcs7.
func TestExchangeTable(t *testing.T) {
	var rows []exchanged
	for _, part := range exchangeParts {
		rows = append(rows, part(t)...)
	}
	table := exchangeTable(t, rows)
	if t.Failed() {
		t.Fatalf("not compared with %s:\n%s", cmsPage, table)
	}
	t.Log("\n" + table)
	testpage.Table(t, cmsPage, "exchanges", "go test ./as2/smime -run TestExchangeTable -update", table, *update)
}

// exchangeTable writes rows in Markdown; each form once, and no cell empty.
func exchangeTable(t testing.TB, rows []exchanged) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| form | " + strings.Join(exchangeDirections, " | ") + " |\n")
	b.WriteString("|" + strings.Repeat("---|", len(exchangeDirections)+1) + "\n")
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.form] {
			t.Errorf("%s: two rows", row.form)
		}
		seen[row.form] = true
		if len(row.verdict) != len(exchangeDirections) {
			t.Errorf("%s: verdicts %v", row.form, row.verdict)
		}
		b.WriteString("| " + row.form)
		for _, direction := range exchangeDirections {
			b.WriteString(" | " + row.verdict[direction])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// bouncyCastle is the class path of Bouncy Castle, whose jars (Debian:
// libbcpkix-java) are looked for in /usr/share/java or the folder that
// EDIGW_BOUNCYCASTLE names.
func bouncyCastle(t testing.TB) string {
	t.Helper()
	jars := os.Getenv("EDIGW_BOUNCYCASTLE")
	if jars == "" {
		jars = "/usr/share/java"
	}
	classes := ""
	for _, jar := range []string{"bcprov.jar", "bcutil.jar", "bcpkix.jar"} {
		path := filepath.Join(jars, jar)
		if _, err := os.Stat(path); err != nil {
			testfixture.Missing(t, "Bouncy Castle")
		}
		classes += path + string(os.PathListSeparator)
	}
	testfixture.Program(t, "java")
	return classes
}

// runBouncy runs a program of testdata once over a folder: a virtual machine
// takes seconds to start.
func runBouncy(t testing.TB, program, dir string) {
	t.Helper()
	cmd := exec.Command("java", "-cp", bouncyCastle(t), filepath.Join("testdata", program), dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &out)
	}
}
