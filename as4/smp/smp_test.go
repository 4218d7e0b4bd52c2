package smp

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"edigw/internal/testpki"
	"edigw/internal/testsmp"
)

var (
	participant = ID{"iso6523-actorid-upis", "0088:4098765000007"}
	document    = ID{"busdox-docid-qns", "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"}
	billing     = ID{"cenbii-procid-ubl", "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"}
)

// network is a small one: its authorities, an SMP and an access point.
type network struct {
	publishers, points testpki.Identity
	smp, ap            testpki.Identity
}

func newNetwork(t testing.TB) network {
	span := testpki.Valid()
	n := network{publishers: testpki.CA(t, "Test SMP CA", span), points: testpki.CA(t, "Test AP CA", span)}
	n.smp = n.publishers.Issue(t, testpki.RSA(t, 0), "SMP000001", span)
	n.ap = n.points.Issue(t, testpki.RSA(t, 1), "POP000001", span)
	return n
}

func pool(ids ...testpki.Identity) *x509.CertPool {
	p := x509.NewCertPool()
	for _, i := range ids {
		p.AddCert(i.Cert)
	}
	return p
}

func (n network) trust() Trust {
	return Trust{Publishers: pool(n.publishers), AccessPoints: pool(n.points), Now: time.Now()}
}

func (n network) service(endpoints ...testsmp.Endpoint) testsmp.Service {
	return testsmp.Service{Participant: [2]string{participant.Scheme, participant.Value}, Document: [2]string{document.Scheme, document.Value}, Process: [2]string{billing.Scheme, billing.Value}, Endpoints: endpoints}
}

func (n network) endpoint() testsmp.Endpoint {
	return testsmp.Endpoint{Transport: TransportAS4, URL: "https://ap.northwind.example/as4", Certificate: n.ap.Cert.Raw}
}

// TestSignedByAnotherProduct: what xmlsec1 signed is read, and leads to the
// access point.
func TestSignedByAnotherProduct(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	between := n.publishers.Intermediate(t, "Test SMP CA 2", testpki.Valid()).Issue(t, testpki.RSA(t, 0), "SMP000002", testpki.Valid())
	exclusive := strings.Replace(testsmp.Template, "</Transforms>", `<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></Transforms>`, 1)
	bdxr := `<b:SignedServiceMetadata xmlns:b="` + testsmp.OASIS + `"><b:ServiceMetadata><b:ServiceInformation><b:ParticipantIdentifier scheme="` + participant.Scheme + `">` + strings.ToUpper(participant.Value) +
		`</b:ParticipantIdentifier><b:DocumentIdentifier scheme="` + document.Scheme + `">` + document.Value + `</b:DocumentIdentifier><b:ProcessList><b:Process><b:ProcessIdentifier scheme="` + billing.Scheme + `">` + billing.Value +
		`</b:ProcessIdentifier><b:ServiceEndpointList><b:Endpoint transportProfile="` + TransportAS4 + `"><b:EndpointURI> https://ap.northwind.example/as4 </b:EndpointURI><b:Certificate>-----BEGIN CERTIFICATE-----
` + base64.StdEncoding.EncodeToString(n.ap.Cert.Raw) + `
-----END CERTIFICATE-----</b:Certificate></b:Endpoint></b:ServiceEndpointList></b:Process></b:ProcessList></b:ServiceInformation></b:ServiceMetadata>` + exclusive + `</b:SignedServiceMetadata>`
	for name, answer := range map[string][]byte{
		"Peppol":                  n.service(n.endpoint()).Signed(t, n.smp),
		"OASIS, exclusive":        testsmp.Sign(t, n.smp, bdxr),
		"below an intermediate":   testsmp.Sign(t, between, strings.Replace(bdxr, exclusive, testsmp.Template, 1)),
		"dates that are in force": n.service(testsmp.Endpoint{Transport: "busdox-transport-as2-ver1p0"}, testsmp.Endpoint{Transport: TransportAS4, URL: "https://ap.northwind.example/as4", Certificate: n.ap.Cert.Raw, From: "2020-01-01T00:00:00", Until: "2999-12-31Z"}).Signed(t, n.smp),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Read(answer, participant, document, n.trust())
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Endpoint(billing, TransportAS4, n.trust())
			if err != nil || e.URL != "https://ap.northwind.example/as4" || !e.Certificate.Equal(n.ap.Cert) {
				t.Errorf("%v, %v", e, err)
			}
		})
	}
}

