package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/web"
)

// Bounds of what a browser may send.
const (
	maxForm     = 2 << 20 // an edited document or a certificate
	maxPublic   = 8 << 10 // from somebody who is not signed in
	formTimeout = 30 * time.Second
)

// action is what a form does. Its path is the API's without /api/v1.
type action struct {
	path   string
	need   access.Scope // Operate if empty
	public bool
	do     func(*visit) (done, error)
}

// done is what follows an action: a page, or the way to one.
type done struct {
	view  *view  // to show at once: a question, or what to correct
	to    string // else where to go; empty: back to where the form was
	flash flash  // said there
}

// shows answers an action with a page.
func shows(v view) done { return done{view: &v} }

// actions are all actions.
func (c *Console) actions() []action {
	return slices.Concat(c.signInActions(), c.passwordActions(), c.letterActions(), c.bulkActions(), c.messageActions(),
		c.partnerActions(), c.certificateActions(), c.alertActions(), c.userActions(), c.tokenActions())
}

// act makes a handler of an action.
func (c *Console) act(a action) http.Handler {
	if a.need == "" {
		a.need = access.Operate
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := c.visit(w, r)
		if err != nil && !a.public {
			c.turnAway(v, err)
			return
		}
		if !a.public && !v.may(a.need) {
			c.fail(v, forbidden(a.need))
			return
		}
		most := int64(maxForm)
		if a.public {
			most = maxPublic
		}
		if err := v.read(most); err != nil {
			c.fail(v, err)
			return
		}
		d, err := a.do(v)
		switch {
		case err != nil:
			c.fail(v, err)
		case d.view != nil:
			c.print(v, *d.view)
		default:
			c.goOn(v, d)
		}
	})
}

// read reads the form, of so many bytes at most.
func (v *visit) read(most int64) error {
	control := http.NewResponseController(v.w)
	_ = control.SetReadDeadline(time.Now().Add(formTimeout)) // deadlines of connections are wall clock
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, most)
	var err error
	if strings.HasPrefix(v.r.Header.Get("Content-Type"), "multipart/form-data") {
		err = v.r.ParseMultipartForm(most)
	} else {
		err = v.r.ParseForm()
	}
	if err != nil {
		return &web.Problem{Slug: web.BadRequest, Detail: "The form could not be read: it is too large, or broke off."}
	}
	v.form = v.r.PostForm
	return nil
}

// goOn sends the browser to where an action leads.
func (c *Console) goOn(v *visit, d done) {
	if d.to == "" {
		d.to = local(v.form.Get("back"))
	}
	if d.flash.Text != "" {
		c.told.put(v.session.Hash, d.flash, v.now)
	}
	http.Redirect(v.w, v.r, d.to, http.StatusSeeOther)
}

// button is a form of one button, or a link that looks like one.
type button struct {
	Label  string
	Path   string
	Get    bool // a link
	Kind   string
	Fields []field
	Back   string // where it leads after the action; empty: the page itself
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

// Kinds of buttons.
const (
	primary = "primary"
	danger  = "danger"
	quiet   = "quiet"
)

// here is the page's own address, for forms to come back to.
func (v *visit) here() string {
	u := url.URL{Path: v.r.URL.Path, RawQuery: v.r.URL.RawQuery}
	return u.String()
}
