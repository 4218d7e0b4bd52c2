// Package directory finds the access points of receivers that a network such as
// Peppol keeps in a directory: in DNS (SML) the SMP of a participant, at the SMP
// the access point for a document type and process. It remembers what it found
// for a while, and what it did not find for a short one.
//
// It decides nothing: what a failure means for a message is retry's.
package directory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"edigw/as4/smp"
	"edigw/fault"
	"edigw/internal/exchange"
)

// Bounds of looking up.
const (
	together   = 16               // lookups at once
	wholeTime  = 25 * time.Second // one lookup
	maxEntries = 20_000
	maxClients = 64
)

// How long is remembered that somebody is not there, and that an answer could not
// be had or believed.
const (
	keepAbsent = time.Minute
	keepFailed = 5 * time.Second
)

// Settings is how the directory of one network is asked.
type Settings struct {
	Zone      string   // of the SML; empty: URL is asked
	CNAME     bool     // by the older names of hosts instead of NAPTR records
	DNS       []string // name servers, host or host:port; none: the system's
	URL       string   // of the SMP of all participants, without Zone
	Transport string   // transport profile
	Keep      time.Duration
	Trust     smp.Trust         // Now is filled in
	HTTP      exchange.Settings // for asking SMPs
	Key       string            // another one whenever something else of this is
}

// Query is what is looked up.
type Query struct{ Participant, Document, Process smp.ID }

// Directory looks up and remembers. Its methods may be called concurrently.
type Directory struct {
	now    func() time.Time
	places chan struct{}

	mu      sync.Mutex
	entries map[key]*entry
	clients map[string]*http.Client
}

type key struct {
	settings string
	query    Query
}

// entry is what was found, once done is closed.
type entry struct {
	done     chan struct{}
	endpoint smp.Endpoint
	failure  *Failure
	found    time.Time
	until    time.Time
	void     bool // whoever asked went away
}

// Failure is why no access point is known.
type Failure struct {
	Outcome fault.Outcome // as the exchange would have it
	Keep    time.Duration // how long it is remembered
}

// Error meets error.
func (f *Failure) Error() string { return f.Outcome.Detail }

// New gives an empty Directory. now is the wall clock.
func New(now func() time.Time) *Directory {
	return &Directory{now: now, places: make(chan struct{}, together), entries: map[key]*entry{}, clients: map[string]*http.Client{}}
}

// Find gives the access point of a receiver. The error is a *Failure, or that of
// ctx.
func (d *Directory) Find(ctx context.Context, s Settings, q Query) (smp.Endpoint, error) {
	k := key{s.Key, q}
	for {
		e, mine := d.claim(k)
		if mine {
			d.fill(ctx, k, e, s, q)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return smp.Endpoint{}, ctx.Err()
		}
		switch {
		case e.void && ctx.Err() != nil:
			return smp.Endpoint{}, ctx.Err()
		case e.void:
		case e.failure != nil:
			return smp.Endpoint{}, e.failure
		default:
			return e.endpoint, nil
		}
	}
}

// Forget has the next Find look up anew: what it gave did not work. What was
// found less than a minute ago is kept, so that a receiver whose access point is
// down costs no more than that.
func (d *Directory) Forget(s Settings, q Query) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := key{s.Key, q}
	e := d.entries[k]
	if e == nil {
		return
	}
	select {
	case <-e.done:
		if e.failure == nil && d.now().Sub(e.found) >= keepAbsent {
			delete(d.entries, k)
		}
	default: // it is being looked up
	}
}

// claim gives the entry in force, or a new one that the caller must fill.
func (d *Directory) claim(k key) (e *entry, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if e = d.entries[k]; e != nil {
		select {
		case <-e.done:
			if now.Before(e.until) {
				return e, false
			}
		default:
			return e, false
		}
	}
	d.room(now)
	e = &entry{done: make(chan struct{})}
	d.entries[k] = e
	return e, true
}

// room forgets what is out of date, and anything if that is not enough.
func (d *Directory) room(now time.Time) {
	if len(d.entries) < maxEntries {
		return
	}
	for _, force := range []bool{false, true} {
		for k, e := range d.entries {
			select {
			case <-e.done:
				if force && len(d.entries) >= maxEntries || !now.Before(e.until) {
					delete(d.entries, k)
				}
			default:
			}
		}
	}
}

func (d *Directory) fill(ctx context.Context, k key, e *entry, s Settings, q Query) {
	defer close(e.done)
	endpoint, err := d.lookUp(ctx, s, q)
	now := d.now()
	failure, failed := errors.AsType[*Failure](err)
	switch {
	case failed && ctx.Err() == nil:
		e.failure, e.until = failure, now.Add(failure.Keep)
	case err != nil:
		e.void = true
		d.mu.Lock()
		if d.entries[k] == e {
			delete(d.entries, k)
		}
		d.mu.Unlock()
	default:
		e.endpoint, e.found, e.until = endpoint, now, now.Add(s.Keep)
		for _, end := range []time.Time{endpoint.Until, endpoint.Certificate.NotAfter} {
			if !end.IsZero() && end.Before(e.until) {
				e.until = end
			}
		}
	}
}