// TestAnswersThatAreNotBelieved: each is signed and read as far as it can be.
func TestAnswersThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	good := string(n.service(n.endpoint()).Signed(t, n.smp))
	stranger := testpki.SelfSigned(t, testpki.RSA(t, 2), "SMP000001", testpki.Valid())
	lapsed := n.publishers.Issue(t, testpki.RSA(t, 0), "SMP000001", testpki.Expired())
	other := n.service(n.endpoint())
	other.Participant[1] = "0088:1"
	template := func(old, new string) string {
		s := n.service(n.endpoint())
		return string(testsmp.Sign(t, n.smp, `<SignedServiceMetadata xmlns="`+testsmp.Peppol+`">`+s.Metadata()+strings.Replace(testsmp.Template, old, new, 1)+`</SignedServiceMetadata>`))
	}
	for name, c := range map[string]struct {
		answer string
		want   error
		text   string
	}{
		"unsigned":                   {`<SignedServiceMetadata xmlns="` + testsmp.Peppol + `">` + n.service(n.endpoint()).Metadata() + `</SignedServiceMetadata>`, ErrUntrusted, "not signed"},
		"another root":               {n.service(n.endpoint()).Metadata(), ErrAnswer, "SignedServiceMetadata"},
		"no XML":                     {"Not Found", ErrAnswer, "well-formed"},
		"a document type":            {`<!DOCTYPE x [<!ENTITY a "b">]>` + good, ErrAnswer, "DTD"},
		"an address was changed":     {strings.Replace(good, "ap.northwind", "ap.mallory", 1), ErrUntrusted, "changed after it was signed"},
		"a comment in an id":         {strings.Replace(good, ">0088:", ">00<!-- -->88:", 1), nil, ""},
		"SignedInfo was changed":     {strings.Replace(good, `<Reference URI="">`, `<Reference URI="" Id="x">`, 1), ErrUntrusted, "none of the 1 certificates"},
		"another signature beside":   {strings.Replace(good, "</SignedServiceMetadata>", `<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/></SignedServiceMetadata>`, 1), ErrUntrusted, "2 of them"},
		"a stranger of the name":     {string(n.service(n.endpoint()).Signed(t, stranger)), ErrUntrusted, "no authority that is pinned"},
		"a lapsed certificate":       {string(n.service(n.endpoint()).Signed(t, lapsed)), ErrUntrusted, "expired"},
		"an access point as an SMP":  {string(n.service(n.endpoint()).Signed(t, n.ap)), ErrUntrusted, "no authority that is pinned"},
		"about somebody else":        {string(other.Signed(t, n.smp)), ErrUntrusted, "0088:1"},
		"SHA-1":                      {template("2001/04/xmldsig-more#rsa-sha256", "2000/09/xmldsig#rsa-sha1"), ErrUntrusted, "signature algorithm"},
		"a digest by SHA-1":          {template("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1"), ErrUntrusted, "digest algorithm"},
		"only a part of it":          {template(`URI=""`, `URI="#xpointer(/)"`), ErrUntrusted, "reference to"},
		"no certificate":             {template("<X509SubjectName/><X509Certificate/>", "<X509SubjectName/>"), ErrUntrusted, "no certificate"},
		"comments are signed":        {template(`c14n-20010315"/>`, `c14n-20010315#WithComments"/>`), ErrUntrusted, "canonicalization"},
		"an element in SignedInfo":   {strings.Replace(good, "<SignedInfo>", "<SignedInfo><Object/>", 1), ErrUntrusted, "SignedInfo holds 4 elements"},
		"an element in a value":      {strings.Replace(good, "<SignatureValue>", "<SignatureValue><Object/>", 1), ErrUntrusted, "it holds elements"},
		"a transform more":           {template("</Transforms>", `<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></Transforms>`), ErrUntrusted, "transforms"},
		"a redirect to nowhere":      {string(testsmp.Service{Redirect: "ftp://x"}.Signed(t, n.smp)), ErrAnswer, "redirect"},
		"base64 that is none":        {strings.Replace(good, "<SignatureValue>", "<SignatureValue>!", 1), ErrUntrusted, "not base64"},
		"a key of an unknown length": {strings.Replace(good, "<X509Certificate>", "<X509Certificate>AAAA</X509Certificate><X509Certificate>", 1), ErrUntrusted, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read([]byte(c.answer), participant, document, n.trust())
			if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
		})
	}
	if _, err := Read([]byte(good), participant, document, Trust{Now: time.Now()}); !errors.Is(err, ErrUntrusted) {
		t.Errorf("without an authority: %v", err)
	}
	if m, err := Read(testsmp.Service{Redirect: "https://smp.other.example/x"}.Signed(t, n.smp), participant, document, n.trust()); err != nil || m.Redirect != "https://smp.other.example/x" {
		t.Errorf("redirect: %v, %v", m, err)
	}
}

