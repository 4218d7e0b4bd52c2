package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"edigw/fault"
	"edigw/queue"
)

// secretPrefix makes a token recognisable, to people and to scanners that look
// for lost secrets.
const secretPrefix = "edigw_"

// secretLength is that of a whole secret.
const secretLength = len(secretPrefix) + randomLength

// touchEvery is how exact the last use of a token or session is kept.
const touchEvery = time.Minute

// Token is what is kept of an API token; its secret is shown once and not
// kept.
type Token struct {
	Name    string
	Scopes  []Scope
	Hash    string // SHA-256 of the secret, lower-case hex
	Created time.Time
	By      fault.Actor // who made it
	Used    time.Time   // last use, to the minute; zero: never
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$`)

func checkName(name string) error {
	if !namePattern.MatchString(name) {
		return &InputError{Field: "name", Reason: "letters, digits and . _ @ -, at most 63, the first a letter or digit"}
	}
	if strings.EqualFold(name, "cli") || strings.EqualFold(name, "edigw") {
		return &InputError{Field: "name", Reason: "this name stands for the gateway itself in the audit log: take another"}
	}
	return nil
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Token gives the token that a secret belongs to, and notes its use. The error
// is ErrUnknown or the store's.
func (s *Service) Token(ctx context.Context, secret string) (Token, error) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, secretPrefix) {
		return Token{}, ErrUnknown
	}
	want := hash(secret)
	t, err := s.Store.TokenByHash(ctx, want)
	if errors.Is(err, queue.ErrNotFound) {
		return Token{}, ErrUnknown
	}
	if err != nil {
		return Token{}, fmt.Errorf("access: look up a token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(t.Hash), []byte(want)) != 1 {
		return Token{}, ErrUnknown
	}
	if now := s.Now(); now.Sub(t.Used) >= touchEvery && s.touches.due(t.Hash, now) {
		if err := s.Store.TouchToken(ctx, t.Hash, now); err != nil && !errors.Is(err, queue.ErrNotFound) {
			s.Log.Warn("the use of a token could not be noted", keyToken, t.Name, keyErr, err)
		}
		t.Used = now
	}
	return t, nil
}

// NewToken makes a token and gives its secret, which is kept nowhere. The
// error is an *InputError, a *TakenError or the store's.
func (s *Service) NewToken(ctx context.Context, name string, scopes []Scope, by fault.Actor) (string, Token, error) {
	if err := checkName(name); err != nil {
		return "", Token{}, err
	}
	names := texts(scopes)
	scopes, err := ParseScopes(names...)
	if err != nil {
		return "", Token{}, err
	}
	random, err := s.newSecret("a token")
	if err != nil {
		return "", Token{}, err
	}
	secret := secretPrefix + random
	t := Token{Name: name, Scopes: scopes, Hash: hash(secret), Created: s.Now(), By: by}
	e := s.event(by, "token "+name+" made with scopes "+strings.Join(texts(scopes), ", "), map[string]string{"token": name})
	err = s.Store.AddToken(ctx, t, e)
	if errors.Is(err, queue.ErrConflict) {
		return "", Token{}, &TakenError{Kind: "token", Name: name}
	}
	if err != nil {
		return "", Token{}, fmt.Errorf("access: store token %s: %w", name, err)
	}
	return secret, t, nil
}

// Tokens lists the tokens, by name.
func (s *Service) Tokens(ctx context.Context) ([]Token, error) { return s.Store.Tokens(ctx) }

// RevokeToken takes a token away; it holds from the next request on. The error
// is queue.ErrNotFound or the store's.
func (s *Service) RevokeToken(ctx context.Context, name string, by fault.Actor) error {
	return s.Store.RemoveToken(ctx, name, s.event(by, "token "+name+" revoked", map[string]string{"token": name}))
}

func texts(scopes []Scope) []string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return names
}
