package mail_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/alerts"
	alertmail "edigw/alerts/mail"
	"edigw/internal/conf"
	"edigw/internal/testpki"
	"edigw/partner"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"
)

// server is an SMTP server in this process.
type server struct {
	refuse map[string]int // recipient → reply
	answer int            // reply to the end of DATA, 0: taken
	hang   chan struct{}  // DATA is answered when this is closed
	secret string         // password of edigw; empty: no login

	mu    sync.Mutex
	mails []received
}

type received struct {
	to   []string
	user string
	text string
}

type session struct {
	*server
	to   []string
	user string
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.secret != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if code := s.refuse[to]; code != 0 {
		return &smtp.SMTPError{Code: code, Message: "not this one"}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.hang != nil {
		<-s.hang
	}
	if s.answer != 0 {
		return &smtp.SMTPError{Code: s.answer, Message: "not now"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, received{s.to, s.user, string(text)})
	return nil
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "edigw" || password != s.secret {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

// start serves until the test ends. mode is none, starttls or tls.
func (s *server) start(t *testing.T, mode string, id testpki.Identity) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	srv.Domain, srv.ErrorLog = "localhost", log.New(io.Discard, "", 0)
	port := l.Addr().(*net.TCPAddr).Port
	if mode != "none" {
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{id.TLS()}}
	}
	if mode == "tls" {
		l = tls.NewListener(l, srv.TLSConfig)
	}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return port
}

// gateway gives settings with a mail channel.
func gateway(t *testing.T, port int, mode, user, password string) *partner.Gateway {
	t.Helper()
	m := &partner.MailChannel{Host: "127.0.0.1", Port: port, TLS: mode, User: user, From: "edigw@acme.example", To: []conf.Mail{"ops@acme.example", "edi@acme.example"}}
	if user != "" {
		file := filepath.Join(t.TempDir(), "smtp")
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Password = conf.SecretFile(file)
	}
	g := &partner.Gateway{Alerts: &partner.Alerts{Mail: m}}
	g.Identity.Domain = "edi.acme.example"
	return g
}

func channel(g *partner.Gateway, id *testpki.Identity) *alertmail.Channel {
	var roots *x509.CertPool
	if id != nil {
		roots = x509.NewCertPool()
		roots.AddCert(id.Cert)
	}
	return alertmail.New(func() *partner.Gateway { return g }, roots, slog.New(slog.DiscardHandler))
}

var note = alerts.Notification{
	ID: "OUT-231.2.mail", Incident: "OUT-231", Channel: "mail", Severity: alerts.Page, Name: "out-231-abc.2", Thread: "out-231-abc.1",
	Text:    alerts.Text{Subject: "[PAGE] Nörthwind DE answers again, 1,240 NOT delivered [OUT-231]", Body: "Down 02:10–06:02.\n.\nNothing moves.\n"},
	Extra:   []string{"dach@acme.example", "OPS@acme.example"},
	Created: time.Date(2026, 12, 1, 2, 10, 4, 0, time.UTC),
}

func TestMailArrivesWholeInEveryMode(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	for _, mode := range []string{"none", "starttls", "tls"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			user := ""
			if mode != "none" {
				s.secret, user = "s3cret", "edigw"
			}
			g := gateway(t, s.start(t, mode, id), mode, user, "s3cret")
			if err := channel(g, &id).Send(t.Context(), note); err != nil {
				t.Fatal(err)
			}
			if len(s.mails) != 1 {
				t.Fatalf("%d mails, want 1", len(s.mails))
			}
			got := s.mails[0]
			if d := cmp.Diff([]string{"ops@acme.example", "edi@acme.example", "dach@acme.example"}, got.to); d != "" {
				t.Errorf("recipients: -want +got\n%s", d)
			}
			if got.user != user {
				t.Errorf("logged in as %q, want %q", got.user, user)
			}
			checkMail(t, got.text)
		})
	}
}

