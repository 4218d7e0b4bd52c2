// Package keywrap is AES key wrap (RFC 3394), with its initial value of §2.2.3.1.
package keywrap

import (
	"crypto/aes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

// Overhead is how much longer a key becomes, and the unit of AES key wrap.
const Overhead = 8

// start is the initial value of RFC 3394 §2.2.3.1, found again by whoever
// unwraps with the right key.
var start = []byte{0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6}

// ErrWrapped says that a wrapped key does not unwrap: it was changed, has no
// length that is one, or was wrapped with another key.
var ErrWrapped = errors.New("wrapped key is not good")

// Wrap encrypts a key with another one (RFC 3394 §2.2.1); it becomes 8 bytes
// longer. A key has at least two units of 8 bytes.
func Wrap(kek, key []byte) ([]byte, error) {
	if len(key) < 2*Overhead || len(key)%Overhead != 0 {
		return nil, errors.New("wrap a key: not whole units")
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	out := append(append(make([]byte, 0, Overhead+len(key)), start...), key...)
	var both [aes.BlockSize]byte
	step := uint64(0)
	for range 6 {
		for at := Overhead; at < len(out); at += Overhead {
			step++
			copy(both[:], out[:Overhead])
			copy(both[Overhead:], out[at:at+Overhead])
			block.Encrypt(both[:], both[:])
			binary.BigEndian.PutUint64(out, binary.BigEndian.Uint64(both[:])^step)
			copy(out[at:], both[Overhead:])
		}
	}
	return out, nil
}

// Unwrap undoes Wrap (RFC 3394 §2.2.2).
func Unwrap(kek, wrapped []byte) ([]byte, error) {
	if len(wrapped) < 3*Overhead || len(wrapped)%Overhead != 0 {
		return nil, ErrWrapped
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), wrapped...)
	var both [aes.BlockSize]byte
	step := uint64(6 * (len(out)/Overhead - 1))
	for range 6 {
		for at := len(out) - Overhead; at > 0; at -= Overhead {
			binary.BigEndian.PutUint64(both[:], binary.BigEndian.Uint64(out)^step)
			copy(both[Overhead:], out[at:at+Overhead])
			block.Decrypt(both[:], both[:])
			copy(out, both[:Overhead])
			copy(out[at:], both[Overhead:])
			step--
		}
	}
	if subtle.ConstantTimeCompare(out[:Overhead], start) != 1 {
		return nil, ErrWrapped
	}
	return out[Overhead:], nil
}
