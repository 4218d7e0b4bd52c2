package rawmime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, text string, limit int) (Header, string, error) {
	t.Helper()
	// 16 bytes is the smallest buffer there is: lines come in pieces.
	br := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 16)
	h, err := ReadHeader(br, limit)
	rest, restErr := io.ReadAll(br)
	if restErr != nil {
		t.Fatal(restErr)
	}
	return h, string(rest), err
}

func TestReadHeaderKeepsEveryByte(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"CRLF":             "Content-Type: text/plain\r\nX: 1\r\n\r\n",
		"LF":               "content-type:text/plain\nX: 1\n\n",
		"mixed":            "A: 1\nB: 2\r\n\n",
		"folded with TAB":  "Content-Type: multipart/signed; \r\n\tboundary=\"x\"\r\n\r\n",
		"trailing blanks":  "A: 1 \t \r\n\r\n",
		"folded to blanks": "A: 1\r\n \r\n\t\r\nB: 2\r\n\r\n",
		"empty":            "\r\n",
		"no value":         "A:\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, rest, err := read(t, raw+"\r\nbody", 1000)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(h.Raw); got != raw {
				t.Errorf("Raw is %q, want %q", got, raw)
			}
			if rest != "\r\nbody" {
				t.Errorf("left in the reader: %q, want all of the body", rest)
			}
		})
	}
}

func TestHeaderValuesAreUnfoldedAndTrimmed(t *testing.T) {
	t.Parallel()
	h, _, err := read(t, "Content-Type: multipart/signed; \r\n\tboundary=\"x\"\r\nreceived:  a\r\nRECEIVED : b \r\n\r\n", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.Get("content-TYPE"), "multipart/signed; \tboundary=\"x\""; got != want {
		t.Errorf("Get: %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"a", "b"}, h.Values("Received")); diff != "" {
		t.Errorf("Values (-want +got):\n%s", diff)
	}
	if got := h.Count("Received"); got != 2 {
		t.Errorf("Count: %d, want 2", got)
	}
	if h.Get("Subject") != "" || h.Count("Subject") != 0 || h.Values("Subject") != nil {
		t.Error("a field that is not there has a value")
	}
}

func TestReadHeaderRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("A: 1\r\n", maxFields)
	for name, test := range map[string]struct {
		raw  string
		want error
	}{
		"bare CR in a value":        {"A: <x\rB: y>\r\n\r\n", ErrBareCR},
		"bare CR at the line's end": {"A: x\r\r\n\r\n", ErrBareCR},
		"NUL":                       {"A: \x00\r\n\r\n", ErrSyntax},
		"no colon":                  {"A\r\n\r\n", ErrSyntax},
		"no name":                   {": x\r\n\r\n", ErrSyntax},
		"blank in the name":         {"A B: x\r\n\r\n", ErrSyntax},
		"continuation of nothing":   {" A: x\r\n\r\n", ErrSyntax},
		"cut within a line":         {"A: 1\r\nB: 2", io.ErrUnexpectedEOF},
		"one byte too long":         {"A: " + strings.Repeat("x", 9994) + "\r\n\r\n", ErrLimit},
		"one line without an end":   {"A: " + strings.Repeat("x", 20000), ErrLimit},
		"one field too many":        {many + "A: 1\r\n\r\n", ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := read(t, test.raw, 10000); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestReadHeaderAtItsBounds(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"exactly the limit": "A: " + strings.Repeat("x", 9993) + "\r\n\r\n",
		"exactly 200":       strings.Repeat("A: 1\r\n", maxFields) + "\r\n",
	} {
		if h, _, err := read(t, raw, 10000); err != nil || len(h.Raw) != len(raw) {
			t.Errorf("%s: %d bytes, error %v", name, len(h.Raw), err)
		}
	}
}

func TestReadHeaderEndsWithTheInputBehindALine(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "A: 1\r\n", "A: 1\r\n 2\n"} {
		h, _, err := read(t, raw, 100)
		if err != nil || string(h.Raw) != raw {
			t.Errorf("%q: Raw %q, error %v", raw, h.Raw, err)
		}
	}
}

func TestReadHeaderPassesReadErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("line cut")
	r := io.MultiReader(strings.NewReader("A: 1\r\nB"), iotest.ErrReader(broken))
	if _, err := ReadHeader(bufio.NewReader(r), 100); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func FuzzReadHeader(f *testing.F) {
	for _, seed := range []string{"A: 1\r\n 2\r\nB:\n\nbody", "\r\n", "A: \rB: 1\r\n\r\n", "A : x\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		br := bufio.NewReader(bytes.NewReader(data))
		h, err := ReadHeader(br, 4096)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(br)
		if again := append(bytes.Clone(h.Raw), rest...); !bytes.Equal(again, data) {
			t.Fatalf("header and rest are %q, want %q", again, data)
		}
		for i, field := range h.fields {
			if bytes.ContainsAny(field.value, "\r\n\x00") {
				t.Fatalf("field %d holds a line end: %q", i, field.value)
			}
		}
		small := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), 16)
		h2, err := ReadHeader(small, 4096)
		if err != nil || fmt.Sprint(h.fields) != fmt.Sprint(h2.fields) || !bytes.Equal(h.Raw, h2.Raw) {
			t.Fatalf("byte by byte: %q and error %v, want %q", h2.Raw, err, h.Raw)
		}
	})
}
