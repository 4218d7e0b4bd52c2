package as2

import (
	"crypto"
	"edigw/fault"
	"errors"
	"io"
	"strings"
	"testing"

	"edigw/as2/smime"
)

// TestVersionHeaders: RFC 5402 §6, RFC 6017 §2, as2.md §0.
func TestVersionHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ version, product, want, features, who string }{
		{"", "", "1.2", features, ""},
		{"1.0", "", "1.0", "", ""},
		{"1.1", "edigw/1.4", "1.1", "", ""},
		{"1.2", "", "1.2", features, ""},
		{"1.3", "edigw/1.4", "1.3", features, "edigw:1.4"},
		{"1.3", "", "1.3", features, "edigw:unknown"},
	} {
		a := toNorthwind()
		a.Version, a.ProductHeader = tc.version, tc.product
		r, _ := mustBuild(t, a, []byte("ISA~"))
		if got := headerOf(r, "AS2-Version"); got != tc.want {
			t.Errorf("%q: AS2-Version %q", tc.version, got)
		}
		if got := headerOf(r, "EDIINT-Features"); got != tc.features {
			t.Errorf("%q: EDIINT-Features %q", tc.version, got)
		}
		if got := headerOf(r, "AS2-Product"); got != tc.who {
			t.Errorf("%q: AS2-Product %q", tc.version, got)
		}
	}
}

// TestVersionForbids what it does not have, or has given up: each by the key
// that must change.
func TestVersionForbids(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version string
		change  func(*Agreement)
		key     string // "": it may be
	}{
		"unknown":                {"2.0", func(*Agreement) {}, "as2.version"},
		"compression before 1.1": {"1.0", func(a *Agreement) { a.Compress = CompressAfterSign }, "as2.version"},
		"compression in 1.1":     {"1.1", func(a *Agreement) { a.Compress = CompressAfterSign }, ""},
		"SHA-1 in 1.2":           {"1.2", func(a *Agreement) { a.Sign, a.MDN.Algorithm = crypto.SHA1, crypto.SHA1 }, ""},
		"nothing old in 1.3":     {"1.3", func(*Agreement) {}, ""},
		"SHA-1 signature":        {"1.3", func(a *Agreement) { a.Sign = crypto.SHA1 }, "as2.sign"},
		"SHA-1 asked for":        {"1.3", func(a *Agreement) { a.MDN.Algorithm = crypto.SHA1 }, "as2.mdn.algorithm"},
		"no receipt asked for":   {"1.3", func(a *Agreement) { a.MDN = MDNRequest{Mode: MDNNone, Algorithm: crypto.SHA1} }, ""},
		"triple DES":             {"1.3", func(a *Agreement) { a.Encrypt = smime.TripleDES }, "as2.encrypt"},
		"OAEP with SHA-1":        {"1.3", func(a *Agreement) { a.Transport = smime.KeyTransport{OAEP: true} }, "as2.key_transport"},
		"mask with SHA-1": {"1.3", func(a *Agreement) {
			a.Transport = smime.KeyTransport{OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA1}
		}, "as2.key_transport"},
		"OAEP with SHA-256":        {"1.3", func(a *Agreement) { a.Transport = smime.KeyTransport{OAEP: true, Hash: crypto.SHA256} }, ""},
		"SHA-1 MICs that we write": {"1.3", func(a *Agreement) { a.Receive.MIC.Unsigned = crypto.SHA1 }, "as2.receive.mic.unsigned"},
	} {
		a := toNorthwind()
		a.Version = tc.version
		tc.change(&a)
		_, err := Build(io.Discard, a, orderDocument([]byte("ISA~")), strings.NewReader("ISA~"), testNow, nil)
		var setting *fault.SettingError
		switch errors.As(err, &setting); {
		case tc.key == "" && err != nil, tc.key != "" && (setting == nil || setting.Key != tc.key):
			t.Errorf("%s: %v, want %q", name, err, tc.key)
		}
	}
}
