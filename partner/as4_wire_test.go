package partner

import (
	"bytes"
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
)

// toSample builds a message to a partner of the samples.
func toSample(t *testing.T, s *Snapshot, id string) (as4.Rendition, string) {
	t.Helper()
	content := strings.Repeat("UNB+UNOC:3'", 100)
	var wire bytes.Buffer
	r, err := as4.Build(&wire, mustPMode(t, s, id, today), as4.Document{
		MessageID: "1@edi.acme.example", Timestamp: today,
		Payloads: []as4.Payload{{ContentType: "application/edifact", FileName: "order.edi", Size: int64(len(content)), Content: strings.NewReader(content)}},
	}, nil, today)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return r, wire.String()
}

// TestPModesBuildMessages: with what a profile and the keys say together a message
// can be built, and says what was settled.
func TestPModesBuildMessages(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	for id, want := range map[string][]string{
		"minimal":      {"xmldsig-more#rsa-sha256", "xmlenc11#rsa-oaep", "xmlenc11#mgf1sha256", "X509v3\"", ebms.DefaultService},
		"every-key":    {"xmldsig-more#rsa-sha384", "xmlenc11#aes256-gcm", "mgf1sha1", "X509PKIPathv1", "X509IssuerSerial", `mpc="urn:example:mpc:northwind"`, ">orders-1@edi.acme.example<", `"FileName"`, ">order.edi<"},
		"stadtwerke":   {"xmldsig-more#ecdsa-sha256", "xmlenc11#ECDH-ES", "xmlenc11#ConcatKDF", "1.3.36.3.3.2.8.1.1.7", "X509PKIPathv1", "https://www.bdew.de/as4/communication/agreement"},
		"fabrikam":     {"xmldsig-more#eddsa-ed25519", "xmldsig-more#x25519", "xmldsig-more#hkdf"},
		"wingtip":      {"urn:fdc:peppol.eu:2017:identifiers:ap", `"iso6523-actorid-upis"`, ">9915:acme<"},
		"fluxgas":      {"http://www.entsoe.eu/eic-codes/eic-party-codes-x", "http://edigas.org/service", `"EDIGASDocumentType"`},
		"customs":      {"eu-customs:EORI", "EU-ICS2-TI-V2.0", ">1<"},
		"contoso-pull": {`mpc="urn:example:mpc:contoso"`},
	} {
		r, wire := toSample(t, s, id)
		for _, text := range want {
			if !strings.Contains(wire, text) {
				t.Errorf("%s: no %s in the message", id, text)
			}
		}
		if sealed := !strings.Contains(wire, "order.edi'") && strings.Contains(wire, "EncryptedKey"); sealed != (id != "customs") {
			t.Errorf("%s: encrypted %t", id, sealed)
		}
		if len(r.References) != 3 {
			t.Errorf("%s: %d references", id, len(r.References))
		}
	}
}

// TestAPModeTakesWhatAnotherBuilds: what one side sends by its file the other
// finds by its own, with keys that open and verify it.
func TestAPModeTakesWhatAnotherBuilds(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	s := mustLoad(t, dir)
	r, _ := toSample(t, s, "fabrikam")
	theirs := filepath.Join(installation(t), "as4")
	edit(t, filepath.Join(theirs, "edigw.yaml"), `as4: {party: "9990098765432", type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}`, `as4: {party: "urn:example:fabrikam"}`)
	edit(t, filepath.Join(theirs, "good", "fabrikam.yaml"), `to: {party: "urn:example:fabrikam"}`, `to: {party: "9990098765432", type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}`)
	edit(t, filepath.Join(theirs, "good", "fabrikam.yaml"), "fabrikam-ed25519.pem", "acme-p256.pem")
	m, id, err := mustLoad(t, theirs).ByMessage(r.User, today)
	if err != nil || id != "fabrikam" || len(m.Decrypt) != 3 || len(m.Verify) != 1 {
		t.Errorf("%q, opens with %d, verifies with %d, %v", id, len(m.Decrypt), len(m.Verify), err)
	}
}

// TestOwnStoreOnBrainpool: a P12 with a key of the energy market's curve.
func TestOwnStoreOnBrainpool(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	run(t, dir, "openssl", "pkcs12", "-export", "-in", "../keys/acme-brainpool.pem", "-name", "acme", "-passout", "pass:test material", "-out", "bdew.p12")
	write(t, filepath.Join(dir, "bdew.pw"), "test material")
	edit(t, filepath.Join(dir, "edigw.yaml"), "file: ../keys/acme-brainpool.pem", "file: bdew.p12, password_file: bdew.pw")
	var c *x509.Certificate
	if m := mustPMode(t, mustLoad(t, dir), "stadtwerke", today); m.Sign.Key != nil {
		c = m.Sign.Certificate
	}
	if serial(c) != "4F:41" {
		t.Errorf("signs with %s", serial(c))
	}
}
