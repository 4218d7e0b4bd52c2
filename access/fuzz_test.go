package access

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzParseScopes: what is granted was asked for by its name, once.
func FuzzParseScopes(f *testing.F) {
	for _, s := range []string{"send", "send,read", " operate , admin", "", ",", "send,send", "root", "SEND", "send\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, names string) {
		scopes, err := ParseScopes(names)
		if err != nil {
			var input *InputError
			if !errors.As(err, &input) || scopes != nil {
				t.Fatalf("ParseScopes(%q) = %v, %v", names, scopes, err)
			}
			return
		}
		asked := strings.Split(names, ",")
		for i, s := range scopes {
			named := slices.ContainsFunc(asked, func(a string) bool { return strings.TrimSpace(a) == string(s) })
			if !named || !slices.Contains(Scopes, s) || slices.Contains(scopes[:i], s) {
				t.Fatalf("ParseScopes(%q) = %v", names, scopes)
			}
		}
	})
}
