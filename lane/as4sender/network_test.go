package as4sender

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as4/sbdh"
	"edigw/as4/smp"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/internal/testsmp"
)

// peppol is a house whose northwind is a network: access points and an SMP that
// names one.
type peppol struct {
	*house
	points, publishers testpki.Identity
	asked              atomic.Int32
	status             atomic.Int32 // of the SMP's answers; 0: it knows the receiver
	answer             atomic.Pointer[[]byte]
}

// ublInvoice is the sample document, from 0088:4012345000009 to 0088:4098765000007.
func ublInvoice(t testing.TB) []byte {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", "testdata", "documents", "ubl-invoice.xml"))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

const (
	billing     = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
	invoiceType = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"
)

func newPeppol(t *testing.T) *peppol {
	t.Helper()
	span := testpki.Valid()
	p := &peppol{house: newHouse(t), points: testpki.CA(t, "Test AP CA", span), publishers: testpki.CA(t, "Test SMP CA", span)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		want := smp.URL("", smp.ID{Scheme: "iso6523-actorid-upis", Value: "0088:4098765000007"}, smp.ID{Scheme: "busdox-docid-qns", Value: invoiceType})
		switch code := int(p.status.Load()); {
		case code != 0:
			w.WriteHeader(code)
		case r.URL.EscapedPath() != want:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(*p.answer.Load())
		}
	}))
	t.Cleanup(server.Close)
	p.acme.write("keys/points.pem", string(p.points.CertPEM()))
	p.acme.write("keys/publishers.pem", string(p.publishers.CertPEM()))
	p.acme.write("partners/northwind.yaml", fmt.Sprintf(`protocol: as4
as4:
  profile: peppol
  from: {party: POP000999}
  smp: {url: "%s", authorities: ../keys/publishers.pem}
  trust: {authorities: ../keys/points.pem}
`, server.URL))
	p.acme.load()
	p.north.write("partners/acme.yaml", fmt.Sprintf(`protocol: as4
as4:
  profile: peppol
  url: %s/as4
  to: {party: POP000999}
  from: {party: POP000001}
  receive: {collaboration: any}
certificates: {verify: ../keys/acme.pem, encrypt: ../keys/acme.pem}
`, p.acme.server.URL))
	p.renew(t, 1)
	return p
}

// renew gives the access point a certificate and key, which the SMP knows at once.
func (p *peppol) renew(t *testing.T, key int) {
	t.Helper()
	p.north.identity = p.points.Issue(t, testpki.RSA(t, key), "POP000001", testpki.Valid())
	p.north.write("keys/own.pem", string(p.north.identity.KeyPEM(t))+string(p.north.identity.CertPEM()))
	p.north.load()
	p.names(t, "/as4")
}

// names has the SMP name the access point, at a path.
func (p *peppol) names(t *testing.T, path string) {
	t.Helper()
	by := p.publishers.Issue(t, testpki.RSA(t, 0), "SMP000001", testpki.Valid())
	answer := testsmp.Service{
		Participant: [2]string{"iso6523-actorid-upis", "0088:4098765000007"}, Document: [2]string{"busdox-docid-qns", invoiceType}, Process: [2]string{"cenbii-procid-ubl", billing},
		Endpoints: []testsmp.Endpoint{{Transport: smp.TransportAS4, URL: p.north.server.URL + path, Certificate: p.north.identity.Cert.Raw}},
	}.Signed(t, by)
	p.answer.Store(&answer)
}

// later lets time go by.
func (p *peppol) later(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = p.clock.Add(d)
}

