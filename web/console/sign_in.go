package console

import (
	"errors"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"edigw/access"
	"edigw/web"
)

// signIn is the page where somebody says who he is.
type signIn struct {
	Name  string
	To    string // page that he wanted
	Wrong string // why it failed
}

// firstUser is the page of the one-time set-up link.
type firstUser struct {
	Token string
	Name  string
	Wrong string
}

func (c *Console) signInPages() []page {
	return []page{
		{path: "/sign-in", public: true, params: []string{"to"}, show: func(v *visit) (view, error) {
			return signInView(signIn{To: local(v.query.Get("to"))}, http.StatusOK), nil
		}},
		{path: "/set-up", public: true, params: []string{"token"}, show: c.setUpPage},
	}
}

// setUpPage says at once that a link is void. Its address is a secret: no page
// that it leads to may learn it.
func (c *Console) setUpPage(v *visit) (view, error) {
	v.w.Header().Set("Referrer-Policy", "no-referrer")
	token := v.query.Get("token")
	if !c.SetUp.SetupHolds(token) {
		return view{}, errLink
	}
	return setUpView(firstUser{Token: token, Name: "admin"}, http.StatusOK), nil
}

// errLink answers a set-up link that does not hold.
var errLink = &web.Problem{Slug: web.Forbidden, Detail: "This link was used, is too old, or there is a user already. Sign in, or make a user with edigw user add."}

func signInView(data signIn, status int) view {
	return view{template: "sign_in", title: "Sign in", topic: "-", status: status, data: data}
}

func setUpView(data firstUser, status int) view {
	return view{template: "set_up", title: "First user", topic: "-", status: status, data: data}
}

func (c *Console) signInActions() []action {
	return []action{
		{path: "/sign-in", public: true, do: c.signIn},
		{path: "/set-up", public: true, do: c.setUp},
		{path: "/sign-out", need: access.Read, do: c.signOut},
		{path: "/sign-out-everywhere", need: access.Read, do: c.signOutEverywhere},
	}
}

func (c *Console) signIn(v *visit) (done, error) {
	again := signIn{Name: v.form.Get("name"), To: local(v.form.Get("to"))}
	leave, ok := c.porch.enter(web.Remote(v.r))
	if !ok {
		v.w.Header().Set("Retry-After", "5")
		again.Wrong = crowded
		return shows(signInView(again, http.StatusTooManyRequests)), nil
	}
	defer leave()
	u, err := c.Sessions.SignIn(v.r.Context(), again.Name, v.form.Get("password"), web.Remote(v.r))
	var locked *access.LockedError
	switch {
	case errors.As(err, &locked):
		wait := locked.Until.Sub(v.now)
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		again.Wrong = "Too many wrong passwords for this name. It is locked until " + v.at(locked.Until).Clock + "; an admin can lift it with edigw user passwd."
		return shows(signInView(again, http.StatusTooManyRequests)), nil
	case errors.Is(err, access.ErrUnknown):
		again.Wrong = "Name and password do not fit."
		return shows(signInView(again, http.StatusUnauthorized)), nil
	case err != nil:
		return done{}, err
	}
	if err := c.begin(v, u); err != nil {
		return done{}, err
	}
	return done{to: again.To}, nil
}

func (c *Console) setUp(v *visit) (done, error) {
	again := firstUser{Token: v.form.Get("token"), Name: v.form.Get("name")}
	if v.form.Get("password") != v.form.Get("again") {
		again.Wrong = "The two passwords differ."
		return shows(setUpView(again, http.StatusBadRequest)), nil
	}
	leave, ok := c.porch.enter(web.Remote(v.r))
	if !ok {
		again.Wrong = crowded
		return shows(setUpView(again, http.StatusTooManyRequests)), nil
	}
	defer leave()
	u, err := c.SetUp.SetUp(v.r.Context(), again.Token, again.Name, v.form.Get("password"), web.Remote(v.r))
	var input *access.InputError
	switch {
	case errors.As(err, &input):
		again.Wrong = "The " + input.Field + ": " + input.Reason + "."
		return shows(setUpView(again, http.StatusBadRequest)), nil
	case errors.Is(err, access.ErrUnknown):
		return done{}, errLink
	case err != nil:
		return done{}, err
	}
	if err := c.begin(v, u); err != nil {
		return done{}, err
	}
	return done{to: "/"}, nil
}

func (c *Console) signOut(v *visit) (done, error) {
	if err := c.Sessions.End(v.r.Context(), c.secret(v.r)); err != nil {
		return done{}, err
	}
	c.forget(v)
	return done{to: "/sign-in"}, nil
}

func (c *Console) signOutEverywhere(v *visit) (done, error) {
	if err := c.Sessions.EndAll(v.r.Context(), v.user.Name, v.actor()); err != nil {
		return done{}, err
	}
	c.forget(v)
	return done{to: "/sign-in"}, nil
}

// porch is where sign-ins wait for their password to be hashed, which is made
// to be slow. It is bounded, in all and for one address, so that a flood of
// strangers neither fills the memory nor keeps everybody waiting.
type porch struct {
	mu  sync.Mutex
	in  int
	per map[string]int // by address
}

// Bounds of the porch.
const (
	porchAll = 64
	porchOne = 8
)

const crowded = "Too many sign-ins at once. Try again in a few seconds."

// enter takes a place, if there is one; the caller leaves it.
func (p *porch) enter(from string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in >= porchAll || p.per[from] >= porchOne {
		return nil, false
	}
	if p.per == nil {
		p.per = map[string]int{}
	}
	p.in++
	p.per[from]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.in--
		if p.per[from]--; p.per[from] == 0 {
			delete(p.per, from)
		}
	}, true
}

// cookie is the name of the session's cookie. Browsers keep cookies by host and
// not by port, so that two gateways on one machine need two names. The prefix
// makes browsers refuse one that another host or plain HTTP sets.
func (c *Console) cookie(r *http.Request) string {
	name := "edigw"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if c.Secure {
		return "__Host-" + name
	}
	return name
}

// secret is the session that a browser shows; empty if none.
func (c *Console) secret(r *http.Request) string {
	k, err := r.Cookie(c.cookie(r))
	if err != nil {
		return ""
	}
	return k.Value
}

// begin gives the browser a session of its own; one that it had ends, so that
// nobody can plant one (session fixation).
func (c *Console) begin(v *visit, u access.User) error {
	if old := c.secret(v.r); old != "" {
		if err := c.Sessions.End(v.r.Context(), old); err != nil && !errors.Is(err, access.ErrUnknown) {
			return err
		}
	}
	secret, s, err := c.Sessions.Begin(v.r.Context(), u, web.Remote(v.r), web.Clean(v.r.UserAgent()))
	if err != nil {
		return err
	}
	http.SetCookie(v.w, &http.Cookie{Name: c.cookie(v.r), Value: secret, Path: "/", Expires: s.Expires, HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode})
	return nil
}

func (c *Console) forget(v *visit) {
	http.SetCookie(v.w, &http.Cookie{Name: c.cookie(v.r), Path: "/", Expires: time.Unix(1, 0), MaxAge: -1, HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode})
}

// local is a path of ours that a form or address names; else the board. What
// leads elsewhere is no path of ours.
func local(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, "\\") || strings.ContainsFunc(to, unicode.IsControl) || len(to) > 2000 {
		return "/"
	}
	return to
}