// TestEndpointsThatCannotBeUsed: what the receiver says is definite; what no
// authority vouches for is not used.
func TestEndpointsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	change := func(f func(*testsmp.Endpoint)) []testsmp.Endpoint {
		e := n.endpoint()
		f(&e)
		return []testsmp.Endpoint{e}
	}
	for name, c := range map[string]struct {
		endpoints []testsmp.Endpoint
		process   ID
		want      error
		text      string
	}{
		"another process":       {change(func(*testsmp.Endpoint) {}), ID{"cenbii-procid-ubl", "urn:x"}, ErrNoEndpoint, "there is cenbii-procid-ubl::urn:fdc"},
		"another transport":     {change(func(e *testsmp.Endpoint) { e.Transport = "busdox-transport-as2-ver1p0" }), billing, ErrNoEndpoint, "there is busdox-transport-as2-ver1p0"},
		"no endpoint":           {nil, billing, ErrNoEndpoint, "there is none"},
		"not yet":               {change(func(e *testsmp.Endpoint) { e.From = "2999-01-01T00:00:00Z" }), billing, ErrNoEndpoint, "before 2999"},
		"no more":               {change(func(e *testsmp.Endpoint) { e.Until = "2020-01-01T00:00:00+01:00" }), billing, ErrNoEndpoint, "since 2019-12-31 23:00"},
		"no date":               {change(func(e *testsmp.Endpoint) { e.Until = "soon" }), billing, ErrNoEndpoint, "no date"},
		"no address":            {change(func(e *testsmp.Endpoint) { e.URL = "javascript:x" }), billing, ErrNoEndpoint, "no http or https URL"},
		"no certificate":        {change(func(e *testsmp.Endpoint) { e.Certificate = nil }), billing, ErrNoEndpoint, "certificate"},
		"a stranger's":          {change(func(e *testsmp.Endpoint) { e.Certificate = n.smp.Cert.Raw }), billing, ErrUntrusted, "SMP000001"},
		"the first that it has": {append(change(func(e *testsmp.Endpoint) { e.Until = "2020-01-01" }), n.endpoint()), billing, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Read(n.service(c.endpoints...).Signed(t, n.smp), participant, document, n.trust())
			if err != nil {
				t.Fatal(err)
			}
			if _, err = m.Endpoint(c.process, TransportAS4, n.trust()); !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

// TestNames: sha-256 and MD5 of the lower-case value, by sha256sum, md5sum and
// basenc of GNU coreutils.
func TestNames(t *testing.T) {
	t.Parallel()
	upper := ID{"iso6523-actorid-upis", "9915:B"}
	if got := NameNAPTR(upper, "edelivery.tech.example."); got != "bobzwuebusrvbrgcovd2l54idibka6z2a4h4x5vw5vhgpg67abzq.iso6523-actorid-upis.edelivery.tech.example" {
		t.Error(got)
	}
	if got := NameCNAME(upper, "edelivery.tech.example"); got != "b-4bbe13b091709af417e9ef61c2e59678.iso6523-actorid-upis.edelivery.tech.example" {
		t.Error(got)
	}
	if got := URL("https://smp.example/", participant, ID{"busdox-docid-qns", "urn:a::B##c d"}); got != "https://smp.example/iso6523-actorid-upis%3A%3A0088%3A4098765000007/services/busdox-docid-qns%3A%3Aurn%3Aa%3A%3AB%23%23c%20d" {
		t.Error(got)
	}
	for regexp, want := range map[string]string{
		"!.*!https://smp.example/x!": "https://smp.example/x", "!^.*$!http://smp.example!": "http://smp.example", "/.*/smp/": "", "": "",
		"!^(.*)$!https://\\1!": "", "!.*!ldap://x!": "", "!.*!https://u:p@smp.example!": "", "!.*!https://smp.example": "",
	} {
		if got, err := FromNAPTR(regexp); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", regexp, got, err)
		}
	}
	for id, fine := range map[ID]bool{participant: true, {"", "1"}: false, {"a.b", "1"}: false, {"a", "1 2"}: false, {"a", ""}: false, {"a", strings.Repeat("x", 600)}: false} {
		if err := id.Check(); (err == nil) != fine {
			t.Errorf("%.50q: %v", id, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	n := newNetwork(f)
	f.Add(n.service(n.endpoint()).Signed(f, n.smp))
	f.Add(testsmp.Service{Redirect: "https://smp.other.example/x"}.Signed(f, n.smp))
	trust := n.trust()
	f.Fuzz(func(t *testing.T, answer []byte) {
		m, err := Read(answer, participant, document, trust)
		if err != nil {
			if !errors.Is(err, ErrAnswer) && !errors.Is(err, ErrUntrusted) {
				t.Errorf("%v", err)
			}
			return
		}
		if e, err := m.Endpoint(billing, TransportAS4, trust); err == nil && (e.URL != "https://ap.northwind.example/as4" || !e.Certificate.Equal(n.ap.Cert)) {
			t.Errorf("it was led to %v", e)
		}
	})
}
