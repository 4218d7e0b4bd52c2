package as4sender

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/sbdh"
	"edigw/fault"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// TestADocumentTakesItsPropertiesAlong: they stand in the header and on each
// payload, beside those of the partner file and in the place of them, and again in
// what is sent again or built anew.
func TestADocumentTakesItsPropertiesAlong(t *testing.T) {
	t.Parallel()
	lines := []string{
		`properties: {region: west, tracking: {type: "urn:example:t", required: true}}`,
		`part_properties: {DocumentType: order, DocumentNo: {required: true}}`,
	}
	h := newHouse(t, lines...)
	several, kind := related(t, fileOfSeveral("order.edi", "application/edifact", []byte("UNB+UNOC:3'")), fileOfSeveral("plan.xml", "application/xml", []byte("<plan/>")))
	m := h.acceptAs(several, kind, "")
	m.Properties = queue.Properties{
		Message: []queue.Property{{Name: "tracking", Value: `ü & "<7>"`}, {Name: "region", Value: "north"}},
		Part:    []queue.Property{{Name: "DocumentNo", Value: "4711"}, {Name: "DocumentType", Value: "change"}},
	}
	want := []ebms.Property{{Name: "region", Value: "north"}, {Name: "tracking", Type: "urn:example:t", Value: `ü & "<7>"`}}
	parts := []ebms.Property{{Name: "DocumentType", Value: "change"}, {Name: "DocumentNo", Value: "4711"}}
	for range 2 {
		if o, _ := h.attempt(m); !trusted(o) {
			t.Fatalf("%+v", o)
		}
	}
	if len(h.builds) != 1 || !slices.Equal(h.north.wires, []string{h.builds[0].SHA256, h.builds[0].SHA256}) {
		t.Errorf("sent again: %d builds, on the wire %v", len(h.builds), h.north.wires)
	}
	got := h.north.received[0]
	if diff := cmp.Diff(want, got.User.Properties); diff != "" || len(got.Payloads) != 2 {
		t.Errorf("%d payloads (-want +got):\n%s", len(got.Payloads), diff)
	}
	for _, p := range got.Payloads {
		if diff := cmp.Diff(parts, p.Properties); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.FileName, diff)
		}
	}
	h.acme.configure(append(lines, "security: {sign: rsa-sha512}")...)
	if b, fresh := h.prepare(m); !fresh || b.N != 2 {
		t.Errorf("built anew: %+v", b)
	}
	if diff := cmp.Diff(want, recordOf(t, h.builds[1]).User.Properties); diff != "" {
		t.Errorf("built anew (-want +got):\n%s", diff)
	}
}

// TestAPropertyThatBecameRequired: a document that was accepted before the partner
// file said so is not sent without it, and nobody was contacted.
func TestAPropertyThatBecameRequired(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.prepare(m)
	h.acme.configure("part_properties: {DocumentNo: {required: true}}")
	builds, _ := h.Builds(t.Context(), m.ID)
	_, _, o := h.sender.Prepare(t.Context(), m, builds)
	if o == nil || o.Cause != fault.CauseNotListed || !strings.Contains(o.Detail, "without the property DocumentNo, which as4.part_properties.DocumentNo") {
		t.Errorf("%+v", o)
	}
	m.Properties.Part = []queue.Property{{Name: "DocumentNo", Value: "4711"}}
	if o, _ := h.attempt(m); !trusted(o) {
		t.Errorf("with it: %+v", o)
	}
}

// standard is a Standard Business Document of acme's to the sample's receiver.
func (p *peppol) standard() []byte {
	p.t.Helper()
	r, _, err := sbdh.Wrap(sbdh.Header{
		Sender: sbdh.ID{Scheme: sbdh.SchemeParticipant, Value: "9915:acme"}, Receiver: sbdh.ID{Scheme: sbdh.SchemeParticipant, Value: "0088:4098765000007"},
		Document: sbdh.ID{Scheme: sbdh.SchemeDocument, Value: invoiceType}, Process: sbdh.ID{Scheme: sbdh.SchemeProcess, Value: billing},
		Standard: "urn:x", TypeVersion: "1", Type: "x", Instance: "ours-1", Created: p.now(),
	}, strings.NewReader("<x/>"), 4)
	if err != nil {
		p.t.Fatal(err)
	}
	document, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return document
}

