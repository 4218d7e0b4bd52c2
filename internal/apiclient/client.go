// Package apiclient speaks to the API of a running gateway: over the network
// with a token, or over the local socket. It carries JSON through and knows
// none of its types; a problem (RFC 9457) comes back as an error.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// most bounds an answer that is held in memory.
const most = 64 << 20

// Client calls one gateway. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client
	where string // for people
}

// New gives a client for a gateway's console address, such as
// http://127.0.0.1:4000, with a token.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a gateway; write http://host:4000", base)
	}
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, where: base, http: &http.Client{CheckRedirect: refuse}}, nil
}

// Local gives a client for the local socket of a gateway, which root and the
// service's user may use without a token.
func Local(socket string) *Client {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	return &Client{base: "http://edigw", where: socket, http: &http.Client{Transport: t, CheckRedirect: refuse}}
}

func refuse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Problem is what the gateway refused, RFC 9457.
type Problem struct {
	Type      string          `json:"type"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"`
	Field     string          `json:"field"`
	RequestID string          `json:"request_id"`
	Raw       json.RawMessage `json:"-"` // all of it, with members that only some problems have
}

// Error is what a person reads.
func (p *Problem) Error() string {
	text := p.Title
	if p.Detail != "" && p.Detail != p.Title {
		text += ": " + p.Detail
	}
	if p.Field != "" {
		text += " [" + p.Field + "]"
	}
	if p.Status == http.StatusUnauthorized {
		text += " It is given by --token or EDIGW_TOKEN; `edigw token new` on the gateway's machine makes one."
	}
	if p.RequestID != "" {
		text += " (request " + p.RequestID + ")"
	}
	return text
}

// Slug is the last part of the problem's type: "key-reused".
func (p *Problem) Slug() string { return p.Type[strings.LastIndex(p.Type, "/")+1:] }

// UnreachableError says that no gateway answers.
type UnreachableError struct {
	Where string
	Err   error
}

// Error says where nobody answered and what to do.
func (e *UnreachableError) Error() string {
	cause := e.Err
	if op, ok := errors.AsType[*net.OpError](e.Err); ok {
		cause = op.Err // it names the address again
	}
	if e.Denied() {
		return fmt.Sprintf("not allowed to use %s: %v (only root and the gateway's own user may: use sudo, or --url with a token)", e.Where, cause)
	}
	return fmt.Sprintf("no gateway answers at %s: %v (is `edigw serve` running? --url or EDIGW_URL name another one)", e.Where, cause)
}

// Denied reports whether a gateway may run there, but its socket is not for
// this user.
func (e *UnreachableError) Denied() bool { return errors.Is(e.Err, fs.ErrPermission) }

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Get reads path below /api/v1 with query into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	_, err := c.call(ctx, http.MethodGet, path, nil, nil, out)
	return err
}

// Post sends in as JSON (nil: no body) to path below /api/v1, and reads the
// answer into out (nil: dropped).
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	var body io.Reader
	header := http.Header{}
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
		header.Set("Content-Type", "application/json")
	}
	_, err := c.call(ctx, http.MethodPost, path, header, body, out)
	return err
}

// Send posts a document with its headers and reads the answer into out. The
// header of the answer tells whether it was a repeat.
func (c *Client) Send(ctx context.Context, path string, header http.Header, document io.Reader, out any) (http.Header, error) {
	return c.call(ctx, http.MethodPost, path, header, document, out)
}

// Download copies the answer of a GET to w, whatever its size.
func (c *Client) Download(ctx context.Context, path string, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return problem(resp)
	}
	_, err = io.Copy(w, resp.Body)
	return err
}

func (c *Client) call(ctx context.Context, method, path string, header http.Header, body io.Reader, out any) (http.Header, error) {
	resp, err := c.do(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return resp.Header, problem(resp)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return resp.Header, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(out); err != nil {
		return resp.Header, fmt.Errorf("%s answered %s, which cannot be read: %w", c.where, resp.Status, err)
	}
	return resp.Header, nil
}

func (c *Client) do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	var u *url.Error
	if errors.As(err, &u) {
		return nil, &UnreachableError{Where: c.where, Err: u.Err}
	}
	return resp, err
}

// problem reads a refusal. What is no problem+json is told as it is.
func problem(resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode < 400 {
		return fmt.Errorf("the answer is %s: this is no gateway's API (--url is the console's address alone, such as http://host:4000)", resp.Status)
	}
	p := &Problem{Raw: b}
	if json.Unmarshal(b, p) != nil || p.Title == "" {
		return fmt.Errorf("the gateway answered %s: %.300s", resp.Status, b)
	}
	p.Status = resp.StatusCode
	return p
}

// Wait calls look until it reports done or an error, with growing pauses of at
// most a second.
func Wait(ctx context.Context, look func() (done bool, err error)) error {
	for pause := 50 * time.Millisecond; ; pause = min(time.Second, 2*pause) {
		done, err := look()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
