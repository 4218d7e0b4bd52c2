// Package mail sends alerts by SMTP: STARTTLS or TLS, a login if the settings
// name one, one mail to all who get it, threaded by References. A mail counts
// as sent when the server answered the end of DATA (RFC 5321 §4.2.5).
//
// It keeps nothing and repeats nothing: package alerts owns every retry. The
// Message-ID comes from the notification's name, so that a repeat is the same
// mail for a reader. Neither password nor text ever appears in an error.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"edigw/alerts"
	"edigw/partner"
)

// limit bounds the connection, and then each further command.
const limit = 30 * time.Second

// Channel is the mail server of the gateway's settings. It reads them, and the
// password file, at each use.
type Channel struct {
	gateway func() *partner.Gateway
	roots   *x509.CertPool
	log     *slog.Logger
}

var _ alerts.Channel = (*Channel)(nil)

// New gives the channel. roots are whom it trusts; nil: the system's.
func New(gateway func() *partner.Gateway, roots *x509.CertPool, log *slog.Logger) *Channel {
	return &Channel{gateway: gateway, roots: roots, log: log}
}

// Name is "mail".
func (c *Channel) Name() string { return "mail" }

// Send hands a mail to the server for everybody who did not get it yet. If the
// server takes it for some only, the error is a *alerts.TemporaryError that
// names the others; those that it refused for good are logged.
func (c *Channel) Send(ctx context.Context, n alerts.Notification) error {
	g := c.gateway()
	if g.Alerts == nil || g.Alerts.Mail == nil {
		return &alerts.PermanentError{Err: alerts.ErrNotSet}
	}
	set := g.Alerts.Mail
	msg, err := compose(set, g.Identity.Domain, n)
	if err != nil {
		return &alerts.PermanentError{Err: err}
	}
	line, err := c.dial(ctx, set)
	if err != nil {
		return kind(fmt.Errorf("%s:%d: %w", set.Host, set.Port, err))
	}
	defer line.close()
	to := n.Left
	if len(to) == 0 {
		to = recipients(set, n)
	}
	return kind(line.deliver(set, msg, to, c.log))
}

// recipients are the settings' and the notification's own, each once.
func recipients(set *partner.MailChannel, n alerts.Notification) []string {
	var to []string
	add := func(a string) {
		if !slices.ContainsFunc(to, func(b string) bool { return strings.EqualFold(a, b) }) {
			to = append(to, a)
		}
	}
	for _, a := range set.To {
		add(string(a))
	}
	for _, a := range n.Extra {
		add(a)
	}
	return to
}

// line is one connection to the server.
type line struct {
	client *smtp.Client
	stop   func() bool

	mu   sync.Mutex
	conn net.Conn
}

// cut ends the connection at once.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
}

// dial connects, protects the connection as the settings say, and logs in.
func (c *Channel) dial(ctx context.Context, set *partner.MailChannel) (*line, error) {
	options := []gomail.Option{gomail.WithPort(set.Port), gomail.WithTimeout(limit)}
	trust := &tls.Config{ServerName: set.Host, RootCAs: c.roots, MinVersion: tls.VersionTLS12}
	options = append(options, gomail.WithTLSConfig(trust))
	switch set.TLS {
	case "starttls":
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case "tls":
		options = append(options, gomail.WithSSL())
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if set.User != "" {
		password, err := set.Password.Read()
		if err != nil {
			return nil, &alerts.PermanentError{Err: fmt.Errorf("password of the mail server: %w", err)}
		}
		options = append(options, gomail.WithUsername(set.User), gomail.WithPassword(password),
			// Without TLS, only what does not show the password is used.
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	l := &line{}
	dial := (&net.Dialer{}).DialContext
	if set.TLS == "tls" {
		dial = (&tls.Dialer{Config: trust}).DialContext
	}
	options = append(options, gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.conn = conn
		}
		return conn, err
	}))
	client, err := gomail.NewClient(set.Host, options...)
	if err != nil {
		return nil, &alerts.PermanentError{Err: err}
	}
	l.stop = context.AfterFunc(ctx, l.cut)
	l.client, err = client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends the connection, politely if it still works.
func (l *line) close() {
	if l.client != nil && l.client.HasConnection() {
		if l.client.UpdateDeadline(5*time.Second) == nil {
			_ = l.client.Quit() // what it took, it took
		}
	}
	l.stop()
	l.cut()
}

// deliver sends one mail to those that the server takes it for.
func (l *line) deliver(set *partner.MailChannel, msg *gomail.Msg, to []string, log *slog.Logger) error {
	if err := l.step(func() error { return l.client.Mail(string(set.From)) }); err != nil {
		return fmt.Errorf("the server refuses the sender: %w", err)
	}
	var taken, later []string
	var refused error
	for _, a := range to {
		err := l.step(func() error { return l.client.Rcpt(a) })
		switch {
		case err == nil:
			taken = append(taken, a)
		case code(err) < 500:
			later = append(later, a)
			refused = errors.Join(refused, err)
		default:
			refused = errors.Join(refused, fmt.Errorf("%s: %w", a, err))
		}
	}
	if len(taken) == 0 {
		if len(later) > 0 {
			return &alerts.TemporaryError{Err: fmt.Errorf("the server takes mail for nobody now: %w", refused)}
		}
		return fmt.Errorf("the server refuses every recipient: %w", refused)
	}
	if err := l.data(msg); err != nil {
		return err
	}
	if refused != nil {
		log.Warn("the mail server does not take an alert for everybody", "err", refused)
	}
	if len(later) > 0 {
		return &alerts.TemporaryError{Left: later, Err: fmt.Errorf("the server took it for %d, not yet for %d: %w", len(taken), len(later), refused)}
	}
	return nil
}

// data sends the mail itself. It is taken when the server answers its end.
func (l *line) data(msg *gomail.Msg) error {
	var w io.WriteCloser
	err := l.step(func() (err error) { w, err = l.client.Data(); return err })
	if err == nil {
		err = l.step(func() error { _, err := msg.WriteTo(w); return err })
	}
	if err == nil {
		err = l.step(func() error { return w.Close() })
	}
	if err != nil {
		return fmt.Errorf("the server does not take the mail: %w", err)
	}
	return nil
}

// step gives each command its own time.
func (l *line) step(command func() error) error {
	if err := l.client.UpdateDeadline(limit); err != nil {
		return err
	}
	return command()
}

// code is the server's reply, 0 if there was none.
func code(err error) int {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return reply.Code
	}
	return 0
}

// kind sorts an error: a reply of 500 and above stands until somebody changes
// something (RFC 5321 §4.2.1), all else may pass.
func kind(err error) error {
	var permanent *alerts.PermanentError
	var temporary *alerts.TemporaryError
	switch {
	case err == nil, errors.As(err, &temporary):
		return err
	case errors.As(err, &permanent), code(err) >= 500:
		return &alerts.PermanentError{Err: err}
	}
	return &alerts.TemporaryError{Err: err}
}
