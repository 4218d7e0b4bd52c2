package rawmime

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDecodeTransfer(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte{0, 1, 0xff, '\r', '\n', 'x', '='}, 3000)
	oneLine := base64.StdEncoding.EncodeToString(data)
	var wrapped strings.Builder
	for i := 0; i < len(oneLine); i += 5 {
		wrapped.WriteString(oneLine[i:min(i+5, len(oneLine))] + " \t\r\n")
	}
	for name, test := range map[string]struct{ cte, in, want string }{
		"none":                  {"", "a\r\n=", "a\r\n="},
		"binary":                {"Binary", string(data), string(data)},
		"8bit":                  {" 8BIT ", "ä", "ä"},
		"7bit, stray":           {"7bit;", "a", "a"},
		"base64 on one line":    {"base64", oneLine, string(data)},
		"base64 wrapped":        {"BASE64", wrapped.String(), string(data)},
		"base64 of nothing":     {"base64", " \r\n", ""},
		"base64 with one =":     {"base64", "YWI=\r\n", "ab"},
		"base64 with two =":     {"base64", "YQ=\r\n=\r\n", "a"},
		"quoted-printable":      {"Quoted-Printable", "a=3Db=\r\nc=C3=A4\r\n", "a=bcä\r\n"},
		"quoted, one long line": {"quoted-printable", strings.Repeat("=41", 20000), strings.Repeat("A", 20000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in)), iotest.DataErrReader(strings.NewReader(test.in))} {
				r, err := DecodeTransfer(in, test.cte)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(iotest.HalfReader(r))
				if err != nil || string(got) != test.want {
					t.Errorf("%.60q and error %v, want %.60q", got, err, test.want)
				}
			}
		})
	}
}

func TestDecodeTransferRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cte, in string
		want    error
	}{
		"unknown":             {"x-uuencode", "", ErrSyntax},
		"foreign character":   {"base64", "YW*j", ErrSyntax},
		"incomplete group":    {"base64", "YWJjY", ErrSyntax},
		"data behind padding": {"base64", "YQ==YWJj", ErrSyntax},
		"data far behind":     {"base64", "YQ==" + strings.Repeat("\r\n", 5000) + "YWJj", ErrSyntax},
		"padding only":        {"base64", "====", ErrSyntax},
		"control character":   {"quoted-printable", "a\x01b", ErrSyntax},
		"line without end":    {"quoted-printable", strings.Repeat("x", maxQuotedLine+10), ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				r, err := DecodeTransfer(in, test.cte)
				if err == nil {
					_, err = io.ReadAll(r)
				}
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			}
		})
	}
}

func TestDecodeTransferPassesReadErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("line cut")
	for _, cte := range []string{"binary", "base64", "quoted-printable"} {
		r, err := DecodeTransfer(io.MultiReader(strings.NewReader("YWJj"), iotest.ErrReader(broken)), cte)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want %v", cte, err, broken)
		}
	}
}
