package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"edigw/fault"
	"edigw/partner"
)

// ServeCommand runs the gateway.
type ServeCommand struct{}

// Help is shown by --help.
func (ServeCommand) Help() string {
	return "Example:\n  edigw serve --config /etc/edigw/edigw.yaml\n\nSIGHUP takes changed settings into use. SIGTERM and Ctrl-C end it: running\nexchanges may finish within stop_timeout; a second signal ends it at once."
}

// Run serves until a signal.
func (ServeCommand) Run(e *env) error {
	settings, problems, err := e.registry()
	if err != nil {
		return err
	}
	now := settings.Current().Gateway()
	log := logger(e.err, now.Log)
	if err := descriptors(now, log); err != nil {
		return err
	}
	g, err := openWith(e.ctx, settings, problems, log)
	if err != nil {
		return err
	}
	if err := g.Start(e.ctx); err != nil {
		return err
	}
	e.say("edigw %s serves: partners on %s, console and API on http://%s", version, orNone(g.doors.address("partners")), g.doors.address("console"))
	g.offerSetup(e)
	g.untilStopped(e.ctx)
	hurry()
	g.dropSetupLink()
	return g.Stop(e.ctx)
}

// untilStopped reloads at each SIGHUP until ctx ends.
func (g *gateway) untilStopped(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if _, _, err := g.reload(ctx, fault.Actor{Name: "SIGHUP", From: "local"}); err != nil {
				g.log.Error("reload", "err", err)
			}
		}
	}
}

// hurry ends the process at the next signal: what runs is cut and recovered at
// the next start.
func hurry() {
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-again
		fmt.Fprintln(os.Stderr, "edigw: second signal, ending at once")
		os.Exit(exitFailed)
	}()
}

// logger writes to w as the settings say.
func logger(w io.Writer, l partner.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// descriptors raises the limit on open files as far as the system lets it, and
// refuses to start if limits.sockets cannot be met.
func descriptors(g *partner.Gateway, log *slog.Logger) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		log.Warn("the limit on open files is not known", "err", err)
		return nil
	}
	if l.Cur < l.Max {
		l.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			log.Warn("the limit on open files cannot be raised", "err", err)
		}
	}
	if p, ok := g.CheckDescriptors(l.Cur); !ok {
		return fmt.Errorf("%s", p.String())
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "no address"
	}
	return s
}
