package smime

import (
	"crypto/aes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

// wrapBlock is the unit of AES key wrap.
const wrapBlock = 8

// wrapStart is the initial value of RFC 3394 §2.2.3.1, found again by whoever
// unwraps with the right key.
var wrapStart = []byte{0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6}

var errWrapped = errors.New("wrapped key is not good")

// wrapKey encrypts a key with another one (RFC 3394 §2.2.1); it becomes 8 bytes
// longer. A key has at least two units of 8 bytes.
func wrapKey(kek, key []byte) ([]byte, error) {
	if len(key) < 2*wrapBlock || len(key)%wrapBlock != 0 {
		return nil, errors.New("wrap a key: not whole units")
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	out := append(append(make([]byte, 0, wrapBlock+len(key)), wrapStart...), key...)
	var both [aes.BlockSize]byte
	step := uint64(0)
	for range 6 {
		for at := wrapBlock; at < len(out); at += wrapBlock {
			step++
			copy(both[:], out[:wrapBlock])
			copy(both[wrapBlock:], out[at:at+wrapBlock])
			block.Encrypt(both[:], both[:])
			binary.BigEndian.PutUint64(out, binary.BigEndian.Uint64(both[:])^step)
			copy(out[at:], both[wrapBlock:])
		}
	}
	return out, nil
}

// unwrapKey undoes wrapKey (RFC 3394 §2.2.2).
func unwrapKey(kek, wrapped []byte) ([]byte, error) {
	if len(wrapped) < 3*wrapBlock || len(wrapped)%wrapBlock != 0 {
		return nil, errWrapped
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), wrapped...)
	var both [aes.BlockSize]byte
	step := uint64(6 * (len(out)/wrapBlock - 1))
	for range 6 {
		for at := len(out) - wrapBlock; at > 0; at -= wrapBlock {
			binary.BigEndian.PutUint64(both[:], binary.BigEndian.Uint64(out)^step)
			copy(both[wrapBlock:], out[at:at+wrapBlock])
			block.Decrypt(both[:], both[:])
			copy(out, both[:wrapBlock])
			copy(out[at:], both[wrapBlock:])
			step--
		}
	}
	if subtle.ConstantTimeCompare(out[:wrapBlock], wrapStart) != 1 {
		return nil, errWrapped
	}
	return out[wrapBlock:], nil
}
