package smime

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"runtime"
	"testing"
)

// allocated is how many bytes f allocates in all. Callers must not be parallel.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Hostile structure is refused by its kind, at once and at no cost in memory,
// whatever reads it.
func TestHostileStructure(t *testing.T) {
	open := func(tag byte, n int) []byte { return bytes.Repeat([]byte{tag, 0x80}, n) }
	head := func(oid string, parts ...[]byte) []byte {
		return append(append([]byte{tagSequence, 0x80}, tlv(tagOID, []byte(oid))...),
			append([]byte{tagExplicit0, 0x80, tagSequence, 0x80, tagInteger, 1, 1}, bytes.Join(parts, nil)...)...)
	}
	digests := tlv(tagSet, algorithmID(oidSHA256, nil))
	detached := tlv(tagSequence, tlv(tagOID, []byte(oidData)))
	content := append([]byte{tagSequence, 0x80}, tlv(tagOID, []byte(oidData))...)
	content = append(content, tagExplicit0, 0x80)
	many := bytes.Repeat([]byte{tagSequence, 0}, 1<<19)
	huge := []byte{tagSet, 0x84, 0xff, 0xff, 0xff, 0xff}

	for _, tt := range []struct {
		name  string
		input []byte
		want  error
	}{
		{"open sequences", open(tagSequence, 20_000), ErrMalformed},
		{"open strings as content", head(oidSignedData, digests, content, open(tagOctets|constructed, 20_000)), ErrNesting},
		{"open elements among the certificates", head(oidSignedData, digests, detached, open(tagExplicit0, 20_000)), ErrNesting},
		{"open elements among the revocation lists", head(oidSignedData, digests, detached, open(tagExplicit1, 20_000)), ErrNesting},
		{"open elements among the digests", head(oidSignedData, open(tagSet, 20_000)), ErrNesting},
		{"open elements among the recipients", head(oidEnvelopedData, open(tagSet, 20_000)), ErrNesting},
		{"open elements of the originator", head(oidEnvelopedData, open(tagExplicit0, 20_000)), ErrNesting},
		{"open strings, compressed", head(oidCompressedData, algorithmID(oidZlib, nil), content, open(tagOctets|constructed, 20_000)), ErrNesting},
		{"many small digests", head(oidSignedData, indefiniteLength(tagSet, many)), ErrLimit},
		{"many small certificates", head(oidSignedData, digests, detached, indefiniteLength(tagExplicit0, many)), ErrLimit},
		{"many small revocation lists", head(oidSignedData, digests, detached, indefiniteLength(tagExplicit1, many)), ErrLimit},
		{"many small recipients", head(oidEnvelopedData, indefiniteLength(tagSet, many)), ErrLimit},
		{"4 GiB of recipients", head(oidEnvelopedData, huge, make([]byte, 100)), ErrMalformed},
		{"4 GiB in one recipient", head(oidEnvelopedData, []byte{tagSet, 0x80, tagOctets, 0x84, 0xff, 0xff, 0xff, 0xff}), ErrLimit},
		{"1 MiB announced, 100 bytes there", head(oidEnvelopedData, []byte{tagSet, 0x80, tagOctets, 0x83, 0x0f, 0xff, 0xff}, make([]byte, 100)), ErrMalformed},
		{"length of 127 octets", append([]byte{tagSequence, 0xff}, make([]byte, 200)...), ErrMalformed},
		{"negative length", append([]byte{tagSequence, 0x88, 0xff}, bytes.Repeat([]byte{0xff}, 7)...), ErrMalformed},
		{"element longer than the one around it", tlv(tagSequence, []byte{tagOID, 100, 1, 2, 3}), ErrMalformed},
		{"header across the end", append(tlv(tagSequence, tlv(tagOID, []byte(oidSignedData)), []byte{tagExplicit0}), 0), ErrMalformed},
		{"primitive of indefinite length", []byte{tagSequence, 0x80, tagOID, 0x80}, ErrMalformed},
		{"high tag number", []byte{tagSequence, 0x80, 0x3f, 0x81, 0}, ErrMalformed},
		{"end of contents first", []byte{0, 0}, ErrMalformed},
		{"end of contents in a definite element", tlv(tagSequence, []byte{0, 0}), ErrMalformed},
		{"end of contents with a length", []byte{tagSequence, 0x80, 0, 1, 0}, ErrMalformed},
		{"another content type", head(oidData), ErrMalformed},
		{"nothing", nil, ErrMalformed},
		{"text", []byte("HTTP/1.1 200 OK\r\n\r\n"), ErrMalformed},
	} {
		var err error
		n := allocated(func() { err = readAny(tt.input) })
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if limit := uint64(16 << 20); n > limit {
			t.Errorf("%s: %d bytes allocated", tt.name, n)
		}
	}
}

