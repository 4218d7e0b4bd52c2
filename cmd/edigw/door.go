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
	"syscall"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/inbox"
	"edigw/queue"
	"edigw/store/spool"
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
	idleTime   = 30 * time.Second // strangers are not kept at all
	ledgerTime = 5 * time.Second  // for an event beside a request
)

// bind opens every listener, or none.
func (g *gateway) bind() error {
	s := g.settings.Current()
	handler, err := g.partnerSide()
	if err != nil {
		return err
	}
	partners, operators := share(s.Gateway(), openFiles())
	if p := s.Gateway().Listen.Partners; p != nil {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: int(s.Gateway().Limits.Header)}
		var secure *tls.Config
		if p.TLS != nil {
			secure = g.partnerTLS()
		}
		if err := g.openDoor("partners", string(p.Address), server, secure, partners); err != nil {
			return fmt.Errorf("listen.partners: %w", err)
		}
	}
	if g.api, err = g.operatorSide(); err != nil {
		return errors.Join(err, g.doors.drop())
	}
	if err := g.openDoor("console", string(s.Gateway().Listen.Console.Address), g.api.ConsoleServer(), nil, operators); err != nil {
		return errors.Join(fmt.Errorf("listen.console: %w", err), g.doors.drop())
	}
	path := filepath.Join(string(s.Gateway().Data), socketName)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return errors.Join(err, g.doors.drop())
	}
	l, err := listen("unix", path)
	if err != nil {
		return errors.Join(fmt.Errorf("the local socket: %w", err), g.doors.drop())
	}
	g.doors.list = append(g.doors.list, door{name: "local", listener: l, server: g.api.Server()})
	return os.Chmod(path, 0o600)
}

// partnerSide is what partners reach: messages and receipts.
func (g *gateway) partnerSide() (http.Handler, error) {
	limits := g.settings.Current().Gateway().Limits
	h, err := as2.NewHandler(as2.Options{
		Partners: partnersForAS2{g.settings, g.now}, Inbox: g.inbox, Acks: g.inbox,
		Scratch: g.scratch, Domain: g.settings.Current().Gateway().Identity.Domain, Product: product(),
		Now: g.now, Log: g.log, Body: int64(limits.Document), Header: int(limits.Header),
		Room: g.rooms, Crowded: g.crowded, Stranger: g.strangers.Inc,
	})
	if err != nil {
		return nil, err
	}
	g.receiver = h
	if g.receiverAS4, err = as4.NewHandler(as4.Options{
		Partners: partnersForAS4{g.settings, g.now}, Inbox: answering{inbox.ForAS4{Inbox: g.inbox}, g.ebmsErrors}, Acks: inbox.ForAS4{Inbox: g.inbox},
		Scratch: g.scratch, Domain: g.settings.Current().Gateway().Identity.Domain, Product: product(),
		Now: g.now, Log: g.log, Pulls: pulls{g}, Body: int64(limits.Document), Header: int(limits.Header),
		Room: g.rooms, Crowded: g.crowded, Stranger: g.strangers.Inc, Identified: identified,
	}); err != nil {
		return nil, err
	}
	inside := http.NewServeMux()
	inside.Handle("/as2", g.receiver)
	inside.Handle("/as4", g.receiverAS4)
	guarded := newGuard(inside, wireLimit(int64(limits.Document)), g.partnerBy)
	mux := http.NewServeMux()
	mux.Handle("/as2", guarded)
	mux.Handle("/as4", guarded)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // no partner asks for that
		http.NotFound(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.doors.stopping.Load() {
			w.Header().Set("Retry-After", "30")
			w.Header().Set("Connection", "close")
			http.Error(w, "The gateway is stopping; please try again.", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// partnerBy finds the partner whom the names of a request belong to. Nothing
// proves them yet.
func (g *gateway) partnerBy(r *http.Request) (id string, known bool) {
	if r.URL.Path != "/as2" {
		return "", false // see identified
	}
	from, wrong := as2.ParseName(r.Header.Get("AS2-From"))
	to, bad := as2.ParseName(r.Header.Get("AS2-To"))
	if wrong != nil || bad != nil {
		return "", false
	}
	p, known := g.settings.Current().ByAS2Names(from, to)
	if !known {
		return "", false
	}
	return p.ID, true
}

// spoolRoom is the room of the disk that has the data folder, without what is
// kept for the database.
type spoolRoom string

// Room meets scratch.Room.
func (dir spoolRoom) Room() (int64, error) {
	free, err := spool.Free(string(dir))
	return free - spool.Reserve, err
}

// crowded puts into the ledger that messages of a partner, or of strangers, are
// refused for want of room.
func (g *gateway) crowded(partner string, err error) {
	e := queue.Event{At: g.now(), Type: queue.EventRefused, Partner: partner,
		Text: "messages are refused until there is room, and asked for again: " + err.Error(), Facts: map[string]string{"direction": string(queue.In)}}
	ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
	defer cancel()
	if err := g.store.AddEvents(ctx, e); err != nil {
		g.log.Error("messages of partners are refused for want of room, and the ledger cannot be told", "partner", partner, "err", err)
	}
}

// inboxOptions wires what receives.
func (g *gateway) inboxOptions() inbox.Options {
	return inbox.Options{
		Store: g.store, Spool: g.spool, Lanes: g.lanes, Dir: filepath.Join(g.settings.Current().Dir(), "inbox"),
		Now: g.now, Log: g.log, Wake: g.lanes.Wake, Count: g.lanes.CountMessage, Webhook: g.postsTo, Unwrap: g.unwraps, Opener: reopener{g}, OpenerAS4: reopenerAS4{g},
	}
}

// postsTo reports whether documents of a partner go to a webhook now.
func (g *gateway) postsTo(partner string) bool {
	p, known := g.settings.Current().Partner(partner)
	return known && p.Webhook != nil
}

// unwraps reports whether documents of a partner are taken out of Standard
// Business Documents.
func (g *gateway) unwraps(partner string) bool {
	p, known := g.settings.Current().Partner(partner)
	return known && p.AS4 != nil && p.AS4.Network.Unwrap
}

// partnerTLS asks the settings in force at every handshake: a renewed
// certificate counts from its reload on.
func (g *gateway) partnerTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		cert, auth := g.settings.Current().ServerTLS()
		if cert == nil {
			return nil, errors.New("no certificate for the partners' listener")
		}
		return &tls.Config{Certificates: []tls.Certificate{*cert}, ClientAuth: auth, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
	}}
}

// openDoor binds a listener that the network reaches.
func (g *gateway) openDoor(name, address string, server *http.Server, secure *tls.Config, most places) error {
	tcp, err := listen("tcp", address)
	if err != nil {
		return err
	}
	bound := newLimitedListener(tcp, name, most, g.log, g.starved)
	server.ConnState = bound.state
	var l net.Listener = bound
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	g.doors.list = append(g.doors.list, door{name: name, listener: l, server: server})
	return nil
}

func listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another program listens there, perhaps a second gateway; set another port in edigw.yaml", err)
	}
	return l, err
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
