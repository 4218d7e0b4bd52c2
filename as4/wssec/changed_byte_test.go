package wssec

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// One changed byte anywhere in what is covered fails: in each element and part,
// in SignedInfo, in the signature value.
func TestOneChangedByteOfASignature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		algorithm SignatureAlgorithm
		token     Token
		signer    func() signer
	}{{RSASHA256, TokenBST, rsaSigner}, {ECDSASHA256, TokenSKI, p256Signer}, {Ed25519, TokenIssuerSerial, edSigner}} {
		t.Run(fmt.Sprint(c.algorithm), func(t *testing.T) {
			t.Parallel()
			s := c.signer()
			text := sign(t, s.signing(c.algorithm, c.token), testParts...)
			covered := make([]bool, len(text))
			for _, marks := range [][2]string{{"<eb:Messaging", "</eb:Messaging>"}, {"<env:Body", "/>"}, {"<ds:SignedInfo", "</ds:SignedInfo>"}, {"<ds:SignatureValue>", "</ds:SignatureValue>"}} {
				from := bytes.Index(text, []byte(marks[0]))
				to := from + len(marks[0]) + len(between(t, text, marks[0], marks[1])) + len(marks[1])
				for i := from; i < to; i++ {
					covered[i] = true
				}
			}
			verified := 0
			for i := range text {
				for _, flip := range []byte{0x01, 0x20, 0x80} {
					changed := bytes.Clone(text)
					changed[i] ^= flip
					m, err := readMessage(changed)
					if err != nil {
						continue
					}
					m.parts = testParts
					r, err := m.verify(s.trust())
					if err != nil || m.messaging == nil || m.body == nil {
						continue
					}
					verified++
					switch holds := r.Covers(m.messaging) && r.Covers(m.body); {
					case covered[i] && holds:
						t.Errorf("byte %d (%#x) of what is covered does not matter: %s", i, flip, changed[max(0, i-40):min(len(changed), i+40)])
					case !r.Signer.Equal(s.cert):
						t.Errorf("byte %d (%#x) changes who signed", i, flip)
					}
				}
			}
			if verified == 0 {
				t.Error("no byte outside of what is covered was left, so nothing was shown")
			}
		})
	}
}

// Base64 leaves some bits of its last letter unused: they are zero, or it is
// another text than what was signed with.
func TestUnusedBitsOfBase64(t *testing.T) {
	t.Parallel()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text := sign(t, p256Signer().signing(ECDSASHA256, TokenSKI))
	value := between(t, text, "<ds:SignatureValue>", "==</ds:SignatureValue>")
	last := len(value) - 1
	other := value[:last] + letters[bytes.IndexByte([]byte(letters), value[last])+1:][:1]
	if _, err := parseMessage(t, swap(t, text, value, other)).verify(p256Signer().trust()); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

func TestOneChangedByteOfAPart(t *testing.T) {
	t.Parallel()
	text := sign(t, edSigner().signing(Ed25519, TokenSKI), testParts...)
	m := parseMessage(t, text)
	for i, p := range testParts {
		whole := content(t, p)
		for at := range whole {
			changed := bytes.Clone(whole)
			changed[at] ^= 1
			m.parts = append([]Part{}, testParts...)
			m.parts[i] = part(p.ContentID, p.MediaType, string(changed))
			_, err := m.verify(edSigner().trust())
			// A comment of an XML part is not covered: its canonical form has none.
			comment := bytes.Index(whole, []byte("<!-- no -->"))
			if inside := comment >= 0 && at > comment+3 && at < comment+8; inside != (err == nil) {
				t.Errorf("%s: byte %d of %q: %v", p.ContentID, at, whole, err)
			}
		}
		for _, changed := range [][]byte{whole[:len(whole)-1], append(bytes.Clone(whole), 'x'), nil} {
			m.parts = append([]Part{}, testParts...)
			m.parts[i] = part(p.ContentID, p.MediaType, string(changed))
			_, err := m.verify(edSigner().trust())
			// XML without its last line end is the same XML.
			if same := i == 2 && len(changed) == len(whole)-1; same != (err == nil) {
				t.Errorf("%s: %q: %v", p.ContentID, changed, err)
			}
		}
	}
}
