package rawmime

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/internal/testfixture"
	"github.com/google/go-cmp/cmp"
)

// split returns the parts of body and the error that ended it, io.EOF taken off.
func split(body io.Reader, boundary string, maxParts int) ([]string, error) {
	var parts []string
	m := NewMultipart(body, boundary, maxParts)
	for {
		r, err := m.Next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			return parts, err
		}
		parts = append(parts, string(raw))
	}
}

func TestMultipartSplitsOnDelimiterLinesOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef\n", 10000)
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"CRLF":                    {"--b\r\nA: 1\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n", []string{"A: 1\r\n\r\none", "\r\ntwo"}},
		"LF":                      {"--b\n\none\n--b\n\ntwo\n--b--\n", []string{"\none", "\ntwo"}},
		"closing without line":    {"--b\r\n\r\none\r\n--b--", []string{"\r\none"}},
		"preamble and epilogue":   {"A: 1\r\n--bb\r\n\r\n--b\r\n\r\none\r\n--b--\r\nepilogue\r\n--b\r\n", []string{"\r\none"}},
		"more line ends are ours": {"--b\r\n\r\n\r\n\r\none\r\n\r\n\r\n--b--", []string{"\r\n\r\n\r\none\r\n\r\n"}},
		"LF before the delimiter": {"--b\r\n\r\none\n\n--b--", []string{"\r\none\n"}},
		"lone CR is content":      {"--b\r\n\r\none\r--b\r\r\n--b--", []string{"\r\none\r--b\r"}},
		"blanks behind":           {"--b \t \r\none\r\n--b-- \t\r\n", []string{"one"}},
		"longer boundary":         {"--b\r\none\r\n--bc\r\n--b-\r\n--b x\r\n--b--x\r\n--b--", []string{"one\r\n--bc\r\n--b-\r\n--b x\r\n--b--x"}},
		"not at a line's start":   {"--b\r\none --b\r\n --b--\r\n--b--", []string{"one --b\r\n --b--"}},
		"empty parts":             {"--b\r\n--b\r\n\r\n--b\r\n\r\n\r\n--b--", []string{"", "", "\r\n"}},
		"no parts":                {"--b--\r\n", nil},
		"beyond the buffer":       {"--b\r\n" + long + "\r\n--b\r\n" + long + "\r\r\n--b--", []string{long, long + "\r"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for reader, r := range map[string]io.Reader{
				"whole":         strings.NewReader(test.body),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(test.body)),
				"EOF with data": iotest.DataErrReader(strings.NewReader(test.body)),
			} {
				got, err := split(r, "b", 10)
				if err != nil {
					t.Fatalf("%s: %v", reader, err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", reader, diff)
				}
			}
		})
	}
}

// TestMultipartTellsWherePartsEnd: whoever has the body finds each part in it.
func TestMultipartTellsWherePartsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef\n", 10000)
	body := "preamble\r\n--b\r\none\r\n--b \r\n--b\n" + long + "\n--b\r\nnot read\r\n--b\r\nlast\r\n--b--\r\nepilogue"
	m := NewMultipart(iotest.HalfReader(strings.NewReader(body)), "b", 10)
	for n, want := range []string{"one", "", long, "not read", "last"} {
		r, err := m.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want == "not read" {
			continue
		}
		got, err := io.Copy(io.Discard, r)
		if err != nil || body[m.End()-got:m.End()] != want {
			t.Errorf("part %d: %d bytes that end at %d, %v", n+1, got, m.End(), err)
		}
	}
}

func TestMultipartRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, boundary string
		want           error
	}{
		"no delimiter":           {"nothing here\r\n", "b", io.ErrUnexpectedEOF},
		"nothing":                {"", "b", io.ErrUnexpectedEOF},
		"no closing delimiter":   {"--b\r\none\r\n", "b", io.ErrUnexpectedEOF},
		"cut in the delimiter":   {"--b\r\none\r\n--b-", "b", io.ErrUnexpectedEOF},
		"ends with an opening":   {"--b\r\none\r\n--b", "b", io.ErrUnexpectedEOF},
		"too many parts":         {strings.Repeat("--b\r\n\r\n", 4) + "--b--", "b", ErrLimit},
		"empty boundary":         {"--\r\n\r\n----", "", ErrSyntax},
		"line end in a boundary": {"", "a\nb", ErrSyntax},
		"boundary too long":      {"", strings.Repeat("b", maxBoundary+1), ErrLimit},
		"endless padding":        {"--b" + strings.Repeat(" ", maxPadding+1) + "\r\n--b--x", "b", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if parts, err := split(strings.NewReader(test.body), test.boundary, 3); !errors.Is(err, test.want) {
				t.Errorf("parts %q, error %v; want %v", parts, err, test.want)
			}
		})
	}
}

