package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// maxAlert bounds one alert.
const maxAlert = 1 << 20

// alert is what arrived at a channel.
type alert struct {
	channel string // mail, slack
	subject string // of a mail
	text    string
}

// sinks are a mail server and a chat's webhook on loopback. They take every
// alert, print it and remember it. They are safe for concurrent use.
type sinks struct {
	print *printer
	mail  *smtp.Server
	slack *http.Server

	mu     sync.Mutex
	alerts []alert
}

// openSinks listens for mail and posts.
func openSinks(mailAddress, slackAddress string, print *printer) (*sinks, error) {
	s := &sinks{print: print}
	m, err := listen(mailAddress)
	if err != nil {
		return nil, fmt.Errorf("demo: mail server: %w", err)
	}
	w, err := listen(slackAddress)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: webhook: %w", err), m.Close())
	}
	s.mail = smtp.NewServer(s)
	s.mail.Domain, s.mail.MaxMessageBytes = "localhost", maxAlert
	s.mail.ReadTimeout, s.mail.WriteTimeout = 30*time.Second, 30*time.Second
	s.mail.ErrorLog = quiet{}
	s.slack = &http.Server{Handler: http.HandlerFunc(s.webhook), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.mail.Serve(m) }()  // ends when it is closed
	go func() { _ = s.slack.Serve(w) }() // the same
	return s, nil
}

// close stops listening.
func (s *sinks) close() { _ = errors.Join(s.mail.Close(), s.slack.Close()) } // nothing is lost with them

// got prints and remembers an alert.
func (s *sinks) got(a alert) {
	if a.channel == "mail" {
		s.print.quote("mail", a.subject, a.text)
	} else {
		first, rest, _ := strings.Cut(a.text, "\n")
		s.print.quote("slack", first, rest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alerts = append(s.alerts, a)
}

// list gives the alerts so far.
func (s *sinks) list() []alert {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.alerts)
}

// about reports whether an alert came to a channel that holds all words.
func (s *sinks) about(channel string, words ...string) bool {
	return slices.ContainsFunc(s.list(), func(a alert) bool {
		if a.channel != channel {
			return false
		}
		for _, w := range words {
			if !strings.Contains(a.subject+"\n"+a.text, w) {
				return false
			}
		}
		return true
	})
}

// webhook takes what is posted to Slack.
func (s *sinks) webhook(w http.ResponseWriter, r *http.Request) {
	var post struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAlert)).Decode(&post); err != nil || post.Text == "" {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.got(alert{channel: "slack", text: post.Text})
	io.WriteString(w, "ok")
}

// NewSession meets smtp.Backend.
func (s *sinks) NewSession(*smtp.Conn) (smtp.Session, error) { return letterbox{s}, nil }

// letterbox takes mail for anybody.
type letterbox struct{ sinks *sinks }

// Mail meets smtp.Session.
func (letterbox) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt meets smtp.Session.
func (letterbox) Rcpt(string, *smtp.RcptOptions) error { return nil }

// Reset meets smtp.Session.
func (letterbox) Reset() {}

// Logout meets smtp.Session.
func (letterbox) Logout() error { return nil }

// Data meets smtp.Session.
func (b letterbox) Data(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, maxAlert))
	if err != nil {
		return err
	}
	a, err := readMail(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "This mail cannot be read"}
	}
	b.sinks.got(a)
	return nil
}

// readMail reads subject and text of a mail that has a single part.
func readMail(raw []byte) (alert, error) {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return alert{}, err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return alert{}, err
	}
	body := m.Body
	if strings.EqualFold(m.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	return alert{channel: "mail", subject: subject, text: string(text)}, err
}

// quiet meets smtp.Logger: a client that hangs up is no news.
type quiet struct{}

// Printf drops it.
func (quiet) Printf(string, ...any) {}

// Println drops it.
func (quiet) Println(...any) {}

// waitFor waits until an alert that holds all words came to a channel.
func (s *sinks) waitFor(ctx context.Context, channel string, words ...string) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !s.about(channel, words...) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
