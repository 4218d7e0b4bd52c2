package retry

import "testing"

// FuzzParseJitter: what is read is valid, and reads back as it was written.
func FuzzParseJitter(f *testing.F) {
	for _, s := range []string{"full", "equal", "none", "50%", "0%", "100.5%", "1e1%", "NaN%", "%", "", "+Inf%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, err := ParseJitter(s)
		if err != nil {
			return
		}
		if !j.valid() {
			t.Fatalf("ParseJitter(%q) = %v, which is not valid", s, j)
		}
		if again, err := ParseJitter(j.String()); err != nil || again.Mode != j.Mode {
			t.Fatalf("ParseJitter(%q) = %v, which reads back as %v, %v", s, j, again, err)
		}
	})
}
