package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/internal/apiclient"
	"edigw/store/sqlite"
)

// accounts are users and tokens: of a running gateway by its API, of a stopped
// one in its data folder.
type accounts interface {
	NewToken(ctx context.Context, name string, scopes []string) (string, error)
	Tokens(ctx context.Context) ([]tokenView, error)
	RevokeToken(ctx context.Context, name string) error
	AddUser(ctx context.Context, u newUser, password string) error
	SetPassword(ctx context.Context, name, password string) error
	Users(ctx context.Context) ([]userView, error)
	RemoveUser(ctx context.Context, name string) error
}

// newUser is a user to be made.
type newUser struct {
	name, role string
	payloads   bool
}

// withAccounts does something with users and tokens.
func (e *env) withAccounts(do func(accounts) error) error {
	a, done, err := e.accounts()
	if err != nil {
		return err
	}
	defer done()
	return do(a)
}

// accounts gives those of the gateway that runs, else of the data folder. The
// caller calls done.
func (e *env) accounts() (a accounts, done func(), err error) {
	gateway, err := e.gateway()
	if err != nil {
		return nil, nil, err
	}
	var ignored any
	err = gateway.Get(e.ctx, "/tokens", nil, &ignored)
	var down *apiclient.UnreachableError
	if e.url != "" || !errors.As(err, &down) || down.Denied() {
		return remoteAccounts{gateway}, func() {}, err
	}
	s, err := e.settings()
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(e.ctx, string(s.Gateway().Data), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	service, err := access.New(access.Options{Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return localAccounts{service}, func() {
		if err := store.Close(); err != nil {
			fmt.Fprintln(e.err, "edigw:", err)
		}
	}, nil
}

// remoteAccounts asks a running gateway.
type remoteAccounts struct{ *apiclient.Client }

func (a remoteAccounts) NewToken(ctx context.Context, name string, scopes []string) (string, error) {
	var made struct {
		Token string `json:"token"`
	}
	err := a.Post(ctx, "/tokens", map[string]any{"name": name, "scopes": scopes}, &made)
	return made.Token, err
}

func (a remoteAccounts) Tokens(ctx context.Context) ([]tokenView, error) {
	var list page[tokenView]
	err := a.Get(ctx, "/tokens", nil, &list)
	return list.Items, err
}

func (a remoteAccounts) RevokeToken(ctx context.Context, name string) error {
	return a.Post(ctx, "/tokens/"+url.PathEscape(name)+"/revoke", nil, nil)
}

func (a remoteAccounts) AddUser(ctx context.Context, u newUser, password string) error {
	return a.Post(ctx, "/users", map[string]any{"name": u.name, "role": u.role, "payloads": u.payloads, "password": password}, nil)
}

func (a remoteAccounts) SetPassword(ctx context.Context, name, password string) error {
	return a.Post(ctx, "/users/"+url.PathEscape(name)+"/password", map[string]string{"password": password}, nil)
}

func (a remoteAccounts) Users(ctx context.Context) ([]userView, error) {
	var list page[userView]
	err := a.Get(ctx, "/users", nil, &list)
	return list.Items, err
}

func (a remoteAccounts) RemoveUser(ctx context.Context, name string) error {
	return a.Post(ctx, "/users/"+url.PathEscape(name)+"/remove", nil, nil)
}

// localAccounts works on the data folder of a stopped gateway.
type localAccounts struct{ *access.Service }

// byHand is who acts on the data folder.
var byHand = fault.Actor{Name: "cli", From: "local"}

func (a localAccounts) NewToken(ctx context.Context, name string, scopes []string) (string, error) {
	list, err := access.ParseScopes(scopes...)
	if err != nil {
		return "", err
	}
	token, _, err := a.Service.NewToken(ctx, name, list, byHand)
	return token, err
}

func (a localAccounts) Tokens(ctx context.Context) ([]tokenView, error) {
	list, err := a.Service.Tokens(ctx)
	out := []tokenView{}
	for _, t := range list {
		v := tokenView{Name: t.Name, Created: t.Created, Used: t.Used}
		for _, s := range t.Scopes {
			v.Scopes = append(v.Scopes, string(s))
		}
		out = append(out, v)
	}
	return out, err
}

func (a localAccounts) RevokeToken(ctx context.Context, name string) error {
	return a.Service.RevokeToken(ctx, name, byHand)
}

func (a localAccounts) AddUser(ctx context.Context, u newUser, password string) error {
	_, err := a.Service.AddUser(ctx, access.User{Name: u.name, Role: access.Role(u.role), Payloads: u.payloads}, password, byHand)
	return err
}

func (a localAccounts) SetPassword(ctx context.Context, name, password string) error {
	return a.Service.SetPassword(ctx, name, password, byHand)
}

func (a localAccounts) Users(ctx context.Context) ([]userView, error) {
	list, err := a.Service.Users(ctx)
	out := []userView{}
	for _, u := range list {
		out = append(out, userView{Name: u.Name, Role: string(u.Role), Payloads: u.Payloads, Created: u.Created})
	}
	return out, err
}

func (a localAccounts) RemoveUser(ctx context.Context, name string) error {
	return a.Service.RemoveUser(ctx, name, byHand)
}

// password reads a password from a file, one trailing line end ignored, or
// asks for it. What is typed is seen: use a file where others look on.
func (e *env) password(file string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), err
	}
	fmt.Fprint(e.err, "Password: ")
	line, err := bufio.NewReader(e.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
