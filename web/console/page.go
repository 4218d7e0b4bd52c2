package console

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"edigw/access"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/web"
)

// maxParameter bounds a parameter of a page, in bytes.
const maxParameter = 300

// page is one page: the table of pages serves it and checks who may see it.
type page struct {
	path   string
	need   access.Scope // Read if empty
	public bool         // without being signed in
	params []string     // parameters; any other is refused
	show   func(*visit) (view, error)
}

// view is what a page shows: a template and the struct that it prints.
type view struct {
	template string
	title    string
	nav      string // entry of the navigation that is lit
	topic    string // what the page watches on the live stream; "-": nothing
	status   int    // 200 if 0
	data     any
	redirect string // instead: another page
	sent     bool   // instead: the answer is written already, a download
}

// visit is one request of a browser while it runs.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	query   url.Values // of the URL
	form    url.Values // of the body; nil for a page
	user    access.User
	session access.Session
	now     time.Time
	zone    *time.Location
}

// pages are all pages.
func (c *Console) pages() []page {
	return slices.Concat(c.signInPages(), c.passwordPages(), c.boardPages(), c.letterPages(), c.bulkPages(), c.messagePages(),
		c.partnerPages(), c.outagePages(), c.alertPages(), c.certificatePages(), c.auditPages(), c.userPages(), c.sheetPages())
}

// open makes a handler of a page.
func (c *Console) open(p page) http.Handler {
	if p.need == "" {
		p.need = access.Read
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := c.visit(w, r)
		if err != nil && !p.public {
			c.turnAway(v, err)
			return
		}
		if !p.public && !v.may(p.need) {
			c.fail(v, forbidden(p.need))
			return
		}
		if err := v.parameters(p.params); err != nil {
			c.fail(v, err)
			return
		}
		shown, err := p.show(v)
		if err != nil {
			c.fail(v, err)
			return
		}
		if shown.sent {
			return
		}
		if shown.redirect != "" {
			http.Redirect(w, r, shown.redirect, http.StatusSeeOther)
			return
		}
		c.print(v, shown)
	})
}

// visit tells who asks. Even with an error the visit can be answered.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) (*visit, error) {
	v := &visit{w: w, r: r, now: c.Now(), zone: c.Zone}
	secret := c.secret(r)
	if secret == "" {
		return v, access.ErrUnknown
	}
	var err error
	if v.user, v.session, err = c.Sessions.Session(r.Context(), secret); err != nil {
		return v, err
	}
	web.NoteActor(r.Context(), v.user.Name)
	return v, nil
}

// may reports whether the role of who asks covers a scope.
func (v *visit) may(need access.Scope) bool { return access.Grant(v.user.Role.Scopes(), need) }

// actor is who asks, as the ledger names him.
func (v *visit) actor() fault.Actor {
	return fault.Actor{Name: v.user.Name, Role: string(v.user.Role), From: web.Remote(v.r)}
}

func forbidden(need access.Scope) error {
	detail := "This needs the role operator."
	if need == access.Admin {
		detail = "This needs the role admin."
	}
	return &web.Problem{Slug: web.Forbidden, Detail: detail}
}

// parameters reads the query strictly: a filter with a slip in its name must
// not select everything.
func (v *visit) parameters(known []string) error {
	query, err := url.ParseQuery(v.r.URL.RawQuery)
	if err != nil {
		return &web.Problem{Slug: web.BadRequest, Detail: "The query of the address cannot be read."}
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			return &web.Problem{Slug: web.BadRequest, Field: web.Clean(name), Detail: "This page has no such filter: " + web.Clean(name) + "."}
		case len(values) > 1 || len(values[0]) > maxParameter:
			return &web.Problem{Slug: web.BadRequest, Field: name, Detail: "Give " + name + " once, in at most 300 bytes."}
		}
	}
	v.query = query
	return nil
}

// param is a part of the path.
func (v *visit) param(name string) string {
	value := chi.URLParam(v.r, name)
	if v.r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(value); err == nil {
			return plain
		}
	}
	return value
}

// moment is a time as a page prints it: absolute in its zone and relative.
type moment struct {
	ISO   string // for machines; empty: no time
	Clock string // "02:10 CET", with the date where it is not today's
	Ago   string // "47 min ago"
}

// Is reports whether there is a time at all.
func (m moment) Is() bool { return m.ISO != "" }

// at prints a time in the console's zone.
func (v *visit) at(t time.Time) moment { return v.in(t, v.zone) }

// in prints a time in a zone.
func (v *visit) in(t time.Time, zone *time.Location) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{ISO: t.UTC().Format(time.RFC3339), Clock: words.Clock(t, v.now, zone) + " " + t.In(zone).Format("MST"), Ago: words.Ago(t, v.now)}
}