// readAny opens a message by the kind that it claims.
func readAny(message []byte) error {
	var r io.Reader
	var err error
	switch kind, _ := Sniff(message); kind {
	case EnvelopedData:
		r, err = NewDecrypter(bytes.NewReader(message), nil, Limits{})
	case CompressedData:
		r, err = NewDecompressor(bytes.NewReader(message), Limits{})
	default:
		if _, err = parseDetached(message); !errors.Is(err, ErrEmbeddedContent) {
			return err
		}
		r, err = NewSignedReader(bytes.NewReader(message), Limits{})
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

func TestLimitsAreSettings(t *testing.T) {
	t.Parallel()
	message := encrypt(t, payload(10), AES128CBC, partner().cert)
	for name, l := range map[string]Limits{"depth": {Depth: 3}, "objects": {Objects: 5}, "structure": {Structure: 100}} {
		want := ErrLimit
		if name == "depth" {
			want = ErrNesting
		}
		if _, err := NewDecrypter(bytes.NewReader(message), []Recipient{partner().recipient()}, l); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRewritingDERChangesNothing(t *testing.T) {
	t.Parallel()
	for name, der := range map[string][]byte{
		"certificate": partner().cert.Raw,
		"signature":   sign(t, payload(10), p256().options(crypto.SHA256)),
		"primitive":   tlv(tagOctets, payload(70_000)),
	} {
		b := newBERReader(bytes.NewReader(der), Limits{})
		e, ok, err := b.next()
		if err != nil || !ok {
			t.Fatal(err)
		}
		if got, err := b.der(e); err != nil || !bytes.Equal(got, der) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestRewritingBERGivesDER(t *testing.T) {
	t.Parallel()
	text := tlv(tagOctets, []byte("abcdef"))
	ber := indefiniteLength(tagSequence, []byte{tagInteger, 0x82, 0, 1, 5},
		indefiniteLength(tagOctets|constructed, tlv(tagOctets, []byte("ab")), tlv(tagOctets|constructed, tlv(tagOctets, []byte("cd"))), tlv(tagOctets, []byte("ef"))),
		tlv(tagOctets|constructed))
	b := newBERReader(bytes.NewReader(ber), Limits{})
	e, _, err := b.next()
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.der(e)
	if want := tlv(tagSequence, []byte{tagInteger, 1, 5}, text, tlv(tagOctets)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v", got, err)
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for want, message := range map[Kind][]byte{
		SignedData:        sign(t, nil, p256().options(crypto.SHA256)),
		EnvelopedData:     enveloped(t, nil, nil),
		CompressedData:    compress(t, nil),
		AuthEnvelopedData: tlv(tagSequence, tlv(tagOID, []byte(oidAuthEnvelopedData))),
		"":                []byte("Content-Type: text/plain\r\n\r\n and more"),
	} {
		if got, ok := Sniff(message[:min(32, len(message))]); got != want || ok != (want != "") {
			t.Errorf("got %q, %v, want %q", got, ok, want)
		}
	}
}
