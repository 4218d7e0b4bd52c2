package console

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"

	"edigw/access"
	"edigw/web"
)

// failure is the page of a request that could not be done.
type failure struct {
	Title  string
	Detail string
	By     string // who was faster
	Show   string // page of what it is about
}

// fail answers with an error in words. The page stays usable, and the request
// id leads to the log.
func (c *Console) fail(v *visit, err error) {
	p := web.ProblemOf(err)
	if p.Slug == web.Internal && !errors.Is(err, context.Canceled) {
		c.Log.Error("a page failed", "request_id", web.RequestID(v.r.Context()), "path", web.Clean(v.r.URL.Path), "err", err)
	}
	if p.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	f := failure{Title: p.Slug.Title(), Detail: p.Detail, By: p.By}
	switch {
	case p.Message != "":
		f.Show = "/messages/" + url.PathEscape(p.Message)
	case p.Letter != "":
		f.Show = "/letters/" + url.PathEscape(p.Letter)
	}
	c.print(v, view{template: "failure", title: f.Title, topic: "-", status: p.Slug.Status(), data: f})
}

// turnAway answers who is not signed in.
func (c *Console) turnAway(v *visit, err error) {
	switch {
	case !errors.Is(err, access.ErrUnknown):
		c.fail(v, err)
	case v.r.Method == http.MethodGet && v.r.Header.Get("X-Edigw-Live") == "":
		to := "/sign-in"
		if here := v.here(); here != "/" {
			to += "?to=" + url.QueryEscape(here)
		}
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	default:
		c.print(v, view{template: "failure", title: "Signed out", topic: "-", status: http.StatusUnauthorized, data: failure{
			Title: "You are signed out", Detail: "Nothing was done. Sign in, then do it again.", Show: "/sign-in",
		}})
	}
}

// nowhere answers a path that there is not.
func (c *Console) nowhere(w http.ResponseWriter, r *http.Request) {
	v, err := c.visit(w, r)
	if err != nil {
		c.turnAway(v, err)
		return
	}
	c.fail(v, &web.Problem{Slug: web.NotFound, Detail: fmt.Sprintf("There is no page %.200q.", r.URL.Path)})
}

// foreign answers a request that another site's page sent.
func (c *Console) foreign(w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r, now: c.Now(), zone: c.Zone}
	c.Log.Warn("a request from another site was refused", "path", web.Clean(r.URL.Path), "origin", web.Clean(r.Header.Get("Origin")), "from", web.Remote(r))
	c.fail(v, &web.Problem{Slug: web.Forbidden, Detail: "This request came from another site. Nothing was done."})
}

// recovered turns a panic into a page: one request's defect is not the
// gateway's end.
func (c *Console) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // a sentinel that net/http compares the same way
				panic(p)
			}
			c.Log.Error("a defect of edigw: a page panicked", "request_id", web.RequestID(r.Context()), "path", web.Clean(r.URL.Path), "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			c.fail(&visit{w: w, r: r, now: c.Now(), zone: c.Zone}, &web.Problem{Slug: web.Internal, Detail: "This page has a defect. The log says more, under the request id."})
		}()
		next.ServeHTTP(w, r)
	})
}
