package tame

import "testing"

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"order.edi":                     "order.edi",
		"../../etc/passwd":              "passwd",
		`C:\edi\out\order.edi`:          "order.edi",
		"..":                            "",
		".hidden":                       "hidden",
		"a\x00b\r\nc":                   "a_b__c",
		"=?utf-8?q?Bestellung_=C3=BC?=": "Bestellung ü",
		"=?utf-8?q?..=2F..=2Fetc=2Fx?=": "x",
		"a:b*c?d":                       "a_b_c_d",
		"":                              "",
		"///":                           "",
		" spaced .edi ":                 "spaced .edi",
		"\xff\xfe.edi":                  "_.edi",
	} {
		if got := FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" plain\ttext\r\n":      "plain text",
		"a\x00b\x7fc\u0085d":    "a b c d",
		"\u202eevil\u2028 line": "evil  line",
		"\xffbad":               "?bad",
		"ü€":                    "ü€",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "", 2: "ü", 3: "ü", 5: "ü€", 9: "ü€"} {
		if got := Clip("ü€", n); got != want {
			t.Errorf("Clip to %d bytes = %q, want %q", n, got, want)
		}
	}
}
