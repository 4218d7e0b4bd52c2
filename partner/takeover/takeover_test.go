package takeover

import (
	"strings"
	"testing"

	"edigw/as4/ebms"
)

func TestKeyTransportByItsIdentifiers(t *testing.T) {
	t.Parallel()
	const oaep, old, more, enc = "http://www.w3.org/2009/xmlenc11#rsa-oaep", "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p", "http://www.w3.org/2009/xmlenc11#", "http://www.w3.org/2001/04/xmlenc#"
	for _, test := range []struct{ algorithm, digest, mask, want string }{
		{oaep, enc + "sha256", more + "mgf1sha256", "rsa-oaep-mgf1-sha256"},
		{oaep, enc + "sha256", "", "rsa-oaep-mgf1-sha1"},
		{oaep, enc + "sha256", more + "mgf1sha1", "rsa-oaep-mgf1-sha1"},
		{old, "", "", "rsa-oaep-mgf1p"},
		{old, "http://www.w3.org/2000/09/xmldsig#sha1", "", "rsa-oaep-mgf1p"},
		{old, enc + "sha256", "", ""},
		{oaep, enc + "sha512", more + "mgf1sha512", ""},
		{enc + "rsa-1_5", "", "", ""},
		{"", "", "", ""},
	} {
		if got, ok := KeyTransport(test.algorithm, test.digest, test.mask); got != test.want || ok != (test.want != "") {
			t.Errorf("%+v: %q, %t", test, got, ok)
		}
	}
}

func TestNamesAreFreeAndValid(t *testing.T) {
	t.Parallel()
	n := NewNames([]string{"contoso", "keyed-encrypt"})
	for _, test := range []struct{ name, want string }{
		{"Contoso", "contoso-2"}, {"contoso", "contoso-3"}, {"Keyed", "keyed-2"}, {"urn:example:a//b", "urn-example-a-b"}, {"…", "partner"}, {"edigw", "partner-2"},
		{strings.Repeat("x", 80), strings.Repeat("x", 50)},
	} {
		if got := n.ID(test.name, "-encrypt"); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.name, got, test.want)
		}
	}
}

// TestAPartnerOfSeveralMessages: one file for each kind that we send; what he
// sends besides stands in the first, and what is taken already nowhere.
func TestAPartnerOfSeveralMessages(t *testing.T) {
	t.Parallel()
	leg := func(out bool, action string) Leg {
		l := Leg{Name: action, Out: out, URL: "https://as4.contoso.example/", Service: ebms.Service{Value: "urn:example:s"}, Action: action,
			From: ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:us"}}}, To: ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:them"}}}, Security: Security{Sign: "rsa-sha256"}}
		if !out {
			l.From, l.To = l.To, l.From
		}
		return l
	}
	known := func(u *ebms.UserMessage) string {
		if u.From.IDs[0].Value != "urn:example:them" {
			t.Errorf("a message from %s", u.From.IDs[0].Value)
		}
		if u.Action == "there" {
			return "old"
		}
		return ""
	}
	w := NewWriter("Product", "x", &Keystore{}, Options{Known: known})
	w.Partner(Counterpart{Name: "them", Legs: []Leg{leg(true, "one"), leg(true, "two"), leg(true, "one"), leg(false, "two"), leg(false, "three"), leg(false, "there")}})
	plan, err := w.Done()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan.Partners, " "); got != "them them-two" {
		t.Errorf("partners %s", got)
	}
	first, second := string(plan.Files[0].Content), string(plan.Files[1].Content)
	if !strings.Contains(first, `also: [{agreement: none, service: {value: "urn:example:s"}, action: "three"}]`) || strings.Contains(first, "there") || strings.Contains(second, "also") || !strings.Contains(second, "require: [signed]") {
		t.Errorf("the files are\n%s\n%s", first, second)
	}
	if _, err := NewWriter("Product", "x", &Keystore{}, Options{}).Done(); err == nil {
		t.Error("a plan of nothing")
	}
}