func (d *Directory) lookUp(ctx context.Context, s Settings, q Query) (smp.Endpoint, error) {
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	case <-ctx.Done():
		return smp.Endpoint{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	s.Trust.Now = d.now()
	base, err := d.publisher(ctx, s, q)
	if err != nil {
		return smp.Endpoint{}, err
	}
	m, err := d.metadata(ctx, s, q, base)
	if err == nil && m.Redirect != "" { // once (SMP 1.4 §4.3)
		base = m.Redirect
		if m, err = d.metadata(ctx, s, q, base); err == nil && m.Redirect != "" {
			err = publisherFailed(base, "it redirects again, after a redirect")
		}
	}
	if err != nil {
		return smp.Endpoint{}, err
	}
	endpoint, err := m.Endpoint(q.Process, s.Transport, s.Trust)
	if err != nil {
		return endpoint, judged(base, q, err)
	}
	return endpoint, nil
}

// publisher is the URL of the participant's SMP.
func (d *Directory) publisher(ctx context.Context, s Settings, q Query) (string, error) {
	if s.Zone == "" {
		return s.URL, nil
	}
	r, err := newResolver(s.DNS)
	if err != nil {
		return "", &Failure{fault.Outcome{Phase: fault.PhaseResolve, Cause: fault.CauseDNS, Detail: err.Error()}, keepFailed}
	}
	name, base := smp.NameNAPTR(q.Participant, s.Zone), ""
	if s.CNAME {
		name = smp.NameCNAME(q.Participant, s.Zone)
		base, err = "http://"+name, r.exists(ctx, name)
	} else {
		base, err = r.publisher(ctx, name)
	}
	switch {
	case errors.Is(err, errNoName):
		return "", notListed(s.Zone, "the participant %s is not in the network: the directory %s has no entry %s", q.Participant, s.Zone, name)
	case err != nil:
		return "", &Failure{fault.Outcome{Phase: fault.PhaseResolve, Cause: fault.CauseDNS, Suspect: s.Zone, Detail: fmt.Sprintf("the directory %s cannot be asked: %v", s.Zone, err)}, keepFailed}
	}
	return base, nil
}

// metadata asks an SMP.
func (d *Directory) metadata(ctx context.Context, s Settings, q Query, base string) (*smp.Metadata, error) {
	c, err := d.client(s)
	if err != nil {
		return nil, &Failure{fault.Local(err), keepFailed}
	}
	address := smp.URL(base, q.Participant, q.Document)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, publisherFailed(base, "its address cannot be asked")
	}
	answer, o := exchange.Do(ctx, c, req, exchange.Limits{Body: smp.MaxAnswer, Send: 10 * time.Second, Response: 15 * time.Second, Now: d.now})
	switch {
	case o.Cause == fault.CauseStopped, o.Cause == fault.CauseProxy, o.Cause == fault.CauseProxyAuth, o.Cause != "" && s.Zone == "": // ours, or everybody's SMP
		if o.Phase.Reached() {
			o.Phase = fault.PhaseRequest // of the document nothing was sent
		}
		return nil, &Failure{fault.Outcome{Phase: o.Phase, Cause: o.Cause, Suspect: o.Suspect, Detail: "the SMP " + host(base) + " cannot be asked: " + o.Detail}, keepFailed}
	case o.Cause != "":
		return nil, publisherFailed(base, "it cannot be asked: "+o.Detail)
	case answer.Status == http.StatusNotFound:
		return nil, notListed(host(base), "the receiver %s does not take the document type %s: its SMP %s does not know it", q.Participant, q.Document, host(base))
	case answer.Status != http.StatusOK:
		return nil, publisherFailed(base, fmt.Sprintf("it answers %d", answer.Status))
	case answer.Truncated:
		return nil, publisherFailed(base, fmt.Sprintf("its answer is cut off, or longer than %d MiB", smp.MaxAnswer>>20))
	}
	m, err := smp.Read(answer.Body, q.Participant, q.Document, s.Trust)
	if err != nil {
		return nil, judged(base, q, err)
	}
	return m, nil
}

// client gives the HTTP client of the settings.
func (d *Directory) client(s Settings) (*http.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.clients[s.Key]; c != nil {
		return c, nil
	}
	if len(s.DNS) > 0 {
		r, err := newResolver(s.DNS)
		if err != nil {
			return nil, err
		}
		s.HTTP.Resolver = r.standard()
	}
	c, err := exchange.NewClient(s.HTTP)
	if err != nil {
		return nil, err
	}
	if len(d.clients) >= maxClients {
		for k, old := range d.clients {
			old.CloseIdleConnections()
			delete(d.clients, k)
		}
	}
	d.clients[s.Key] = c
	return c, nil
}

func host(base string) string {
	if u, err := url.Parse(base); err == nil {
		return u.Host
	}
	return base
}
