package web

import (
	"net/http"
	"time"

	"edigw/access"
)

// user is a person on the wire.
type user struct {
	Name     string     `json:"name"`
	Role     string     `json:"role" enum:"viewer,operator,admin"`
	Payloads bool       `json:"payloads" doc:"may see the content of documents"`
	Created  *time.Time `json:"created"`
}

// newUser is the body that adds a user.
type newUser struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Payloads bool   `json:"payloads,omitempty"`
	Password string `json:"password"`
}

// newPassword is the body that changes a password.
type newPassword struct {
	Password string `json:"password"`
}

func (a *API) userRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/users", scope: access.Admin, about: "Users of the console by name.", query: paging, out: list[user]{}, status: http.StatusOK, do: a.listUsers},
		{method: http.MethodPost, path: "/users", scope: access.Admin, about: "Add a user.",
			in: newUser{}, out: user{}, status: http.StatusCreated, also: []Slug{Conflict, DiskFull}, do: a.addUser},
		{method: http.MethodPost, path: "/users/{name}/password", scope: access.Admin, about: "Change a password; it lifts a lock-out.",
			in: newPassword{}, status: http.StatusNoContent, also: []Slug{NotFound, DiskFull}, do: a.setPassword},
		{method: http.MethodPost, path: "/users/{name}/remove", scope: access.Admin, about: "Remove a user.",
			in: nothing{}, status: http.StatusNoContent, also: []Slug{NotFound, DiskFull}, do: a.removeUser},
	}
}

func (a *API) listUsers(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	all, err := a.Access.Users(c.r.Context())
	if err != nil {
		return err
	}
	all, next, err := cut(all, "users", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, next, viewUser))
}

func (a *API) addUser(c *call) error {
	var in newUser
	if err := c.read(&in); err != nil {
		return err
	}
	u, err := a.Access.AddUser(c.r.Context(), access.User{Name: in.Name, Role: access.Role(in.Role), Payloads: in.Payloads}, in.Password, c.actor)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, viewUser(u))
}

func (a *API) setPassword(c *call) error {
	var in newPassword
	if err := c.read(&in); err != nil {
		return err
	}
	name := c.param("name")
	if err := a.Access.SetPassword(c.r.Context(), name, in.Password, c.actor); err != nil {
		return absent(err, "user", name)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) removeUser(c *call) error {
	if err := c.read(&nothing{}); err != nil {
		return err
	}
	name := c.param("name")
	if err := a.Access.RemoveUser(c.r.Context(), name, c.actor); err != nil {
		return absent(err, "user", name)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func viewUser(u access.User) user {
	return user{Name: u.Name, Role: string(u.Role), Payloads: u.Payloads, Created: when(u.Created)}
}
