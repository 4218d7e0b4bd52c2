// Package console is the operator's pages: what an EDI team has open all day
// on a wall and in a browser tab (console.md). A page is rendered on the
// server from a typed struct; forms act through the same services as the API,
// on the API's paths without /api/v1.
//
// It owns sessions' cookies, pages, questions before an action, and the live
// stream that tells an open page to look again. It decides nothing about
// documents, letters or lanes, and shows what web.Reader shows. Nothing of a
// partner's is ever interpreted: text goes through html/template, content is
// shown by package edi, and the policy of every page forbids any script and
// style that is not ours.
package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"edigw/access"
	"edigw/fault"
	"edigw/web"
)

// Sessions knows who is signed in; *access.Service does. Errors are those of
// package access.
type Sessions interface {
	SignIn(ctx context.Context, name, password, from string) (access.User, error)
	Begin(ctx context.Context, u access.User, from, agent string) (secret string, s access.Session, err error)
	Session(ctx context.Context, secret string) (access.User, access.Session, error)
	End(ctx context.Context, secret string) error
	EndAll(ctx context.Context, user string, by fault.Actor) error
}

// SetUp makes the first user of an installation; *access.Service does.
type SetUp interface {
	SetUp(ctx context.Context, token, name, password, from string) (access.User, error)
	SetupHolds(token string) bool
}

// Options is what a Console needs. All are required.
type Options struct {
	web.Options // what pages show and act through
	Sessions    Sessions
	SetUp       SetUp
	SignedIn    SignedIn
	Alarm       Alarm
	Events      Events         // the ledger
	Secure      bool           // cookies go over https only: console.base_url is https
	Zone        *time.Location // of times that belong to no partner
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Options
	reader web.Reader
	router *chi.Mux
	guard  http.Handler // router behind the checks that every request passes
	sheets sheets
	assets assets
	live   live
	boards boards
	certs  certificateLists
	told   flashes
	porch  porch
}

// New checks the options, reads the templates and builds the routes. It does
// no I/O.
func New(o Options) (*Console, error) {
	if o.Ledger == nil || o.Letters == nil || o.Lanes == nil || o.Sessions == nil || o.SetUp == nil || o.SignedIn == nil || o.Alarm == nil || o.Events == nil || o.Now == nil || o.Log == nil || o.Zone == nil {
		return nil, errors.New("console: all options are required")
	}
	c := &Console{Options: o, reader: o.Reader(), router: chi.NewRouter(), live: newLive()}
	var err error
	if c.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if c.sheets, err = loadSheets(c.assets); err != nil {
		return nil, err
	}
	for _, p := range c.pages() {
		h := c.open(p)
		c.router.Method(http.MethodGet, p.path, h)
		c.router.Method(http.MethodHead, p.path, h)
	}
	for _, a := range c.actions() {
		c.router.Method(http.MethodPost, a.path, c.act(a))
	}
	c.router.Method(http.MethodGet, "/live", http.HandlerFunc(c.stream))
	c.router.Method(http.MethodGet, "/assets/*", c.assets)
	c.router.NotFound(c.nowhere)
	c.router.MethodNotAllowed(c.nowhere)
	// Requests that change something must come from our own pages, whatever
	// the cookie says.
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(c.foreign))
	c.guard = c.sealed(c.recovered(origin.Handler(c.router)))
	return c, nil
}

// ServeHTTP serves every page and action.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.guard.ServeHTTP(w, r) }

// Stop ends the live streams, which would hold up a listener's end.
func (c *Console) Stop() { c.live.stop() }

// policy is what a page may load: our own files, nothing written into it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; img-src 'self' data:"

// sealed puts on every answer what keeps a browser from being turned against
// us.
func (c *Console) sealed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if c.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
