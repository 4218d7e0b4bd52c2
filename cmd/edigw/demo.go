package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"edigw/cmd/edigw/demo"
)

// DemoCommand plays the story of a day.
type DemoCommand struct {
	For time.Duration `help:"Play alone for so long and end with a summary line; without it the demo goes on until Ctrl-C." placeholder:"60s"`
	Dir string        `name:"keep" aliases:"dir" help:"Keep the demo's installation in this folder, which must be empty or not exist; default: a temporary one, removed at the end." placeholder:"DIR"`
}

// Help is shown by --help.
func (DemoCommand) Help() string {
	return "Examples:\n  edigw demo --for 60s\n  edigw demo --keep /tmp/demo      to look at it afterwards\n\nA real gateway on a fresh folder, and partners on this machine that really speak\nAS2: a healthy one, a flaky one, one that is down for a while, one that rejects\nour signature, one whose receipt comes late, one that never answers, one whose\nreceipt is wrong. And one that speaks AS4: it loses a receipt, is down, and\nanswers with an ebMS error."
}

// Run plays it.
func (c *DemoCommand) Run(e *env) error {
	code := demo.Run(e.ctx, demo.Options{Dir: c.Dir, For: c.For, Out: e.out, Start: startForDemo})
	if code != exitFine {
		return &codeError{code: code}
	}
	return nil
}

// startForDemo starts a gateway like edigw serve does.
func startForDemo(ctx context.Context, config string, log io.Writer) (demo.Gateway, error) {
	g, err := open(ctx, config, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		return nil, err
	}
	if err := g.Start(ctx); err != nil {
		return nil, err
	}
	return demoGateway{g}, nil
}

// demoGateway is a gateway as its user sees it.
type demoGateway struct{ *gateway }

// Socket is the local socket of its API.
func (d demoGateway) Socket() string {
	return filepath.Join(string(d.settings.Current().Gateway().Data), socketName)
}

// ConsoleURL is where its API answers.
func (d demoGateway) ConsoleURL() string { return "http://" + d.doors.address("console") }
