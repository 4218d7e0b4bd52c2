package mail_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"edigw/internal/testpki"
)

// TestForeignServerTakesMail sends to aiosmtpd, an independent server, with
// STARTTLS and a login.
func TestForeignServerTakesMail(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("python3", "-c", "import aiosmtpd").CombinedOutput(); err != nil {
		testfixture.Missing(t, fmt.Sprintf("python3 with aiosmtpd (%v %s)", err, out))
	}
	id := testpki.Server(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, text := range map[string][]byte{cert: id.CertPEM(), key: id.KeyPEM(t)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/smtpd.py", cert, key, "edigw", "s3cret")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := channel(gateway(t, port, "starttls", "edigw", "s3cret"), &id).Send(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	if line, err = lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var got struct {
		From, User, Mail string
		To               []string
		TLS              bool
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if got.From != "edigw@acme.example" || got.User != "edigw" || !got.TLS || len(got.To) != 3 {
		t.Errorf("envelope: %+v", got)
	}
	checkMail(t, got.Mail)
	if err := channel(gateway(t, port, "starttls", "edigw", "wr0ng"), &id).Send(t.Context(), note); err == nil {
		t.Error("a wrong password was taken")
	}
}
