package wssec

import "testing"

// FuzzVerify changes the envelope at will: whatever verifies covers what was
// signed, and nothing fails but with an error.
func FuzzVerify(f *testing.F) {
	s := edSigner()
	trust := s.trust()
	trust.Pinned = append(trust.Pinned, rsaSigner().cert)
	signed := map[string]bool{} // what is covered, and by which digest
	add := func(text []byte) {
		r, err := parseMessage(f, text, testParts...).verify(trust)
		if err != nil {
			f.Fatal(err)
		}
		for _, result := range r.References {
			signed[result.URI+string(result.Got)] = true
		}
		f.Add(text)
	}
	for _, token := range tokens {
		add(sign(f, s.signing(Ed25519, token), testParts...))
	}
	add(sign(f, rsaSigner().signing(RSASHA256, TokenPKCS7)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := readMessage(text)
		if err != nil {
			return
		}
		m.parts = testParts
		r, err := m.verify(trust)
		switch {
		case r == nil:
			t.Fatal("no report")
		case err != nil && (r.Covers(m.body) || r.Covers(m.messaging)):
			t.Error("covers something beside an error")
		case err == nil && (r.Signer == nil || len(r.References) == 0):
			t.Errorf("verifies without a signer or a reference: %+v", r)
		case err == nil:
			for _, result := range r.References {
				if result.Problem != "" || (result.Element == nil) == (result.Part == "") || !signed[result.URI+string(result.Got)] {
					t.Errorf("verifies with %+v", result)
				}
			}
		}
	})
}
