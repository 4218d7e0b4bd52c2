package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var setupLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/set-up\?token=([A-Za-z0-9_-]{43})`)

// setupToken waits for the file of the set-up link and gives its token.
func (s *site) setupToken() string {
	s.Helper()
	file := s.path("data", setupLinkName)
	s.await("there is a set-up link", func() bool { return exists(file) })
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		s.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	found := setupLink.FindStringSubmatch(string(text))
	if found == nil || found[0]+"\n" != string(text) {
		s.Fatalf("no link: %q", text)
	}
	return found[1]
}

// TestSetupLinkUntilThereIsAUser: the first start leaves a link in a file that
// only its owner reads, and its token nowhere else; it goes with the first
// user, and each start has its own.
func TestSetupLinkUntilThereIsAUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("password", "correct horse battery")
	file := s.path("data", setupLinkName)
	s.start()
	first := s.setupToken()
	s.await("the terminal is told", func() bool { return strings.Contains(s.log.String(), "the link in "+file) })
	if code, text := s.run("doctor"); code != exitFine || !strings.Contains(text, "nobody can sign in") || !strings.Contains(text, file) {
		t.Errorf("doctor: exit code %d: %s", code, text)
	}
	s.stop()
	if exists(file) {
		t.Error("the link is left after the stop that voids it")
	}
	s.start()
	second := s.setupToken()
	if second == first {
		t.Error("two starts made one link")
	}
	if code, text := s.run("user", "add", "kim", "--role", "admin", "--password-file", "password"); code != exitFine {
		t.Fatalf("user add: exit code %d: %s", code, text)
	}
	if exists(file) {
		t.Error("the link is left though there is a user")
	}
	s.write("data/"+setupLinkName, "left by a kill")
	s.kill()
	s.start()
	s.await("the link of a killed process is gone", func() bool { return !exists(file) })
	if code, text := s.run("doctor"); code != exitFine || strings.Contains(text, "nobody can sign in") {
		t.Errorf("doctor: exit code %d: %s", code, text)
	}
	s.stop()
	for _, token := range []string{first, second} {
		if strings.Contains(s.log.String(), token) {
			t.Errorf("the token is in what may be kept as a log:\n%s", s.log)
		}
	}
}

// TestSetupLinkOnATerminal: who starts it by hand reads the link.
func TestSetupLinkOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	screen, tty := terminals(t)
	shown := &logBuffer{}
	go io.Copy(shown, screen)
	s.process = s.command("serve")
	s.process.Stdout, s.process.Stderr = tty, s.log
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.process.Wait() }()
	token := s.setupToken()
	s.await("the link is shown", func() bool { return setupLink.MatchString(shown.String()) })
	if got := setupLink.FindStringSubmatch(shown.String())[1]; got != token {
		t.Errorf("shown %s, in the file %s", got, token)
	}
	if strings.Contains(s.log.String(), token) {
		t.Errorf("the token is in the log:\n%s", s.log)
	}
}

// terminals gives the two ends of a terminal.
func terminals(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}
