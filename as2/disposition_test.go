package as2

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"
)

func TestParseDisposition(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field    string
		state    string
		positive bool
	}{
		{"automatic-action/MDN-sent-automatically; processed", "processed", true},
		{"automatic-action/MDN-sent-automatically;processed", "processed", true},
		{"AUTOMATIC-ACTION/mdn-SENT-automatically; Processed", "processed", true},
		{"manual-action/MDN-sent-manually; processed", "processed", true},
		{"processed", "processed", true},
		{"; processed", "processed", true},
		{"x; processed/warning: duplicate-document", "processed/warning: duplicate-document", true},
		{"x; processed/Warning:duplicate-document", "processed/warning: duplicate-document", true},
		{"x; processed/error: authentication-failed", "processed/error: authentication-failed", false},
		{"x; processed/Error", "processed/error", false},
		{"x; failed/failure: sender-equals-receiver", "failed/failure: sender-equals-receiver", false},
		{"x; failed/error:unexpected-processing-error", "failed/error: unexpected-processing-error", false},
		{"x; failed", "failed", false},
		{"x; processed/caffeine: low", "processed/caffeine: low", false},
		{"x; displayed", "displayed", false},
		{"x; processed / error : a: b", "processed/error: a: b", false},
	} {
		d, err := ParseDisposition(tc.field)
		if err != nil || d.State() != tc.state || d.Positive() != tc.positive {
			t.Errorf("%q: got %q, positive %t, %v; want %q, %t", tc.field, d.State(), d.Positive(), err, tc.state, tc.positive)
		}
	}
	for _, field := range []string{"", ";", "x;", "x; /error: y", "x; not processed", ";G;"} {
		if d, err := ParseDisposition(field); !errors.Is(err, ErrDisposition) {
			t.Errorf("%q: got %q, %v; want ErrDisposition", field, d, err)
		}
	}
}

func FuzzDisposition(f *testing.F) {
	f.Add("automatic-action/MDN-sent-automatically; processed/error: decryption-failed")
	f.Add("processed")
	f.Add(";/:")
	f.Add(";G/b;: x;y")
	f.Fuzz(func(t *testing.T, field string) {
		d, err := ParseDisposition(field)
		if err != nil {
			return
		}
		again, err := ParseDisposition(d.String())
		if err != nil || again.Positive() != d.Positive() {
			t.Fatalf("%q is %+v, written and read again %+v: %v", field, d, again, err)
		}
	})
}

// TestMIC: spellings of algorithms, length against algorithm (as2.md §2.2).
func TestMIC(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("x"))
	value := base64.StdEncoding.EncodeToString(sum[:])
	ours := newMIC(crypto.SHA256, sum[:])
	for _, field := range []string{
		value + ", sha-256", value + ",sha256", value + " , SHA256 ", value + ", SHA-256", value + ", sha2_256", value + ", rsa-sha256",
	} {
		if m, err := ParseMIC(field); err != nil || !m.Equal(ours) {
			t.Errorf("%q: got %v, %v", field, m, err)
		}
	}
	for _, field := range []string{
		"", value, value + ",", value + ", sha1", value + ", sha-512", value + ", whirlpool", "AAAA, sha-256", "%%, sha-256", ", sha-256",
	} {
		if m, err := ParseMIC(field); !errors.Is(err, ErrMIC) || m.Equal(ours) || m.Equal(m) {
			t.Errorf("%q: got %v, %v; want ErrMIC and equal to nothing", field, m, err)
		}
	}
}

// TestAllowedURL: an asynchronous MDN goes only where the partner's file lists
// (as2.md §2.4).
func TestAllowedURL(t *testing.T) {
	t.Parallel()
	list := []string{"https://as2.northwind.example/mdn", "http://10.0.0.5:8080/"}
	for raw, want := range map[string]bool{
		"https://as2.northwind.example/mdn":              true,
		"https://AS2.northwind.example:443/mdn":          true,
		"https://as2.northwind.example/mdn/acme?id=5":    true,
		"https://as2.northwind.example/mdn?id=5":         true,
		"http://10.0.0.5:8080/anything":                  true,
		"http://as2.northwind.example/mdn":               false,
		"https://as2.northwind.example/mdnx":             false,
		"https://as2.northwind.example/":                 false,
		"https://as2.northwind.example:8443/mdn":         false,
		"https://as2.northwind.example.evil.example/mdn": false,
		"https://as2.northwind.example@evil.example/mdn": false,
		"https://as2.northwind.example/mdn/../admin":     false,
		"https://as2.northwind.example/mdn/%2e%2e/admin": false,
		"https://as2.northwind.example/mdn/..%2fadmin":   false,
		`https://as2.northwind.example/mdn\..\admin`:     false,
		"https://as2.northwind.example/mdn/..;/admin":    false,
		"https://as2.northwind.example/mdn/..;a=1/admin": false,
		"https://as2.northwind.example/mdn/;/admin":      false,
		"https://as2.northwind.example/mdn/%252e%252e/x": false,
		"https://as2.northwind.example/mdn;id=5":         false,
		"https://as2.northwind.example/mdn/a;id=5":       true,
		"https://as2.northwind.example/mdn#x":            false,
		"http://169.254.169.254/latest":                  false,
		"mailto:as2@northwind.example":                   false,
		"file:///etc/passwd":                             false,
		"//as2.northwind.example/mdn":                    false,
		"":                                               false,
	} {
		if got := allowedURL(raw, list); got != want {
			t.Errorf("allowedURL(%q) = %t, want %t", raw, got, want)
		}
	}
	if allowedURL("https://as2.northwind.example/mdn", nil) {
		t.Error("an empty list allows something")
	}
}
