package as2

import (
	"crypto"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"hash"
	"strings"

	"edigw/as2/smime"
)

// ErrMIC says that a value is no Received-Content-MIC.
var ErrMIC = errors.New("not a MIC: base64 digest, comma, algorithm")

// MIC is a message integrity check: a digest of what a message carries and the
// name of its algorithm (RFC 4130 §7.3.1).
type MIC struct {
	Algorithm string `json:"algorithm"` // spelled as RFC 5751 does, or as received
	Value     string `json:"value"`     // base64
}

// ParseMIC reads the value of a Received-Content-MIC field (RFC 4130 §7.4.3).
// The algorithm may be spelled in any known way, the blank behind the comma may
// be missing. ErrMIC also if the digest has not the length of its algorithm.
func ParseMIC(field string) (MIC, error) {
	value, algorithm, _ := strings.Cut(field, ",")
	m := MIC{Algorithm: strings.TrimSpace(algorithm), Value: strings.TrimSpace(value)}
	if _, _, ok := m.digest(); !ok {
		return m, ErrMIC
	}
	return m, nil
}

// Equal compares algorithm and digest; spellings of the algorithm do not count.
func (m MIC) Equal(other MIC) bool {
	h1, d1, ok1 := m.digest()
	h2, d2, ok2 := other.digest()
	return ok1 && ok2 && h1 == h2 && subtle.ConstantTimeCompare(d1, d2) == 1
}

// String is the value of a Received-Content-MIC field.
func (m MIC) String() string { return m.Value + ", " + m.Algorithm }

// digest gives the parts of a MIC whose length fits its algorithm.
func (m MIC) digest() (crypto.Hash, []byte, bool) {
	h, known := smime.HashByName(m.Algorithm)
	digest, err := base64.StdEncoding.DecodeString(m.Value)
	if !known || err != nil || len(digest) != h.Size() {
		return 0, nil, false
	}
	return h, digest, true
}

// micName is how an algorithm is spelled on the wire: as in RFC 5751, but for
// SHA-1, which partners that still need it know as RFC 3851 has it.
func micName(h crypto.Hash) string {
	if h == crypto.SHA1 {
		return "sha1"
	}
	return smime.HashName(h)
}

// digestName is micName, or what the partner knows the algorithm as.
// QUIRK(Seeburger, old ones): RFC 3851's spelling, without a dash.
func (a Agreement) digestName(h crypto.Hash) string {
	if a.DashlessNames {
		return strings.ReplaceAll(micName(h), "-", "")
	}
	return micName(h)
}

func newMIC(h crypto.Hash, digest []byte) MIC {
	return MIC{Algorithm: smime.HashName(h), Value: base64.StdEncoding.EncodeToString(digest)}
}

// digester hashes one stream with several algorithms at once.
type digester struct {
	hashes []crypto.Hash
	states []hash.Hash
}

// newDigester takes each algorithm once; 0 stands for none.
func newDigester(hashes ...crypto.Hash) *digester {
	d := &digester{}
	for _, h := range hashes {
		if h != 0 && d.sum(h) == nil {
			d.hashes = append(d.hashes, h)
			d.states = append(d.states, h.New())
		}
	}
	return d
}

// Write implements io.Writer.
func (d *digester) Write(p []byte) (int, error) {
	for _, s := range d.states {
		s.Write(p)
	}
	return len(p), nil
}

// sum is the digest by h, nil if h is not among the algorithms.
func (d *digester) sum(h crypto.Hash) []byte {
	for i, have := range d.hashes {
		if have == h {
			return d.states[i].Sum(nil)
		}
	}
	return nil
}

// mics are the digests in the order of the algorithms.
func (d *digester) mics() []MIC {
	var out []MIC
	for _, h := range d.hashes {
		out = append(out, newMIC(h, d.sum(h)))
	}
	return out
}