// TestADocumentReachesWhomTheDirectoryNames: what the message says is what the
// document says, and only the access point that the SMP names can read it.
func TestADocumentReachesWhomTheDirectoryNames(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m := p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml")
	o, raw := p.attempt(m)
	if !trusted(o) {
		t.Fatalf("%+v", o)
	}
	u := p.north.received[0].User
	if u.Service.Value != billing || u.Service.Type != "cenbii-procid-ubl" || u.Action != "busdox-docid-qns::"+invoiceType || u.To.IDs[0].Value != "POP000001" || u.To.IDs[0].Type != "urn:fdc:peppol.eu:2017:identifiers:ap" {
		t.Errorf("message %+v", u)
	}
	if got := fmt.Sprint(u.Properties); !strings.Contains(got, "{originalSender iso6523-actorid-upis 0088:4012345000009}") || !strings.Contains(got, "{finalRecipient iso6523-actorid-upis 0088:4098765000007}") {
		t.Errorf("properties %s", got)
	}
	all := p.north.contents[0]
	f, err := sbdh.Read(bytes.NewReader(all))
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	if h := f.Header; h.Country != "DE" || h.Instance != m.MessageID || h.Type != "Invoice" || h.TypeVersion != "2.1" || !h.Created.Equal(m.Accepted.Truncate(time.Second)) {
		t.Errorf("header %+v", h)
	}
	inside, _, err := f.Inside(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(inside); !bytes.HasSuffix(ublInvoice(t), got) || len(got) < 1000 {
		t.Errorf("document %.200q", got)
	}

	builds, _ := p.Builds(t.Context(), m.ID)
	if again := p.sender.Judge(t.Context(), m, builds, raw); !trusted(again) {
		t.Errorf("judged again: %+v", again)
	}
	if o, _ := p.attempt(m); !trusted(o) || len(p.builds) != 1 {
		t.Errorf("sent again: %+v, %d builds", o, len(p.builds))
	}
	if n := p.asked.Load(); n != 1 {
		t.Errorf("the SMP was asked %d times", n)
	}
	if r := p.sender.Report(t.Context(), "northwind"); !r.OK() {
		t.Errorf("connection check: %+v", r)
	}
	if o := p.sender.Ping(t.Context(), "northwind"); o.Cause != fault.CauseNotListed {
		t.Errorf("ping: %+v", o)
	}
}

// TestARenewedAccessPointIsFound: a refusal that may be the certificate's has the
// directory asked again, and the message keeps its id.
func TestARenewedAccessPointIsFound(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m := p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml")
	p.prepare(m)
	p.later(2 * time.Minute)
	p.renew(t, 2)
	if o, _ := p.attempt(m); o.Ack == nil || o.Ack.EBMS != "EBMS:0102" {
		t.Fatalf("encrypted to the old certificate: %+v", o)
	}
	b, fresh := p.prepare(m)
	if !fresh || b.N != 2 || b.MessageID != m.MessageID || !strings.Contains(b.Why, "changed") {
		t.Errorf("%+v", b)
	}
	if o, _ := p.attempt(m); !trusted(o) {
		t.Errorf("%+v", o)
	}
}

// TestAnAccessPointThatMovedGetsTheSameBytes: only the address changed.
func TestAnAccessPointThatMovedGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m := p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml")
	p.north.page = http.NotFound
	if o, _ := p.attempt(m); o.Status != http.StatusNotFound {
		t.Fatalf("%+v", o)
	}
	p.later(2 * time.Minute)
	p.attempt(m) // what was known is old enough to be asked again, from now on
	p.names(t, "/moved")
	path := ""
	p.north.mu.Lock()
	p.north.page = func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		p.north.handler.ServeHTTP(w, r)
	}
	p.north.mu.Unlock()
	if o, _ := p.attempt(m); !trusted(o) || path != "/moved" || len(p.builds) != 1 || p.north.wires[0] != p.north.wires[len(p.north.wires)-1] {
		t.Errorf("%+v at %q, %d builds", o, path, len(p.builds))
	}
}

// TestAS4Row22WhatTheDirectorySaysIsTold: trouble with it is an attempt that is
// tried again, and nothing is said about the document; its definite word is final.
func TestAS4Row22WhatTheDirectorySaysIsTold(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m := p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml")
	p.status.Store(http.StatusServiceUnavailable)
	b, fresh, fail := p.sender.Prepare(t.Context(), m, nil)
	if b.N != 0 || fresh || fail != nil || b.AckAsked != fault.AckSync {
		t.Fatalf("%+v, %v, %+v", b, fresh, fail)
	}
	o, _ := p.sender.Exchange(t.Context(), m, b)
	if o.Cause != fault.CauseDirectory || o.Phase.Reached() || o.Status != 0 || !strings.Contains(o.Detail, "503") {
		t.Errorf("%+v", o)
	}
	p.later(time.Minute)
	p.status.Store(0)
	if o, _ := p.attempt(m); !trusted(o) {
		t.Fatalf("%+v", o)
	}
	p.later(2 * time.Hour)
	p.status.Store(http.StatusServiceUnavailable)
	if b, fresh := p.prepare(m); fresh || b.N != 1 {
		t.Errorf("%+v", b)
	}
	if o, _ := p.attempt(m); o.Cause != fault.CauseDirectory {
		t.Errorf("%+v", o)
	}
	p.later(time.Minute)
	p.status.Store(http.StatusNotFound)
	if _, _, fail := p.sender.Prepare(t.Context(), m, p.builds); fail == nil || fail.Cause != fault.CauseNotListed || !strings.Contains(fail.Detail, "0088:4098765000007") {
		t.Errorf("%+v", fail)
	}
}

