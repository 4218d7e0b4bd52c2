package holodeck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/partner/takeover"
	"edigw/partner/takeover/plantest"
)

// TestUnknownSecurityRefusesThePMode: nothing of it is written, whatever else it
// says, and the reason names the element.
func TestUnknownSecurityRefusesThePMode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(pmodes, "1-orders-out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, path string }{
		{"Signing>", "SigningConfiguration>", "Initiator/SecurityConfiguration/SigningConfiguration"},
		{"Encryption>", "Encryptions>", "Responder/SecurityConfiguration/Encryptions"},
		{"Signing>", "signing>", "Initiator/SecurityConfiguration/signing"},
		{"HashFunction>", "Hash>", "Initiator/SecurityConfiguration/Signing/Hash"},
		{"KeyTransport>", "KeyAgreement>", "Responder/SecurityConfiguration/Encryption/KeyAgreement"},
		{"MGFAlgorithm>", "Mask>", "Responder/SecurityConfiguration/Encryption/KeyTransport/Mask"},
		{"SecurityConfiguration>", "Security>", "Initiator/Security"},
		{"<Receipt>", "<SecurityConfiguration><Signing/></SecurityConfiguration><Receipt>", "Leg/SecurityConfiguration"},
		{"<PartyId>urn", "<SecurityConfiguration><SigningX/></SecurityConfiguration><PartyId>urn", "Responder/SecurityConfiguration/SigningX"},
	} {
		p, err := parse([]byte(strings.ReplaceAll(string(text), c.old, c.new)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Translate("x", []PMode{p}, plantest.Store(t), takeover.Options{Party: acme()})
		if err == nil || !strings.Contains(err.Error(), "P-Mode contoso-orders: not imported: edigw does not know "+c.path+" ") {
			t.Errorf("%s: %v", c.new, err)
		}
	}

	// The other P-Modes of the partner are imported.
	refused, err := parse([]byte(strings.ReplaceAll(string(text), "Signing>", "SigningConfiguration>")))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Read(filepath.Join(pmodes, "2-invoices-out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Translate("x", append(other, refused), plantest.Store(t), takeover.Options{Party: acme()})
	if err != nil {
		t.Fatal(err)
	}
	file := plantest.Content(plan, "partners/urn-example-contoso.yaml")
	if len(plan.Partners) != 1 || strings.Contains(file, "Orders") || !strings.Contains(file, "sign: rsa-sha256") {
		t.Errorf("partners %q:\n%s", plan.Partners, file)
	}
}
