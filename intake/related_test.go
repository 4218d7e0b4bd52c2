package intake

import (
	"strings"
	"testing"

	"edigw/edi"
	"edigw/partner"
	"edigw/queue"
)

// related is a document of two files: the root, and a drawing.
func related(root string) string {
	return "--b\r\nContent-Type: application/edi-x12\r\n\r\n" + root +
		"\r\n--b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n--b--\r\n and an epilogue"
}

const relatedType = `multipart/related; type="application/edi-x12"; boundary="b"`

// TestSeveralFilesAreOneDocument: RFC 6362. The body is kept as it came, with its
// type; key, references and faults are those of the root.
func TestSeveralFilesAreOneDocument(t *testing.T) {
	t.Parallel()
	fixed := newPartner("contoso")
	fixed.AS2.ContentType = "application/edi-consent"
	h := openHouse(t, newPartner("northwind"), fixed)
	root := x12("000000001", "P", "INV-1", 4)
	alone := h.mustSend(t, Request{Partner: "contoso"}, root).Message
	for _, id := range []string{"northwind", "contoso"} { // content_type of the partner's file does not count
		m := h.mustSend(t, Request{Partner: id, ContentType: "  " + relatedType, FileName: "order.edi"}, related(root)).Message
		if m.Payload.ContentType != relatedType || h.payload(t, m) != related(root) || m.Payload.Size != int64(len(related(root))) {
			t.Errorf("kept %q of type %q", h.payload(t, m), m.Payload.ContentType)
		}
		if m.Business.Kind != edi.X12 || m.Business.Type != "810" || m.Key != alone.Key || len(m.Business.References) != len(alone.Business.References) {
			t.Errorf("key %q, %+v; alone it has %q, %+v", m.Key, m.Business, alone.Key, alone.Business)
		}
	}
	if again := h.mustSend(t, Request{ContentType: relatedType}, related(root)); again.Outcome != queue.AdmitReplayed {
		t.Errorf("the same again is %s", again.Outcome)
	}
}

// TestRootDecidesOfSeveralFiles: encoded or not, wherever start finds it, in one
// pass over the body; what is recognised nowhere is a document all the same.
func TestRootDecidesOfSeveralFiles(t *testing.T) {
	t.Parallel()
	root := x12("000000001", "P", "INV-1", 4)
	second := "--b\r\nContent-ID: <1@x>\r\n\r\npng\r\n--b\r\nContent-ID: <2@x>\r\n\r\n" + root + "\r\n--b--"
	for _, tt := range []struct {
		name, contentType, body string
		kind                    edi.Kind
	}{
		{"first", relatedType, related(root), edi.X12},
		{"start", relatedType + `; start="<2@x>"`, second, edi.X12},
		{"start names none", relatedType + `; start="<3@x>"`, second, edi.Unknown},
		{"first is no document", relatedType, second, edi.Unknown},
	} {
		for _, wary := range []bool{false, true} {
			h := openHouse(t, newPartner("northwind"))
			if wary {
				h.door.alert("northwind", h.Now())
			}
			m := h.mustSend(t, Request{ContentType: tt.contentType}, tt.body).Message
			if m.Business.Kind != tt.kind || h.payload(t, m) != tt.body {
				t.Errorf("%s: %s, kept %q", tt.name, m.Business.Kind, h.payload(t, m))
			}
		}
	}
}

// TestFaultOfTheRootIsALetter: as it is of a document alone.
func TestFaultOfTheRootIsALetter(t *testing.T) {
	t.Parallel()
	h := open1(t, func(p *partner.Partner) { p.CheckEnvelope = true })
	m := h.mustSend(t, Request{ContentType: relatedType}, related(x12("000000001", "P", "INV-1", 5))).Message
	if m.State != queue.Dead || !strings.Contains(m.Detail, "SE01") {
		t.Errorf("%s: %s", m.State, m.Detail)
	}
}