// checkMail reads a mail as a reader would.
func checkMail(t *testing.T, text string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Message-Id": "<out-231-abc.2@edi.acme.example>", "References": "<out-231-abc.1@edi.acme.example>", "In-Reply-To": "<out-231-abc.1@edi.acme.example>",
		"From": "<edigw@acme.example>", "Auto-Submitted": "auto-generated", "Importance": "high", "Date": "Tue, 01 Dec 2026 02:10:04 +0000",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	dec := new(mime.WordDecoder)
	if subject, err := dec.DecodeHeader(m.Header.Get("Subject")); err != nil || subject != note.Text.Subject {
		t.Errorf("subject %q (%v), want %q", subject, err, note.Text.Subject)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(string(body), "\r\n", "\n"); strings.TrimRight(got, "\n") != strings.TrimRight(note.Text.Body, "\n") {
		t.Errorf("body %q, want %q", got, note.Text.Body)
	}
}

func TestErrorsSayWhetherAnotherTryMayHelp(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	other := testpki.Server(t)
	for name, c := range map[string]struct {
		server    *server
		mode      string
		password  string
		trust     *testpki.Identity
		permanent bool
		left      []string
		fine      bool
		closed    bool
	}{
		"full mailbox server: later":          {server: &server{answer: 452}, mode: "none"},
		"mail refused for good":               {server: &server{answer: 554}, mode: "none", permanent: true},
		"one refused for good, others got it": {server: &server{refuse: map[string]int{"dach@acme.example": 550}}, mode: "none", fine: true},
		"one greylisted, others got it":       {server: &server{refuse: map[string]int{"dach@acme.example": 450, "edi@acme.example": 550}}, mode: "none", left: []string{"dach@acme.example"}},
		"all greylisted":                      {server: &server{refuse: map[string]int{"dach@acme.example": 450, "ops@acme.example": 450, "edi@acme.example": 550}}, mode: "none"},
		"all refused for good":                {server: &server{refuse: map[string]int{"dach@acme.example": 550, "ops@acme.example": 550, "edi@acme.example": 550}}, mode: "none", permanent: true},
		"wrong password":                      {server: &server{secret: "s3cret"}, mode: "starttls", password: "wr0ng", trust: &id, permanent: true},
		"server without STARTTLS":             {server: &server{}, mode: "starttls-missing", trust: &id},
		"certificate that nobody trusts":      {server: &server{}, mode: "starttls", trust: &other},
		"certificate that nobody trusts, TLS": {server: &server{}, mode: "tls", trust: &other},
		"nobody listens":                      {mode: "none", closed: true},
		"login without TLS shows no password": {server: &server{secret: "s3cret"}, mode: "none", password: "s3cret"},
		"login wanted, settings have none":    {server: &server{secret: "s3cret"}, mode: "none", permanent: true},
		"right password":                      {server: &server{secret: "s3cret"}, mode: "starttls", password: "s3cret", trust: &id, fine: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.server
			if s == nil {
				s = &server{}
			}
			serve, user := c.mode, ""
			if c.mode == "starttls-missing" {
				serve, c.mode = "none", "starttls"
			}
			if c.password != "" {
				user = "edigw"
			}
			port := s.start(t, serve, id)
			if c.closed {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				port = l.Addr().(*net.TCPAddr).Port
				l.Close()
			}
			err := channel(gateway(t, port, c.mode, user, c.password), c.trust).Send(t.Context(), note)
			if c.fine {
				if err != nil || len(s.mails) != 1 {
					t.Fatalf("%d mails, %v; want 1", len(s.mails), err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			var permanent *alerts.PermanentError
			if errors.As(err, &permanent) != c.permanent {
				t.Errorf("permanent %v, want %v: %v", !c.permanent, c.permanent, err)
			}
			var temporary *alerts.TemporaryError
			errors.As(err, &temporary)
			if temporary == nil == !c.permanent {
				t.Errorf("neither temporary nor permanent: %v", err)
			}
			if temporary != nil {
				if d := cmp.Diff(c.left, temporary.Left); d != "" {
					t.Errorf("left: -want +got\n%s", d)
				}
			}
			if c.password != "" && strings.Contains(err.Error(), c.password) {
				t.Errorf("the error shows the password: %v", err)
			}
			if strings.Contains(err.Error(), "Nothing moves") {
				t.Errorf("the error shows the text: %v", err)
			}
		})
	}
}

func TestWhoGotItGetsItNotAgain(t *testing.T) {
	t.Parallel()
	s := &server{}
	g := gateway(t, s.start(t, "none", testpki.Identity{}), "none", "", "")
	n := note
	n.Left = []string{"dach@acme.example"}
	if err := channel(g, nil).Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"dach@acme.example"}, s.mails[0].to); d != "" {
		t.Errorf("recipients: -want +got\n%s", d)
	}
	if !bytes.Contains([]byte(s.mails[0].text), []byte("ops@acme.example")) {
		t.Error("the To header does not name everybody")
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := &server{hang: make(chan struct{})}
	g := gateway(t, s.start(t, "none", testpki.Identity{}), "none", "", "")
	t.Cleanup(func() { close(s.hang) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := channel(g, nil).Send(ctx, note) // nothing else ends it: the server says nothing
	var temporary *alerts.TemporaryError
	if !errors.As(err, &temporary) {
		t.Errorf("%v, want a temporary error", err)
	}
}

func TestWithoutSettingsNothingIsSent(t *testing.T) {
	t.Parallel()
	err := channel(&partner.Gateway{}, nil).Send(t.Context(), note)
	if !errors.Is(err, alerts.ErrNotSet) {
		t.Errorf("%v, want ErrNotSet", err)
	}
}
