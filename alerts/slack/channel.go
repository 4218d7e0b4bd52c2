// Package slack posts alerts to a Slack webhook: one short message each, the
// incident's id in it, so that its messages can be found together. A webhook
// answers no handle by which a message could be changed; an update is a message
// that names the incident.
//
// It keeps nothing and repeats nothing: package alerts owns every retry. The
// webhook's address is a secret: it appears in no error and no log.
package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"edigw/alerts"
	"edigw/internal/exchange"
	"edigw/partner"
)

// Bounds of one exchange.
const (
	limit     = 30 * time.Second
	maxAnswer = 4 << 10
	maxAfter  = time.Hour // longest Retry-After that is believed
)

// Channel is the webhook of the gateway's settings. It reads them, and the
// webhook's file, at each use.
type Channel struct {
	gateway func() *partner.Gateway
	now     func() time.Time
	client  *http.Client
}

var _ alerts.Channel = (*Channel)(nil)

// New gives the channel. transport carries the posts; nil: a plain one that
// heeds the proxy of the environment.
func New(gateway func() *partner.Gateway, now func() time.Time, transport http.RoundTripper) *Channel {
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: limit, IdleConnTimeout: time.Minute, MaxIdleConns: 2,
		}
	}
	return &Channel{gateway: gateway, now: now, client: &http.Client{
		Transport: transport, Timeout: limit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Name is "slack".
func (c *Channel) Name() string { return "slack" }

// Send posts one message. Slack took it when it answers 2xx.
func (c *Channel) Send(ctx context.Context, n alerts.Notification) error {
	to, err := c.address()
	if err != nil {
		return &alerts.PermanentError{Err: err}
	}
	body, err := json.Marshal(map[string]any{"text": Text(n), "unfurl_links": false})
	if err != nil {
		return &alerts.PermanentError{Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return &alerts.PermanentError{Err: errors.New("the webhook's file does not hold a URL")} // err would show it
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := c.client.Do(req)
	if err != nil {
		return &alerts.TemporaryError{Err: fmt.Errorf("post to the webhook: %w", hide(err))}
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return c.judge(res, string(said), to)
}

// address is the webhook: https, or http on loopback.
func (c *Channel) address() (string, error) {
	a := c.gateway().Alerts
	if a == nil || a.Slack == nil {
		return "", alerts.ErrNotSet
	}
	text, err := a.Slack.Webhook.Read()
	if err != nil {
		return "", fmt.Errorf("webhook of Slack: %w", err)
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return "", errors.New("the webhook's file does not hold a URL")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return "", errors.New("the webhook must be https, or http on loopback")
	}
	return u.String(), nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// judge reads Slack's answer.
func (c *Channel) judge(res *http.Response, said, secret string) error {
	if res.StatusCode/100 == 2 {
		return nil
	}
	if u, err := url.Parse(secret); err == nil {
		said = strings.ReplaceAll(said, u.RequestURI(), "…")
	}
	err := fmt.Errorf("the webhook answers %d: %.100q", res.StatusCode, said)
	after, _ := exchange.RetryAfter(res.Header.Get("Retry-After"), c.now())
	after = min(after, maxAfter)
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return &alerts.TemporaryError{After: max(after, time.Second), Err: err}
	case res.StatusCode >= 500 || res.StatusCode == http.StatusRequestTimeout:
		return &alerts.TemporaryError{After: after, Err: err}
	}
	return &alerts.PermanentError{Err: err}
}

// hide takes the address out of an error of net/http.
func hide(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return errors.New("no answer")
}
