package web

import (
	"net/http"
	"time"

	"edigw/access"
)

// token is an API token on the wire; its secret is in the answer that made it
// and nowhere else.
type token struct {
	Name    string     `json:"name"`
	Scopes  []string   `json:"scopes"`
	Created *time.Time `json:"created"`
	By      string     `json:"by"`
	Used    *time.Time `json:"used" doc:"last use, to the minute"`
	Token   string     `json:"token,omitempty" doc:"the secret, shown once"`
}

// newToken is the body that makes a token.
type newToken struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes" doc:"of send, read, operate, admin"`
}

func (a *API) tokenRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/tokens", scope: access.Admin, about: "API tokens by name.", query: paging, out: list[token]{}, status: http.StatusOK, do: a.listTokens},
		{method: http.MethodPost, path: "/tokens", scope: access.Admin, about: "Make a token; its secret is shown once.",
			in: newToken{}, out: token{}, status: http.StatusCreated, also: []Slug{Conflict, DiskFull}, do: a.makeToken},
		{method: http.MethodPost, path: "/tokens/{name}/revoke", scope: access.Admin, about: "Revoke a token; it holds from the next request on.",
			in: nothing{}, status: http.StatusNoContent, also: []Slug{NotFound, DiskFull}, do: a.revokeToken},
	}
}

func (a *API) listTokens(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	all, err := a.Access.Tokens(c.r.Context())
	if err != nil {
		return err
	}
	all, next, err := cut(all, "tokens", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(all, next, viewToken))
}

func (a *API) makeToken(c *call) error {
	var in newToken
	if err := c.read(&in); err != nil {
		return err
	}
	scopes, err := access.ParseScopes(in.Scopes...)
	if err != nil {
		return err
	}
	secret, t, err := a.Access.NewToken(c.r.Context(), in.Name, scopes, c.actor)
	if err != nil {
		return err
	}
	v := viewToken(t)
	v.Token = secret
	return c.answer(http.StatusCreated, v)
}

func (a *API) revokeToken(c *call) error {
	if err := c.read(&nothing{}); err != nil {
		return err
	}
	name := c.param("name")
	if err := a.Access.RevokeToken(c.r.Context(), name, c.actor); err != nil {
		return absent(err, "token", name)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func viewToken(t access.Token) token {
	return token{Name: t.Name, Scopes: texts(t.Scopes), Created: when(t.Created), By: t.By.Name, Used: when(t.Used)}
}
