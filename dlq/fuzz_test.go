package dlq

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzParseCodes: only codes that exist are confirmed, and all that were named.
func FuzzParseCodes(f *testing.F) {
	for _, s := range []string{"possible-duplicate", "overdue,overtaken", "", ",", "yes", "Overdue", "breaker-probe,breaker-wait"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names := strings.Split(list, ",")
		codes, err := ParseCodes("confirm", names)
		if err != nil {
			var input *InputError
			if !errors.As(err, &input) || input.Field != "confirm" || codes != nil {
				t.Fatalf("ParseCodes(%q) = %v, %v", names, codes, err)
			}
			return
		}
		for _, n := range names {
			if n != "" && !slices.Contains(codes, Code(n)) {
				t.Fatalf("ParseCodes(%q) = %v, without %q", names, codes, n)
			}
		}
		for _, c := range codes {
			if !slices.Contains(Codes, c) {
				t.Fatalf("ParseCodes(%q) = %v", names, codes)
			}
		}
	})
}