func TestMultipartSkipsWhatWasNotRead(t *testing.T) {
	t.Parallel()
	m := NewMultipart(strings.NewReader("--b\r\nfirst\r\n--b\r\nsecond\r\n--b--"), "b", 2)
	first, err := m.Next()
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Next()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := first.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("reader of the first part gave %d bytes, error %v", n, err)
	}
	if got, err := io.ReadAll(second); string(got) != "second" || err != nil {
		t.Errorf("second part %q, error %v", got, err)
	}
	for range 2 {
		if _, err := m.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last part: %v, want io.EOF", err)
		}
	}
}

func TestMultipartPassesReadErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("line cut")
	r := io.MultiReader(strings.NewReader("--b\r\none"), iotest.ErrReader(broken))
	if _, err := split(r, "b", 3); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// QUIRK(OpenAS2): binary signatures between the delimiters, line ends at both
// ends of a payload. Captures of alexdean/as2.
func TestMultipartOfOpenAS2IsByteExact(t *testing.T) {
	t.Parallel()
	dir := testfixture.Path(t, "as2")
	table, err := os.ReadFile(filepath.Join(dir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(table)) {
		column := strings.Split(line, "\t")
		name, ok := strings.CutSuffix(column[0], ".mime")
		if !ok {
			continue
		}
		cases++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mime, err := os.ReadFile(filepath.Join(dir, name+".mime"))
			if err != nil {
				t.Fatal(err)
			}
			txt, err := os.ReadFile(filepath.Join(dir, name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			checkSigned(t, mime, strings.TrimPrefix(string(txt), "\r\n"), column[8], column[9])
		})
	}
	if cases != 8 {
		t.Errorf("%d captures, want 8", cases)
	}
}

// checkSigned splits a multipart/signed entity and compares part 1, its digest
// and its payload, and that all pieces together are the entity.
func checkSigned(t *testing.T, mime []byte, wantPart, wantMIC, wantPayload string) {
	br := bufio.NewReader(iotest.OneByteReader(bytes.NewReader(mime)))
	h, err := ReadHeader(br, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	typ, params, err := ParseMediaType(h.Get("Content-Type"))
	if err != nil || typ != "multipart/signed" {
		t.Fatalf("type %q, error %v", typ, err)
	}
	parts, err := split(br, params["boundary"], 2)
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	if parts[0] != wantPart {
		t.Errorf("part 1 is %q, want %q", parts[0], wantPart)
	}
	mic := sha256.Sum256([]byte(parts[0]))
	if got := base64.StdEncoding.EncodeToString(mic[:]); got != wantMIC {
		t.Errorf("MIC %s, want %s", got, wantMIC)
	}
	// The first delimiter stands behind the header block, with or without a
	// preamble; what follows the closing one is epilogue.
	delimiter := "--" + params["boundary"]
	again := string(h.Raw) + delimiter + "\r\n" + parts[0] + "\r\n" + delimiter + "\r\n" + parts[1] + "\r\n" + delimiter + "--"
	if !strings.HasPrefix(string(mime), again) {
		t.Error("the pieces do not make the entity again")
	}

	pr := bufio.NewReader(strings.NewReader(parts[0]))
	ph, err := ReadHeader(pr, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	body, err := DecodeTransfer(pr, ph.Get("Content-Transfer-Encoding"))
	if err != nil {
		t.Fatal(err)
	}
	payload := sha256.New()
	if _, err := io.Copy(payload, body); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(payload.Sum(nil)); got != wantPayload {
		t.Errorf("SHA-256 of the payload %s, want %s", got, wantPayload)
	}
}

func FuzzMultipart(f *testing.F) {
	for _, seed := range []string{
		"--b\r\none\r\n--b\r\n\r\ntwo\n--b--\r\n", "x\n--b \t\nx\r\r\n--b--", "--b\r\n--bb\r\n\r--b\r\n--b-", "\r\n--b\r\n\r\n--b--",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := split(bytes.NewReader(data), "b", 5)
		slow, slowErr := split(iotest.OneByteReader(bytes.NewReader(data)), "b", 5)
		if (err == nil) != (slowErr == nil) {
			t.Fatalf("error %v, byte by byte %v", err, slowErr)
		}
		if diff := cmp.Diff(parts, slow); diff != "" {
			t.Fatalf("byte by byte differs (-whole +slow):\n%s", diff)
		}
		rest := data
		for i, p := range parts {
			at := bytes.Index(rest, []byte(p))
			if at < 0 {
				t.Fatalf("part %d %q is not in the input", i+1, p)
			}
			rest = rest[at+len(p):]
			for line := range strings.Lines(p) {
				text, ended := strings.CutSuffix(line, "\n")
				text = strings.TrimRight(strings.TrimSuffix(text, "\r"), " \t")
				if ended && len(line) < maxPadding && (text == "--b" || text == "--b--") {
					t.Fatalf("part %d holds a delimiter line: %q", i+1, p)
				}
			}
		}
	})
}
