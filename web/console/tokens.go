package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"edigw/access"
	"edigw/internal/words"
	"edigw/queue"
)

// tokenRow is an API token; its secret is kept nowhere.
type tokenRow struct {
	Name    string
	Scopes  string
	Created moment
	By      string
	Used    moment
	Button  button
}

// madeToken is the page that shows a new token's secret, once.
type madeToken struct {
	Name, Scopes, Secret string
}

func (c *Console) tokenActions() []action {
	return []action{
		{path: "/tokens", need: access.Admin, do: c.makeToken},
		{path: "/tokens/{name}/revoke", need: access.Admin, do: c.revokeToken},
	}
}

func (v *visit) tokenRow(t access.Token) tokenRow {
	return tokenRow{Name: plain(t.Name), Scopes: scopeNames(t.Scopes), Created: v.at(t.Created), By: plain(t.By.Name), Used: v.at(t.Used),
		Button: button{Label: "Revoke", Path: "/tokens/" + url.PathEscape(t.Name) + "/revoke", Kind: danger, Back: "/users"}}
}

func scopeNames(all []access.Scope) string {
	var names []string
	for _, s := range all {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// makeToken answers with the secret itself: no other page can show it.
func (c *Console) makeToken(v *visit) (done, error) {
	scopes, err := access.ParseScopes(v.form["scope"]...)
	if text, ok := typedWrong(err); ok {
		return c.wrongUser(v, users{Wrong: text})
	}
	if err != nil {
		return done{}, err
	}
	secret, t, err := c.Access.NewToken(v.r.Context(), v.form.Get("name"), scopes, v.actor())
	if text, ok := typedWrong(err); ok {
		return c.wrongUser(v, users{Wrong: text})
	}
	if err != nil {
		return done{}, err
	}
	return shows(view{template: "token", title: "Token " + t.Name, nav: "/users", topic: "-", status: http.StatusCreated, data: madeToken{t.Name, scopeNames(t.Scopes), secret}}), nil
}

// revokeToken asks, then revokes.
func (c *Console) revokeToken(v *visit) (done, error) {
	ctx, name := v.r.Context(), v.param("name")
	if v.form.Get("sure") == "" {
		all, err := c.Access.Tokens(ctx)
		if err != nil {
			return done{}, err
		}
		if !slices.ContainsFunc(all, func(t access.Token) bool { return t.Name == name }) {
			return done{}, absent(queue.ErrNotFound, "token", name)
		}
		w := words.Revoke(plain(name))
		return asks(question{Title: w.Title, Text: w.Text, Path: "/tokens/" + url.PathEscape(name) + "/revoke", Fields: []field{{"sure", "yes"}}, Back: "/users", Safe: w.Safe,
			Choices: []choice{{Label: w.Actions[0], Kind: danger}}}), nil
	}
	if err := c.Access.RevokeToken(ctx, name, v.actor()); err != nil {
		return done{}, absent(err, "token", name)
	}
	return done{to: "/users", flash: flash{Text: "Token " + plain(name) + " is revoked."}}, nil
}
