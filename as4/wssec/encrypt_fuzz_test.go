package wssec

import (
	"bytes"
	"crypto/ecdh"
	"errors"
	"io"
	"testing"

	"edigw/internal/xmltree"
)

// FuzzEncrypted: whatever stands in a header, reading it ends, with an error of a
// known kind or with parts that decrypt or do not.
func FuzzEncrypted(f *testing.F) {
	holders := []holder{fixedHolder(f, ecdh.P256()), fixedHolder(f, ecdh.X25519()), rsaHolder()}
	var openers []Opener
	for _, h := range holders {
		openers = append(openers, h.opener())
		for _, token := range []Token{TokenSKI, TokenBST, TokenIssuerSerial} {
			s := seal(f, Encrypting{Recipient: h.cert, Cipher: AES128GCM, Token: token}, []byte("ISA~"))
			f.Add([]byte(serialised(f, s.security)), s.parts["0@x"])
		}
	}
	f.Add([]byte("<a/>"), []byte(nil))
	f.Fuzz(func(t *testing.T, text, ciphertext []byte) {
		d, err := xmltree.Parse(text, xmltree.Limits{})
		if err != nil {
			return
		}
		e, err := ReadEncrypted(d.Root())
		if e == nil {
			known(t, err)
			return
		}
		o, err := e.Unlock(openers)
		known(t, err)
		if err != nil {
			return
		}
		for _, p := range e.Parts() {
			err := o.Decrypt(io.Discard, p.ContentID, bytes.NewReader(ciphertext))
			if err != nil && !errors.Is(err, ErrDecrypt) {
				t.Errorf("part %q: %v", p.ContentID, err)
			}
		}
		known(t, o.Body(d.Root()))
	})
}

// fixedHolder has the same key in every process that fuzzes.
func fixedHolder(f *testing.F, c ecdh.Curve) holder {
	key, err := c.NewPrivateKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	return newHolder("fuzz.northwind.example", int64(len(key.PublicKey().Bytes())), key.PublicKey(), key)
}

func known(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrPolicy) && !errors.Is(err, ErrDecrypt) {
		t.Errorf("an error of no known kind: %v", err)
	}
}
