package as2

import (
	"errors"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"ACME-AS2":          "ACME-AS2",
		`"ACME-AS2"`:        "ACME-AS2", // needless quotes
		`"North Wind"`:      "North Wind",
		"North Wind":        "North Wind", // quotes forgotten
		`"  North Wind  "`:  "North Wind",
		` NW `:              "NW",
		`"say \"hi\" a\\b"`: `say "hi" a\b`,
		`"back\slash"`:      `back\slash`,
		`""ACME""`:          "ACME",
		"acme":              "acme", // case counts
	} {
		if got, err := ParseName(field); err != nil || got != want {
			t.Errorf("ParseName(%q) = %q, %v; want %q", field, got, err, want)
		}
	}
	for _, field := range []string{"", " ", `""`, `"open`, `"a" b`, "ümlaut", "tab\there", "line\nend", strings.Repeat("x", 129)} {
		if got, err := ParseName(field); !errors.Is(err, ErrName) {
			t.Errorf("ParseName(%q) = %q, %v; want ErrName", field, got, err)
		}
	}
}

func TestQuoteNameOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ACME-AS2": "ACME-AS2", "a/b:c": "a/b:c", "North Wind": `"North Wind"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`,
	} {
		if got := QuoteName(name); got != want {
			t.Errorf("QuoteName(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzIdentity(f *testing.F) {
	for _, s := range []string{"ACME", `"North Wind"`, `""ACME""`, `"a\"b\\"`, ` "x" `, `"`, "a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		name, err := ParseName(field)
		if err == nil && CheckName(name) != nil {
			t.Fatalf("ParseName(%q) gave %q, which is no name", field, name)
		}
		if CheckName(field) != nil {
			return
		}
		if again, err := ParseName(QuoteName(field)); err != nil || again != field {
			t.Fatalf("name %q, quoted %q, read as %q: %v", field, QuoteName(field), again, err)
		}
	})
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"<a@b>", "a@b", "<>x", strings.Repeat("x", 998)} {
		if err := CheckMessageID(id); err != nil {
			t.Errorf("%q refused", id)
		}
	}
	for _, id := range []string{"", "<>", "<a b@c>", "<a@b>\r\nX: y", "a\tb", "ü@x", "\x7f", strings.Repeat("x", 999)} {
		if err := CheckMessageID(id); !errors.Is(err, ErrMessageID) {
			t.Errorf("%q accepted", id)
		}
	}
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"<a@b>", "<a@b>", true}, {"<a@b>", "a@b", true}, {"a@b", "<a@b>", true},
		{"<a@b>", "<A@b>", false}, {"<a@b>", "<a@b", false}, {"<a@b>", "<<a@b>>", false}, {"", "", false}, {"<>", "", false},
	} {
		if got := SameMessageID(tc.a, tc.b); got != tc.same {
			t.Errorf("SameMessageID(%q, %q) = %t", tc.a, tc.b, got)
		}
	}
}
