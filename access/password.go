package access

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

const (
	saltSize   = 16
	keySize    = 32
	maxHashing = 2 // passwords hashed at once: they bound memory and processor
)

// recommended is what a new password costs: the second choice of RFC 9106 §4,
// 64 MiB.
var recommended = cost{passes: 3, memory: 64 << 10, lanes: 4}

// cost is the parameters of argon2id.
type cost struct {
	passes, memory uint32 // memory in KiB
	lanes          uint8
}

// encoded is a password as it is stored.
type encoded struct {
	cost
	salt, key []byte
}

// String is the usual notation.
func (e encoded) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, e.memory, e.passes, e.lanes, b64(e.salt), b64(e.key))
}

func (c cost) hash(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, keySize)
}

// nobody is what names without a user are compared with, so that both take the
// same time. Nobody's password encodes to it.
func (c cost) nobody() string {
	return encoded{c, make([]byte, saltSize), make([]byte, keySize)}.String()
}

// Bounds of what an encoded password may ask for; they hold against a
// tampered database.
const (
	maxPasses = 16
	maxMemory = 1 << 20 // KiB
)

var errEncoded = errors.New("access: a stored password cannot be read")

// encode hashes a new password.
func (s *Service) encode(ctx context.Context, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	salt := make([]byte, saltSize)
	if _, err := io.ReadFull(s.Random, salt); err != nil {
		return "", fmt.Errorf("access: no randomness for a password: %w", err)
	}
	release, err := s.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return encoded{s.cost, salt, s.cost.hash(password, salt)}.String(), nil
}

// fits compares a password with a stored one. It takes as long for both
// answers. The caller holds a slot.
func fits(stored, password string) (bool, error) {
	e, err := parseEncoded(stored)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(e.hash(password, e.salt), e.key) == 1, nil
}

// slot waits for its turn to hash.
func (s *Service) slot(ctx context.Context) (release func(), err error) {
	select {
	case s.hashing <- struct{}{}:
		return func() { <-s.hashing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func parseEncoded(stored string) (e encoded, err error) {
	part := strings.Split(stored, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return e, errEncoded
	}
	if _, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &e.memory, &e.passes, &e.lanes); err != nil {
		return e, errEncoded
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(part[4])
	key, err2 := base64.RawStdEncoding.DecodeString(part[5])
	e.salt, e.key = salt, key
	if err1 != nil || err2 != nil || len(salt) < 8 || len(key) != keySize ||
		e.passes < 1 || e.passes > maxPasses || e.memory < 8 || e.memory > maxMemory || e.lanes < 1 {
		return e, errEncoded
	}
	return e, nil
}
