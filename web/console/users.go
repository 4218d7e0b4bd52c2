package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"edigw/access"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// usersPerPage is how many users are shown at once; each costs a look at his
// sessions.
const usersPerPage = 50

// users is the page of people and API tokens, for admins.
type users struct {
	Rows   []userRow
	Tokens []tokenRow
	Roles  []option
	Scopes []string
	New    newUser // what was typed, if it was wrong
	Wrong  string
	Newer  string
	Older  string
}

// newUser is the form that adds a user.
type newUser struct {
	Name     string
	Payloads bool
}

// userRow is a user.
type userRow struct {
	Name     string
	Path     string // of his actions
	Role     string
	Payloads bool
	Created  moment
	Changed  moment // password
	Me       bool
	Sessions []sessionRow
	Buttons  []button
}

// sessionRow is a browser that is signed in.
type sessionRow struct {
	From  string
	Agent string
	Begun moment
	Seen  moment
	Ends  moment
}

func (c *Console) userPages() []page {
	return []page{{path: "/users", need: access.Admin, params: []string{"from"}, show: func(v *visit) (view, error) { return c.usersView(v, users{}, http.StatusOK) }}}
}

func (c *Console) userActions() []action {
	return []action{
		{path: "/users", need: access.Admin, do: c.addUser},
		{path: "/users/{name}/password", need: access.Admin, do: c.setPassword},
		{path: "/users/{name}/remove", need: access.Admin, do: c.removeUser},
		{path: "/users/{name}/sign-out", need: access.Admin, do: c.signOutUser},
	}
}

// usersView is the page of users, with what was wrong if something was.
func (c *Console) usersView(v *visit, p users, status int) (view, error) {
	ctx := v.r.Context()
	all, err := c.Access.Users(ctx)
	if err != nil {
		return view{}, err
	}
	from := 0
	if v.query != nil {
		from, _ = strconv.Atoi(v.query.Get("from"))
	}
	from = max(0, min(from, len(all)))
	for _, u := range all[from:min(from+usersPerPage, len(all))] {
		row, err := c.userRow(ctx, v, u)
		if err != nil {
			return view{}, err
		}
		p.Rows = append(p.Rows, row)
	}
	if from > 0 {
		p.Newer = with(nil, "/users", "from", unlessZero(max(0, from-usersPerPage)))
	}
	if from+usersPerPage < len(all) {
		p.Older = with(nil, "/users", "from", strconv.Itoa(from+usersPerPage))
	}
	tokens, err := c.Access.Tokens(ctx)
	if err != nil {
		return view{}, err
	}
	for _, t := range tokens {
		p.Tokens = append(p.Tokens, v.tokenRow(t))
	}
	for _, r := range access.Roles {
		p.Roles = append(p.Roles, option{string(r), roleWords(r), r == access.RoleOperator})
	}
	for _, s := range access.Scopes {
		p.Scopes = append(p.Scopes, string(s))
	}
	return view{template: "users", title: "Users and tokens", nav: "/users", topic: "-", status: status, data: p}, nil
}

func roleWords(r access.Role) string {
	switch r {
	case access.RoleViewer:
		return "viewer: sees all pages"
	case access.RoleOperator:
		return "operator: also acts"
	}
	return "admin: also users and tokens"
}

func (c *Console) userRow(ctx context.Context, v *visit, u access.User) (userRow, error) {
	open, err := c.SignedIn.Sessions(ctx, u.Name)
	if err != nil {
		return userRow{}, err
	}
	path := "/users/" + url.PathEscape(u.Name)
	r := userRow{Name: plain(u.Name), Path: path, Role: string(u.Role), Payloads: u.Payloads, Created: v.at(u.Created), Me: u.Name == v.user.Name}
	if u.Changed.Sub(u.Created) > time.Second {
		r.Changed = v.at(u.Changed)
	}
	for _, one := range open {
		r.Sessions = append(r.Sessions, sessionRow{plain(one.From), plain(one.Agent), v.at(one.Created), v.at(one.Seen), v.at(one.Expires)})
	}
	if len(open) > 0 {
		r.Buttons = append(r.Buttons, button{Label: "Sign out everywhere", Path: path + "/sign-out", Back: "/users"})
	}
	r.Buttons = append(r.Buttons, button{Label: "Remove", Path: path + "/remove", Kind: danger, Back: "/users"})
	return r, nil
}