// settle adds lines to acme's section as4 for the network.
func (p *peppol) settle(lines string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.acme.dir, "partners", "northwind.yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.acme.write("partners/northwind.yaml", strings.Replace(string(text), "  smp:", lines+"  smp:", 1))
	p.acme.load()
}

// TestWhoseWordCountsForTheTwoEnds: what came with the document, then its Standard
// Business Document, then the partner file, then what is found in it. Where the
// first two contradict each other nothing is sent.
func TestWhoseWordCountsForTheTwoEnds(t *testing.T) {
	t.Parallel()
	const file = "  properties: {originalSender: {value: \"9930:file\", type: iso6523-actorid-upis}}\n"
	const demanded = "  properties: {originalSender: {required: true}, finalRecipient: {required: true}}\n"
	ends := func(sender string) []ebms.Property {
		return []ebms.Property{{Name: "originalSender", Type: sbdh.SchemeParticipant, Value: sender}, {Name: "finalRecipient", Type: sbdh.SchemeParticipant, Value: "0088:4098765000007"}}
	}
	for name, c := range map[string]struct {
		lines    string
		standard bool // the document has a header
		given    []queue.Property
		want     []ebms.Property
		refused  string
	}{
		"what is found in the document":           {"", false, nil, ends("0088:4012345000009"), ""},
		"it may be required":                      {demanded, false, nil, ends("0088:4012345000009"), ""},
		"the partner file":                        {file, false, nil, ends("9930:file"), ""},
		"its header":                              {file, true, nil, ends("9915:acme"), ""},
		"what it came with":                       {file, false, []queue.Property{{Name: "originalSender", Value: "9930:given"}}, ends("9930:given"), ""},
		"with the scheme before it":               {file, false, []queue.Property{{Name: "originalSender", Value: "iso6523-actorid-upis::9930:given"}}, ends("9930:given"), ""},
		"what it came with and the header say so": {file, true, []queue.Property{{Name: "originalSender", Value: "9915:ACME"}}, ends("9915:acme"), ""},
		"another sender than the header":          {file, true, []queue.Property{{Name: "originalSender", Value: "9930:given"}}, nil, `property originalSender "9930:given", and its Standard Business Document says "iso6523-actorid-upis::9915:acme"`},
		"another receiver than the header":        {"", true, []queue.Property{{Name: "finalRecipient", Value: "0088:1"}}, nil, `property finalRecipient "0088:1"`},
		"another scheme than the header":          {"", true, []queue.Property{{Name: "originalSender", Value: "urn-x::9915:acme"}}, nil, `property originalSender "urn-x::9915:acme"`},
		"another one that nobody can find":        {"  properties: {tracking: {required: true}}\n", false, nil, nil, "without the property tracking"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeppol(t)
			if c.lines != "" {
				p.settle(c.lines)
			}
			document := ublInvoice(t)
			if c.standard {
				document = p.standard()
			}
			m := p.acceptAs(document, "application/xml", "invoice.xml")
			m.Properties.Message = c.given
			if c.refused != "" {
				_, _, o := p.sender.Prepare(t.Context(), m, nil)
				if o == nil || o.Cause != fault.CauseNotListed || !strings.Contains(o.Detail, c.refused) {
					t.Errorf("%+v", o)
				}
				return
			}
			if o, _ := p.attempt(m); !trusted(o) {
				t.Fatalf("%+v", o)
			}
			byName := func(a, b ebms.Property) int { return -strings.Compare(a.Name, b.Name) }
			if diff := cmp.Diff(c.want, slices.SortedFunc(slices.Values(p.north.received[0].User.Properties), byName)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			f, err := sbdh.Read(bytes.NewReader(p.north.contents[0]))
			if err != nil || f == nil || f.Header.Sender.Value != c.want[0].Value {
				t.Errorf("the header names %+v, %v", f, err)
			}
		})
	}
}
