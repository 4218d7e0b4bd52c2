// Package testsmp makes the answers of Service Metadata Publishers for tests,
// signed by xmlsec1: another product than the one that reads them.
package testsmp

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/selfsigned"
	"edigw/internal/testpki"
)

// Namespaces of the two vocabularies.
const (
	Peppol = "http://busdox.org/serviceMetadata/publishing/1.0/"
	OASIS  = "http://docs.oasis-open.org/bdxr/ns/SMP/2016/05"
)

const (
	inclusive = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	rsaSHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
	sha256    = "http://www.w3.org/2001/04/xmlenc#sha256"
)

// Template is a ds:Signature that xmlsec1 fills in, as Peppol's SMPs make it.
const Template = `<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo><CanonicalizationMethod Algorithm="` + inclusive + `"/><SignatureMethod Algorithm="` + rsaSHA256 + `"/>` +
	`<Reference URI=""><Transforms><Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></Transforms><DigestMethod Algorithm="` + sha256 + `"/><DigestValue/></Reference></SignedInfo>` +
	`<SignatureValue/><KeyInfo><X509Data><X509SubjectName/><X509Certificate/></X509Data></KeyInfo></Signature>`

// Service is what an SMP says about a document type of a participant.
type Service struct {
	Participant, Document, Process [2]string // scheme, value
	Endpoints                      []Endpoint
	Redirect                       string // in place of the rest
}

// Endpoint is one endpoint of the process.
type Endpoint struct {
	Transport, URL string
	Certificate    []byte // DER
	From, Until    string // xs:dateTime; empty: absent
}

// Metadata is the ServiceMetadata in Peppol's vocabulary.
func (s Service) Metadata() string {
	var b strings.Builder
	b.WriteString(`<ServiceMetadata xmlns="` + Peppol + `" xmlns:id="http://busdox.org/transport/identifiers/1.0/" xmlns:wsa="http://www.w3.org/2005/08/addressing">` + "\n")
	if s.Redirect != "" {
		fmt.Fprintf(&b, `<Redirect href="%s"><CertificateUID>any</CertificateUID></Redirect></ServiceMetadata>`, s.Redirect)
		return b.String()
	}
	id := func(name string, id [2]string) string {
		return fmt.Sprintf(`<id:%s scheme="%s">%s</id:%[1]s>`, name, id[0], id[1])
	}
	fmt.Fprintf(&b, `<ServiceInformation>%s%s<ProcessList><Process>%s<ServiceEndpointList>`, id("ParticipantIdentifier", s.Participant), id("DocumentIdentifier", s.Document), id("ProcessIdentifier", s.Process))
	for _, e := range s.Endpoints {
		fmt.Fprintf(&b, `<Endpoint transportProfile="%s"><wsa:EndpointReference><wsa:Address>%s</wsa:Address></wsa:EndpointReference><RequireBusinessLevelSignature>false</RequireBusinessLevelSignature>`, e.Transport, e.URL)
		if e.From != "" {
			fmt.Fprintf(&b, `<ServiceActivationDate>%s</ServiceActivationDate>`, e.From)
		}
		if e.Until != "" {
			fmt.Fprintf(&b, `<ServiceExpirationDate>%s</ServiceExpirationDate>`, e.Until)
		}
		fmt.Fprintf(&b, "<Certificate>%s</Certificate><ServiceDescription>x</ServiceDescription><TechnicalContactUrl>x</TechnicalContactUrl></Endpoint>", base64.StdEncoding.EncodeToString(e.Certificate))
	}
	b.WriteString(`</ServiceEndpointList></Process></ProcessList></ServiceInformation></ServiceMetadata>`)
	return b.String()
}

// Signed is the signed answer of an SMP in Peppol's vocabulary.
func (s Service) Signed(tb testing.TB, by testpki.Identity) []byte {
	tb.Helper()
	return Sign(tb, by, `<?xml version="1.0" encoding="UTF-8"?><SignedServiceMetadata xmlns="`+Peppol+`">`+s.Metadata()+Template+`</SignedServiceMetadata>`)
}

// Sign has xmlsec1 fill in the signature template of a document. Without xmlsec1
// the test is skipped, or fails with EDIGW_REQUIRE=all.
func Sign(tb testing.TB, by testpki.Identity, document string) []byte {
	tb.Helper()
	tool, err := exec.LookPath("xmlsec1")
	if err != nil {
		if os.Getenv("EDIGW_REQUIRE") == "all" {
			tb.Fatal(err)
		}
		tb.Skip("xmlsec1 is not installed")
	}
	dir := tb.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	key := file("key.pem", by.KeyPEM(tb))
	for i, c := range append([]*x509.Certificate{by.Cert}, by.Chain...) {
		key += "," + file(fmt.Sprintf("%d.pem", i), selfsigned.CertificatePEM(c))
	}
	out := filepath.Join(dir, "signed.xml")
	if text, err := exec.CommandContext(tb.Context(), tool, "--sign", "--privkey-pem", key, "--output", out, file("in.xml", []byte(document))).CombinedOutput(); err != nil {
		tb.Fatalf("xmlsec1: %v\n%s", err, text)
	}
	signed, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}
