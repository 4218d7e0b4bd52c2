package ebms

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  "",
		" a ":                               "a",
		"a\r\nb\tc":                         "a  b c",
		"a\x00\x1b[31m\u0085":               "a  [31m",
		"a\u202eb\u2066c\u2028d":            "a b c d",
		"a\xffb":                            "a?b",
		"a\ufffeb":                          "a b",
		strings.Repeat("é", 10):             "ééééé",
		"12345678901234567890":              "1234567890",
		"       1         2        ":        "1",
		strings.Repeat(" ", 100) + "a":      "",
		"123456789é":                        "123456789",
		"日本語テキスト":                           "日本語",
		"a" + strings.Repeat("\u202e", 100): "a",
	} {
		if got := clean(in, 10); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestSerialiseKeepsValues: what a parser would change is escaped.
func TestSerialiseKeepsValues(t *testing.T) {
	t.Parallel()
	value := "a\r\n\tb \u00a0<>&\"'é\U0001f600]]>"
	u := minimal()
	u.Properties = []Property{{value, "", value}}
	read, err := parse(t, []byte(wire(u.Element())))
	if err != nil || read.User.Properties[0] != u.Properties[0] {
		t.Errorf("%v: got %q", err, read.User.Properties)
	}
	// And what XML cannot carry is replaced, never lost.
	u.Properties[0].Value = "a\x00b\ufffe"
	read, err = parse(t, []byte(wire(u.Element())))
	if err != nil || read.User.Properties[0].Value != "a\ufffdb\ufffd" {
		t.Errorf("%v: got %q", err, read.User.Properties)
	}
}