// addUser makes a user. What was wrong is said where it was typed.
func (c *Console) addUser(v *visit) (done, error) {
	u := access.User{Name: v.form.Get("name"), Role: access.Role(v.form.Get("role")), Payloads: v.form.Get("payloads") == "true"}
	made, err := c.Access.AddUser(v.r.Context(), u, v.form.Get("password"), v.actor())
	if text, ok := typedWrong(err); ok {
		return c.wrongUser(v, users{Wrong: text, New: newUser{u.Name, u.Payloads}})
	}
	if err != nil {
		return done{}, err
	}
	return done{to: "/users", flash: flash{Text: "User " + made.Name + " is added as " + string(made.Role) + "."}}, nil
}

func (c *Console) wrongUser(v *visit, p users) (done, error) {
	shown, err := c.usersView(v, p, http.StatusBadRequest)
	return shows(shown), err
}

// typedWrong is what is wrong with what somebody typed, if that is all.
func typedWrong(err error) (string, bool) {
	var input *access.InputError
	var taken *access.TakenError
	switch {
	case errors.As(err, &input):
		return "The " + input.Field + ": " + input.Reason + ".", true
	case errors.As(err, &taken):
		return sentenceOf(taken), true
	}
	return "", false
}

// setPassword changes a password; it ends the user's sessions.
func (c *Console) setPassword(v *visit) (done, error) {
	name := v.param("name")
	if v.form.Get("password") != v.form.Get("again") {
		return c.wrongUser(v, users{Wrong: "The two passwords differ."})
	}
	err := c.Access.SetPassword(v.r.Context(), name, v.form.Get("password"), v.actor())
	if text, ok := typedWrong(err); ok {
		return c.wrongUser(v, users{Wrong: text})
	}
	if err != nil {
		return done{}, absent(err, "user", name)
	}
	return done{to: "/users", flash: flash{Text: "The password of " + name + " is changed; they are signed out everywhere, and a lock-out is lifted."}}, nil
}

// removeUser asks, then removes.
func (c *Console) removeUser(v *visit) (done, error) {
	ctx, name := v.r.Context(), v.param("name")
	all, err := c.Access.Users(ctx)
	if err != nil {
		return done{}, err
	}
	i := slices.IndexFunc(all, func(u access.User) bool { return u.Name == name })
	if i < 0 {
		return done{}, absent(queue.ErrNotFound, "user", name)
	}
	if v.form.Get("sure") == "" {
		others := slices.ContainsFunc(all, func(u access.User) bool { return u.Role == access.RoleAdmin && u.Name != name })
		w := words.Remove(plain(name), all[i].Role == access.RoleAdmin && !others)
		return asks(question{Title: w.Title, Text: w.Text, Path: "/users/" + url.PathEscape(name) + "/remove", Fields: []field{{"sure", "yes"}}, Back: "/users", Safe: w.Safe,
			Choices: []choice{{Label: w.Actions[0], Kind: danger}}}), nil
	}
	if err := c.Access.RemoveUser(ctx, name, v.actor()); err != nil {
		return done{}, absent(err, "user", name)
	}
	if name == v.user.Name {
		c.forget(v)
		return done{to: "/sign-in"}, nil
	}
	return done{to: "/users", flash: flash{Text: "User " + plain(name) + " is removed."}}, nil
}

func (c *Console) signOutUser(v *visit) (done, error) {
	name := v.param("name")
	err := c.Sessions.EndAll(v.r.Context(), name, v.actor())
	if web.ProblemOf(err).Slug == web.NotFound {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: plain(name) + " is signed in nowhere."}
	}
	if err != nil {
		return done{}, err
	}
	if name == v.user.Name {
		c.forget(v)
		return done{to: "/sign-in"}, nil
	}
	return done{to: "/users", flash: flash{Text: plain(name) + " is signed out everywhere."}}, nil
}
