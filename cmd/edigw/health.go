package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"edigw/internal/apiclient"
)

// healthWithin bounds the question whether the gateway lives.
const healthWithin = 5 * time.Second

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
	base, client, err := e.probe()
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
		return &apiclient.UnreachableError{Where: base, Err: err}
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s; its log says why", path, answer.Status)
	}
	e.say("ok")
	return e.result(map[string]bool{"ok": true})
}

// probe gives the address to ask and a client that reaches it.
func (e *env) probe() (base string, client *http.Client, err error) {
	if e.url != "" {
		return strings.TrimSuffix(e.url, "/"), http.DefaultClient, nil
	}
	s, err := e.settings()
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(string(s.Gateway().Data), socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return "http://edigw", &http.Client{Transport: &http.Transport{DialContext: dial}}, nil
}
