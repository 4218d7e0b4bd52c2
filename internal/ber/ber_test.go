package ber

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDER(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("41", 200)
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":                   {"", ""},
		"DER":                       {"30 06 020101 0401aa", "30 06 020101 0401aa"},
		"two objects":               {"020101 0500", "020101 0500"},
		"indefinite length":         {"3080 020101 0000", "30 03 020101"},
		"indefinite in definite":    {"30 07 3080 020101 0000", "30 05 30 03 020101"},
		"string in pieces":          {"2480 0401aa 0400 0402bbcc 0000", "0403aabbcc"},
		"pieces in pieces":          {"240d 2480 0401aa 0401bb 0000 0401cc", "0403aabbcc"},
		"definite pieces in pieces": {"240b 2406 0401aa 0401bb 0401cc", "0403aabbcc"},
		"a length in long form":     {"04 840000 0002 4142", "0402 4142"},
		"a long string":             {"2480 0481c8" + long + "0000", "0481c8" + long},
		"the tag of no string":      {"a080 0401aa 0401bb 0000", "a006 0401aa 0401bb"},
		"zeros inside":              {"30 04 0402 0000", "30 04 0402 0000"},
	} {
		got, err := NewReader().DER(unhex(t, tc.in))
		if err != nil || !bytes.Equal(got, unhex(t, tc.want)) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a tag alone":                     "30",
		"a length that is cut off":        "3082 01",
		"content that is cut off":         "0403 4142",
		"content longer than its object":  "30 03 0402 4142",
		"no end of contents":              "3080 020101",
		"half an end of contents":         "3080 020101 00",
		"a primitive without length":      "0480 4142 0000",
		"a length of five octets":         "0485 0000000001 41",
		"a length beyond 31 bits":         "0484 ffffffff 41",
		"a tag above 30":                  "1f8101 00",
		"another type inside a string":    "2480 0401aa 020101 0000",
		"an end of contents out of place": "30 02 0000",
		"an end of contents at the top":   "020101 0000",
		"an end of contents with content": "3080 0001aa 0000",
	} {
		if got, err := NewReader().DER(unhex(t, in)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// The bounds hold for all that one Reader reads.
func TestBounds(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return append(bytes.Repeat([]byte{0x30, 0x80}, n), make([]byte, 2*n)...)
	}
	if _, err := NewReader().DER(nested(maxNesting)); err != nil {
		t.Errorf("%d levels: %v", maxNesting, err)
	}
	for _, n := range []int{maxNesting + 1, 1 << 20} {
		if _, err := NewReader().DER(nested(n)); err == nil || errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "24 objects inside each other") {
			t.Errorf("%d levels: %v", n, err)
		}
	}
	r := NewReaderFor(10)
	four := bytes.Repeat([]byte{5, 0}, 4)
	for range 2 {
		if _, err := r.DER(four); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.DER(four); err == nil || !strings.Contains(err.Error(), "more than 10 objects") {
		t.Errorf("the eleventh object: %v", err)
	}
	if _, err := NewReader().DER(bytes.Repeat([]byte{5, 0}, maxObjects+1)); err == nil || !strings.Contains(err.Error(), "20000 objects") {
		t.Errorf("too many objects: %v", err)
	}
}

// FuzzDER: what comes out is read again and stays as it is.
func FuzzDER(f *testing.F) {
	for _, seed := range []string{"3006020101 0401aa", "3080 2480 0401aa 0401bb 0000 0000", "2480 2480 0401aa 0000 0000"} {
		f.Add(unhex(f, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := NewReader().DER(data)
		if err != nil {
			return
		}
		if len(once) > 2*len(data) {
			t.Errorf("%d bytes became %d", len(data), len(once))
		}
		if twice, err := NewReader().DER(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x became %x, then %x, %v", data, once, twice, err)
		}
	})
}
