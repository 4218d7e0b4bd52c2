package queue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// lowerBase32 is RFC 4648 base32 in lower case without padding.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// crockford keeps the order of the bytes it encodes, so that ids sort by time.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Identity is what a Message-ID is made of besides the key and the edition.
type Identity struct {
	From, To string // AS2-From and AS2-To; for AS4 the party ids
	Domain   string // identity.domain, fixed at init
	Brackets bool   // AS2: angle brackets (RFC 5322 §3.6.4)
}

// MessageID gives the Message-ID of edition n of a document. The same input
// gives the same id for ever, also after the database was lost
// (delivery.md §3).
func (i Identity) MessageID(key string, n int) string {
	h := sha256.New()
	for _, s := range []string{i.From, i.To, key, strconv.Itoa(n)} {
		io.WriteString(h, s)
		h.Write([]byte{0})
	}
	id := lowerBase32.EncodeToString(h.Sum(nil))[:32] + "@" + i.Domain
	if i.Brackets {
		return "<" + id + ">"
	}
	return id
}

// IDLength is how many characters an id has.
const IDLength = 26

// NewID gives an id of 26 lower-case characters that sorts by time: 48 bits of
// milliseconds, then 80 random bits from rnd. It fails only if rnd does.
func NewID(now time.Time, rnd io.Reader) (string, error) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	if _, err := io.ReadFull(rnd, b[6:]); err != nil {
		return "", fmt.Errorf("queue: no randomness for an id: %w", err)
	}
	return crockford.EncodeToString(b[:]), nil
}

// IDTimes gives the first and the last instant at which an id that begins so
// can have been made. It is false for what begins no id.
func IDTimes(beginning string) (first, last time.Time, ok bool) {
	const times = 16 // characters that hold whole bytes, the six of the time among them
	at := func(fill string) (time.Time, error) {
		var b [10]byte
		text := (beginning + strings.Repeat(fill, times))[:times]
		_, err := crockford.Decode(b[:], []byte(text))
		return time.UnixMilli(int64(binary.BigEndian.Uint64(b[:8]) >> 16)).UTC(), err
	}
	first, err := at("0")
	if err != nil {
		return first, last, false
	}
	last, err = at("z")
	return first, last, err == nil
}

// Short is the last eight characters of an id, for file names and people.
func Short(id string) string {
	id = strings.Trim(id, "<>")
	if len(id) <= 8 {
		return id
	}
	return id[len(id)-8:]
}
