package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"edigw/internal/apiclient"
)

// Bounds of the question whether the gateway lives, and of its answer.
const (
	healthWithin = 5 * time.Second
	maxWhy       = 1 << 10
)

// HealthCommand asks a gateway whether it lives: for a container's health check
// and for scripts, without curl and without a token.
type HealthCommand struct {
	Ready bool `help:"Ask whether it can take documents: store and listeners work."`
}

// Help is shown by --help.
func (HealthCommand) Help() string {
	return "Example:\n  edigw health --ready\n\nExit code 0 if the gateway says yes, else 1. Partners that do not answer are no\nreason to say no."
}

// Run asks /healthz, or /readyz, over the local socket or at --url.
func (c *HealthCommand) Run(e *env) error {
	base, where, client, err := e.probe()
	if err != nil {
		return err
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(e.ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return wrong("%q is no address of a gateway; write http://host:4000", e.url)
	}
	answer, err := client.Do(request)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // it names the address again
		}
		return &apiclient.UnreachableError{Where: where, Err: err}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, maxWhy))
		return fmt.Errorf("%s answers %s: %s", path, answer.Status, cmp.Or(strings.TrimSpace(string(why)), "its log says why"))
	}
	e.say("ok")
	return e.result(map[string]bool{"ok": true})
}

// probe gives the address to ask, its name for people, and a client that
// reaches it.
func (e *env) probe() (base, where string, client *http.Client, err error) {
	if e.url != "" {
		base = strings.TrimSuffix(e.url, "/")
		return base, base, http.DefaultClient, nil
	}
	s, err := e.settings()
	if err != nil {
		return "", "", nil, err
	}
	socket := filepath.Join(string(s.Gateway().Data), socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return "http://edigw", socket, &http.Client{Transport: &http.Transport{DialContext: dial}}, nil
}
