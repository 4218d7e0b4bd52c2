package partner

import (
	"strings"
	"testing"
)

// TestTermsAreThoseOfTheStandard: the sample that has every key, by the names of
// ebMS; of AS2 there are none.
func TestTermsAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	var all []string
	for _, term := range s.Terms("every-key", today) {
		all = append(all, term.Name+": "+term.Value)
		if term.Value == "" || strings.Contains(term.Value, "password") {
			t.Errorf("%+v", term)
		}
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"Agreement: https://agreements.example/1 (urn:example:agreements)", "BusinessInfo.Service: Orders (urn:example:services)", "BusinessInfo.Action: Deliver",
		"Responder.Party: 4012345000009 (urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088), NORTHWIND (urn:example:partners)", "MEP: one-way", "Security.X509.Sign: ", "Security.X509.Encryption: ", "Security.SendReceipt: ", "Our receipts: ", "Demanded of their messages: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the terms lack %q:\n%s", want, text)
		}
	}
	if s.Terms("nobody", today) != nil {
		t.Error("nobody has a P-Mode")
	}
}
