package as4

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// opened is a message of ours as its receiver takes it apart: a second reader
// beside Handler, which knows nothing of how Build went about it.
type opened struct {
	wire     []byte
	env      *ebms.Envelope
	report   *wssec.Report
	payloads [][]byte
	types    []string          // Content-Type of the parts on the wire
	onWire   map[string][]byte // by Content-ID
}

// open takes a message apart in the order of AS4 §3.1: decrypt, verify,
// decompress.
func open(t testing.TB, contentType string, wire []byte, p PMode) opened {
	t.Helper()
	o := opened{wire: wire, onWire: map[string][]byte{}}
	root := wire
	mediaType, params, err := rawmime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	if mediaType == typeRelated {
		if params["type"] != typeSOAP || params["start"] == "" {
			t.Errorf("Content-Type %s", contentType)
		}
		parts := newSplitter(bytes.NewReader(wire), params["boundary"])
		defer parts.release()
		for n := 1; ; n++ {
			part, err := parts.next(n)
			if err != nil {
				break
			}
			content, err := io.ReadAll(part.content)
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				if "<"+part.id+">" != params["start"] || part.contentType != envelopeType {
					t.Errorf("the root is %q of type %q", part.id, part.contentType)
				}
				root = content
				continue
			}
			ids, o.types = append(ids, part.id), append(o.types, part.contentType)
			o.onWire[part.id] = content
		}
	}
	doc, err := xmltree.Parse(root, xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if o.env, err = ebms.ParseEnvelope(doc); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 0 && len(o.env.User.Parts) != len(ids) {
		t.Fatalf("%d parts, %d PartInfo", len(ids), len(o.env.User.Parts))
	}
	plain, kinds := o.decrypt(t, p)
	o.verify(t, p, plain, kinds)
	for i, info := range o.env.User.Parts {
		if id, ok := wssec.ContentID(info.Href); !ok || id != ids[i] {
			if o.env.Payload() != nil {
				continue
			}
			t.Fatalf("PartInfo %d is %q, part %q", i, info.Href, ids[i])
		}
		o.payloads = append(o.payloads, o.inflate(t, info, plain[ids[i]]))
	}
	return o
}

// decrypt gives the parts in the clear, with the types that they are digested by.
func (o *opened) decrypt(t testing.TB, p PMode) (plain map[string][]byte, kinds map[string]string) {
	t.Helper()
	plain, kinds = map[string][]byte{}, map[string]string{}
	i := 0
	for _, info := range o.env.User.Parts {
		if id, ok := wssec.ContentID(info.Href); ok {
			plain[id], kinds[id] = o.onWire[id], o.types[i]
			i++
		}
	}
	security, err := wssec.Security(o.env.Header, "")
	if err != nil {
		t.Fatal(err)
	}
	if security == nil {
		return plain, kinds
	}
	sealed, err := wssec.ReadEncrypted(security)
	if err != nil {
		t.Fatal(err)
	}
	if sealed == nil {
		return plain, kinds
	}
	opening, err := sealed.Unlock(p.Decrypt)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range sealed.Parts() {
		var out bytes.Buffer
		if err := opening.Decrypt(&out, part.ContentID, bytes.NewReader(o.onWire[part.ContentID])); err != nil {
			t.Fatal(err)
		}
		if kinds[part.ContentID] != typeOctets {
			t.Errorf("an encrypted part is called %s", kinds[part.ContentID])
		}
		plain[part.ContentID], kinds[part.ContentID] = out.Bytes(), part.MediaType
	}
	return plain, kinds
}

// verify checks the signature, if there is one, and that it covers everything.
func (o *opened) verify(t testing.TB, p PMode, plain map[string][]byte, kinds map[string]string) {
	t.Helper()
	var parts []wssec.Part
	for id, content := range plain {
		parts = append(parts, wssec.Part{ContentID: id, MediaType: kinds[id], Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		}})
	}
	report, err := p.verify(o.env, parts, testNow)
	if !p.Receive.Signed {
		return
	}
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	o.report = report
	if !report.Covers(o.env.Messaging) || !report.Covers(o.env.Body) {
		t.Error("Messaging or Body is not signed")
	}
	for id := range plain {
		if !report.CoversPart(id) {
			t.Errorf("part %s is not signed", id)
		}
	}
}

func (o *opened) inflate(t testing.TB, info ebms.PartInfo, content []byte) []byte {
	t.Helper()
	if kind, n := ebms.Lookup(info.Properties, ebms.CompressionType); n == 0 {
		return content
	} else if n != 1 || kind != gzipType {
		t.Errorf("CompressionType %q, %d of them", kind, n)
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// references are what a receipt for the message has to name.
func (o *opened) references() []*etree.Element {
	if o.report == nil {
		return nil
	}
	return o.report.SignedInfoReferences
}

// receiptFor is the receipt that the receiver makes, by p.
func (o *opened) receiptFor(t testing.TB, p PMode) *Answer {
	t.Helper()
	a, err := NewReceipt(p, NewSignalID("northwind.example"), o.env.User, o.env.UserElement, o.references(), testNow)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// judge has an answer verified by who sent the builds.
func judge(a *Answer, p PMode, sent ...Rendition) (fault.Acknowledgement, Signal) {
	return VerifySignal(http.Header{"Content-Type": {a.ContentType}}, a.Body, sent, p, testNow)
}

// securityOrder are the names of what stands in the security header, in order.
func securityOrder(t testing.TB, env *ebms.Envelope) string {
	t.Helper()
	security, err := wssec.Security(env.Header, "")
	if err != nil || security == nil {
		t.Fatalf("security header: %v", err)
	}
	var names []string
	for _, e := range security.ChildElements() {
		names = append(names, e.Tag)
	}
	return strings.Join(names, " ")
}

// elements are what a signal's signature covers.
func elements(env *ebms.Envelope) []*etree.Element {
	return []*etree.Element{env.Messaging, env.Body}
}
