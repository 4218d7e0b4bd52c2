package partner

import "testing"

// TestCertificatesThatEndedAreStillNamed: they verify nothing, but a refusal can
// say that it was one of these.
func TestCertificatesThatEndedAreStillNamed(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	for years, want := range map[int][2]int{0: {1, 0}, 50: {0, 1}} {
		a, err := s.Receiving("minimal", today.AddDate(years, 0, 0))
		if err != nil || [2]int{len(a.Verify), len(a.Lapsed)} != want {
			t.Errorf("in %d years: %d verify, %d are named, %v", years, len(a.Verify), len(a.Lapsed), err)
		}
	}
}