// TestDocumentsThatCannotBeAddressed: the words say what is missing.
func TestDocumentsThatCannotBeAddressed(t *testing.T) {
	t.Parallel()
	sample := string(ublInvoice(t))
	swap := func(old, new string) string { return strings.Replace(sample, old, new, 1) }
	for name, c := range map[string]struct{ document, kind, want string }{
		"no receiver":        {swap(`<cbc:EndpointID schemeID="0088">4098765000007</cbc:EndpointID>`, ""), "application/xml", "names no receiver"},
		"no scheme":          {swap(` schemeID="0088">4098765000007`, ">4098765000007"), "application/xml", "names no receiver"},
		"no process":         {swap("<cbc:ProfileID>"+billing+"</cbc:ProfileID>", ""), "application/xml", "no process"},
		"no XML":             {"ISA*00*", "application/edi-x12", "no XML"},
		"not well-formed":    {sample + "<", "application/xml", "not well-formed"},
		"another encoding":   {swap(`encoding="UTF-8"`, `encoding="ISO-8859-1"`), "application/xml", "ISO-8859-1"},
		"a broken wrapper":   {`<StandardBusinessDocument xmlns="` + sbdh.Namespace + `">`, "application/xml", "no end"},
		"several files":      {"", `multipart/related; boundary="b"; type="application/xml"`, "several files"},
		"another invoice":    {swap("billing:3.0", "billing:4.0"), "application/xml", "does not take the document type"},
		"blanks in the name": {swap(">4098765000007<", ">40987 65000007<"), "application/xml", "blanks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeppol(t)
			_, _, fail := p.sender.Prepare(t.Context(), p.acceptAs([]byte(c.document), c.kind, "x.xml"), nil)
			if fail == nil || fail.Cause != fault.CauseNotListed || !strings.Contains(fail.Detail, c.want) {
				t.Errorf("%+v, want %q", fail, c.want)
			}
		})
	}
}

// TestAStandardBusinessDocumentGoesOutAsItIs: whoever hands one in says himself
// where it goes.
func TestAStandardBusinessDocumentGoesOutAsItIs(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	document := p.standard()
	if o, _ := p.attempt(p.acceptAs(document, "application/xml", "x.xml")); !trusted(o) {
		t.Fatalf("%+v", o)
	}
	if !bytes.Equal(p.north.contents[0], document) {
		t.Errorf("%q", p.north.contents[0])
	}
	if got := fmt.Sprint(p.north.received[0].User.Properties); !strings.Contains(got, "9915:acme") {
		t.Errorf("properties %s", got)
	}
}

// TestSettingsCountMoreThanTheDocument: what stands in the partner file holds for
// all documents, and a change of it builds anew.
func TestSettingsCountMoreThanTheDocument(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m := p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml")
	p.prepare(m)
	p.settle("  properties: {originalSender: \"9930:de1\"}\n  sbdh: {country: AT}\n")
	if b, fresh := p.prepare(m); !fresh || b.N != 2 {
		t.Errorf("%+v", b)
	}
	if o, _ := p.attempt(m); !trusted(o) {
		t.Fatalf("%+v", o)
	}
	f, err := sbdh.Read(bytes.NewReader(p.north.contents[0]))
	if err != nil || f.Header.Country != "AT" || f.Header.Sender != (sbdh.ID{Scheme: sbdh.SchemeParticipant, Value: "9930:de1"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if got := fmt.Sprint(p.north.received[0].User.Properties); !strings.Contains(got, "9930:de1") || strings.Contains(got, "4012345000009") {
		t.Errorf("properties %s", got)
	}
}
