// Package demo plays the story of a day: a gateway on its embedded store in a
// fresh folder, and trading partners on loopback that really speak AS2 or AS4,
// each with a fault of its own. It prints one line a fact and, in the end, whether
// anything was lost or came twice by the partners' own records.
//
// It is a user of the gateway and nothing else: it knows its API, its outbox
// folder, its files and its commands. What makes the story fast stands in the
// sample files (testdata/partners/demo). It offers nothing to real partners.
package demo

import (
	"context"
	"io"
	"time"
)

// Options says what to play and what with. Out and Start are required.
type Options struct {
	Dir   string        // folder of the installation, which must be empty or not exist; empty: a temporary one
	For   time.Duration // how long to play at least; it ends when the story did, too. 0: until ctx ends
	Out   io.Writer
	Start func(ctx context.Context, config string, log io.Writer) (Gateway, error)
}

// Gateway is a running gateway. Its Stop is bounded by stop_timeout.
type Gateway interface {
	Socket() string     // path of the local socket
	ConsoleURL() string // address of console and API
	Stop(ctx context.Context) error
}

// Run plays the demo and gives the exit code: 0 if the story came out right.
// It blocks until Options.For is over and the story told, or until ctx ends.
// A temporary folder is removed after a story that came right with For; else
// it stays and is named.
func Run(ctx context.Context, o Options) (code int) {
	p := &printer{out: o.Out}
	s, err := setUp(o, p)
	if err != nil {
		p.line("demo: %v", err)
		return 1
	}
	defer s.close()
	if err := s.start(ctx, o.Start); err != nil {
		p.line("demo: %v", err)
		return 1
	}
	return s.perform(ctx, o.For)
}
