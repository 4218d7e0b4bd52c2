package console

import (
	"errors"
	"net/http"
	"slices"

	"edigw/access"
	"edigw/queue"
	"edigw/web"
)

// ownPassword is the page on which somebody changes their own password.
type ownPassword struct {
	Name  string
	Wrong string
	Said  string // what was done
}

func (c *Console) passwordPages() []page {
	return []page{{path: "/password", show: func(v *visit) (view, error) { return passwordView(ownPassword{Name: v.user.Name}, http.StatusOK), nil }}}
}

func (c *Console) passwordActions() []action {
	return []action{{path: "/password", need: access.Read, do: c.changePassword}}
}

func passwordView(p ownPassword, status int) view {
	return view{template: "password", title: "Change password", topic: "-", status: status, data: p}
}

// changePassword gives whoever is signed in another password. It ends every
// session; this browser gets a new one.
func (c *Console) changePassword(v *visit) (done, error) {
	ctx, name := v.r.Context(), v.user.Name
	wrong := func(status int, text string) (done, error) {
		return shows(passwordView(ownPassword{Name: name, Wrong: text}, status)), nil
	}
	if v.form.Get("password") != v.form.Get("again") {
		return wrong(http.StatusBadRequest, "The two new passwords differ.")
	}
	leave, ok := c.porch.enter(web.Remote(v.r))
	if !ok {
		return wrong(http.StatusTooManyRequests, crowded)
	}
	defer leave()
	_, err := c.Sessions.SignIn(ctx, name, v.form.Get("old"), web.Remote(v.r))
	var locked *access.LockedError
	switch {
	case errors.As(err, &locked):
		return wrong(http.StatusTooManyRequests, "Too many wrong passwords. Try again after "+v.at(locked.Until).Clock+".")
	case errors.Is(err, access.ErrUnknown):
		return wrong(http.StatusForbidden, "The old password is wrong.")
	case err != nil:
		return done{}, err
	}
	if err := c.Access.SetPassword(ctx, name, v.form.Get("password"), v.actor()); err != nil {
		if text, ok := typedWrong(err); ok {
			return wrong(http.StatusBadRequest, text)
		}
		return done{}, err
	}
	all, err := c.Access.Users(ctx)
	if err != nil {
		return done{}, err
	}
	i := slices.IndexFunc(all, func(u access.User) bool { return u.Name == name })
	if i < 0 {
		return done{}, queue.ErrNotFound
	}
	if err := c.begin(v, all[i]); err != nil {
		return done{}, err
	}
	return shows(passwordView(ownPassword{Name: name, Said: "Your password is changed. This browser stays signed in; all others are signed out."}, http.StatusOK)), nil
}
