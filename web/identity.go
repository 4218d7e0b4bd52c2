package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

// localActor is the name of who asks over the local socket without a token.
const localActor = "cli"

// Access knows tokens and users; *access.Service is one.
type Access interface {
	Tokens
	Users
}

// Tokens knows API tokens.
type Tokens interface {
	// Token gives the token of a secret; an unknown one is access.ErrUnknown.
	Token(ctx context.Context, secret string) (access.Token, error)
	NewToken(ctx context.Context, name string, scopes []access.Scope, by fault.Actor) (secret string, t access.Token, err error)
	Tokens(ctx context.Context) ([]access.Token, error)
	RevokeToken(ctx context.Context, name string, by fault.Actor) error
}

// Users knows people with passwords.
type Users interface {
	AddUser(ctx context.Context, u access.User, password string, by fault.Actor) (access.User, error)
	Users(ctx context.Context) ([]access.User, error)
	SetPassword(ctx context.Context, name, password string, by fault.Actor) error
	RemoveUser(ctx context.Context, name string, by fault.Actor) error
}

// identity is who asks and what he may do.
type identity struct {
	actor  fault.Actor
	scopes []access.Scope
	since  time.Time // when his token was made; zero without one
}

// identify tells who asks: by token, or over the local socket by the process
// at its other end.
func (a *API) identify(r *http.Request) (identity, error) {
	from := Remote(r)
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		if p, ok := r.Context().Value(keyOfPeer).(peer); ok && p.trusted {
			return identity{actor: fault.Actor{Name: localActor, From: from}, scopes: access.Scopes}, nil
		}
		return identity{}, &Problem{Slug: Unauthorized, Detail: "Send a token: Authorization: Bearer …"}
	}
	scheme, secret, _ := strings.Cut(header[0], " ")
	if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return identity{}, &Problem{Slug: Unauthorized, Detail: "Send one token: Authorization: Bearer …"}
	}
	t, err := a.Access.Token(r.Context(), strings.TrimSpace(secret))
	if errors.Is(err, access.ErrUnknown) {
		return identity{}, &Problem{Slug: Unauthorized, Detail: "This token is unknown or was revoked."}
	}
	if err != nil {
		return identity{}, err
	}
	return identity{fault.Actor{Name: t.Name, From: from}, t.Scopes, t.Created}, nil
}

// handedIn reports whether a message is a document that came with the token:
// its program may see what became of it. A token that was made anew under an
// old name has not handed in what came before.
func (i identity) handedIn(m queue.Message) bool {
	return access.Grant(i.scopes, access.Send) && m.Source == sourceAPI && m.Actor.Name == i.actor.Name && m.Actor.Role == i.actor.Role && !m.Accepted.Before(i.since)
}

// sees reports whether he may see the record of a message.
func (i identity) sees(m queue.Message) bool {
	return access.Grant(i.scopes, access.Read) || i.handedIn(m)
}

// admit is may for one message, which whoever handed it in may see too.
func (a *API) admit(rt route, who identity, r *http.Request) error {
	no := who.may(rt.scope)
	if no == nil || !rt.own {
		return no
	}
	m, err := a.Ledger.Message(r.Context(), (&call{r: r}).param("id"))
	switch {
	case isAbsent(err), err == nil && !who.handedIn(m):
		return no // which ids there are is not told either
	case err != nil:
		return err
	}
	return nil
}

// may refuses who has not the scope. An empty scope is any token's.
func (i identity) may(need access.Scope) error {
	if need == "" || access.Grant(i.scopes, need) {
		return nil
	}
	return &Problem{Slug: Forbidden, Detail: fmt.Sprintf("This needs the scope %s, which token %s has not.", need, i.actor.Name)}
}

// peer is the process at the other end of the local socket.
type peer struct{ trusted bool }

// LocalPeer notes who is at the other end of a connection of the local socket:
// root and the service's own user are trusted without a token. It is the
// ConnContext of an http.Server.
func LocalPeer(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return context.WithValue(ctx, keyOfPeer, peer{})
	}
	var cred *unix.Ucred
	err = raw.Control(func(fd uintptr) { cred, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	trusted := err == nil && cred != nil && (cred.Uid == 0 || int(cred.Uid) == os.Getuid())
	return context.WithValue(ctx, keyOfPeer, peer{trusted})
}
