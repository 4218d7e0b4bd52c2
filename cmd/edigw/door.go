package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"edigw/as2"
	"edigw/inbox"
)

// doors are the two listeners and the local socket: partners on one, operators
// on the others. Partners never reach the API.
type doors struct {
	list     []door
	work     sync.WaitGroup
	stopping atomic.Bool
}

type door struct {
	name     string
	listener net.Listener
	server   *http.Server
}

// Bounds of what strangers may take their time with.
const (
	headerTime = 10 * time.Second
	idleTime   = 90 * time.Second
)

// bind opens every listener, or none.
func (g *gateway) bind() error {
	s := g.settings.Current()
	handler, err := g.partnerSide()
	if err != nil {
		return err
	}
	if p := s.Gateway().Listen.Partners; p != nil {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: int(s.Gateway().Limits.Header)}
		if err := g.doors.open("partners", "tcp", string(p.Address), server, s.ServerTLS()); err != nil {
			return fmt.Errorf("listen.partners: %w", err)
		}
	}
	if g.api, err = g.operatorSide(); err != nil {
		return errors.Join(err, g.doors.drop())
	}
	if err := g.doors.open("console", "tcp", string(s.Gateway().Listen.Console.Address), g.api.Server(), nil); err != nil {
		return errors.Join(fmt.Errorf("listen.console: %w", err), g.doors.drop())
	}
	path := filepath.Join(string(s.Gateway().Data), socketName)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return errors.Join(err, g.doors.drop())
	}
	if err := g.doors.open("local", "unix", path, g.api.Server(), nil); err != nil {
		return errors.Join(fmt.Errorf("the local socket: %w", err), g.doors.drop())
	}
	return os.Chmod(path, 0o600)
}

// partnerSide is what partners reach: messages and receipts.
func (g *gateway) partnerSide() (http.Handler, error) {
	limits := g.settings.Current().Gateway().Limits
	h, err := as2.NewHandler(as2.Options{
		Partners: partnersForAS2{g.settings, g.now}, Inbox: g.inbox, Acks: g.inbox,
		Scratch: filepath.Join(string(g.settings.Current().Gateway().Data), spoolName), Domain: g.settings.Current().Gateway().Identity.Domain,
		Now: g.now, Log: g.log, Body: int64(limits.Document), Header: int(limits.Header),
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/as2", newGuard(h, wireLimit(int64(limits.Document))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.doors.stopping.Load() {
			w.Header().Set("Retry-After", "30")
			http.Error(w, "The gateway is stopping; please try again.", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// inboxOptions wires what receives.
func (g *gateway) inboxOptions() inbox.Options {
	return inbox.Options{
		Store: g.store, Spool: g.spool, Lanes: g.lanes, Dir: filepath.Join(g.settings.Current().Dir(), "inbox"),
		Now: g.now, Log: g.log, Wake: g.lanes.Wake, Count: g.lanes.CountMessage,
	}
}

// open binds one listener.
func (d *doors) open(name, network, address string, server *http.Server, cert *tls.Certificate) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if cert != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	d.list = append(d.list, door{name: name, listener: l, server: server})
	return nil
}

// serve answers on every listener until close.
func (d *doors) serve(log *slog.Logger) {
	for _, o := range d.list {
		if o.server.ErrorLog == nil {
			o.server.ErrorLog = slog.NewLogLogger(log.With("door", o.name).Handler(), slog.LevelDebug)
		}
		d.work.Go(func() {
			if err := o.server.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("a listener ended", "door", o.name, "err", err)
			}
		})
	}
}

// refuse answers partners with 503 from now on.
func (d *doors) refuse() { d.stopping.Store(true) }

// close lets running requests end until ctx does, then cuts them.
func (d *doors) close(ctx context.Context) error {
	var errs []error
	for _, o := range d.list {
		if err := o.server.Shutdown(ctx); err != nil {
			errs = append(errs, o.server.Close())
		}
		o.listener.Close()
	}
	d.work.Wait()
	return errors.Join(errs...)
}

// drop closes listeners that never served.
func (d *doors) drop() error {
	for _, o := range d.list {
		o.listener.Close()
	}
	d.list = nil
	return nil
}

// address is where a door listens.
func (d *doors) address(name string) string {
	for _, o := range d.list {
		if o.name == name {
			return o.listener.Addr().String()
		}
	}
	return ""
}

// wireLimit is the largest message that can hold a document of so many bytes:
// base64 and signatures add to it.
func wireLimit(document int64) int64 { return document + document/2 + 1<<20 }
