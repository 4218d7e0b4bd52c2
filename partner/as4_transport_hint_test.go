package partner

import "testing"

// TestTransportHint names no key transport that the profile forbids.
func TestTransportHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile string
		kind    keyKind
		want    string
	}{
		{"peppol", kindNIST, "ask the partner for an RSA certificate (the profile allows rsa-oaep-mgf1-sha256 only)"},
		{"bdew", kindRSA, "ask the partner for an elliptic curve certificate (the profile allows ecdh-es only)"},
		{"plain", kindNIST, "ecdh-es, or ask the partner for another certificate"},
	} {
		if got := transportHint(c.profile, c.kind); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.profile, c.kind, got, c.want)
		}
	}
}
