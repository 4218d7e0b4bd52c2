package as4

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"edigw/as4/wssec"
)

// TestRemake: what a signature covers is made again from the kept record, byte
// for byte, long after the wire bytes are gone.
func TestRemake(t *testing.T) {
	t.Parallel()
	xml := []byte("<a:b xmlns:a='urn:a' c=\"1\">\r\n\t<d/></a:b>")
	for name, tc := range map[string]struct {
		set      func(*PMode)
		payloads []Payload
		plain    int // payloads that are signed as they are
	}{
		"compressed":             {func(*PMode) {}, []Payload{payload("application/edifact", "a.edi", contents()["usual"])}, 0},
		"not compressed":         {func(p *PMode) { p.Compress = false }, []Payload{payload("application/edifact", "a.edi", contents()["usual"])}, 1},
		"several":                {func(p *PMode) { p.Compress = false }, []Payload{payload("application/xml", "", xml), payload("text/plain", "", []byte("a\nb\r\n")), payload("a/b", "", contents()["binary"])}, 1},
		"several, compressed":    {func(*PMode) {}, []Payload{payload("application/xml", "", xml), payload("a/b", "", contents()["binary"])}, 0},
		"in the Body":            {func(p *PMode) { p.Body, p.Compress, p.Encrypt = true, false, wssec.Encrypting{} }, []Payload{payload("text/xml", "", xml)}, 0},
		"none":                   {func(*PMode) {}, nil, 0},
		"signed but not sealed":  {func(p *PMode) { p.Encrypt = wssec.Encrypting{} }, []Payload{payload("a/b", "", contents()["binary"])}, 0},
		"not signed, no payload": {func(p *PMode) { p.Sign, p.Receipt = wssec.Signing{}, ReceiptRequest{Mode: ReceiptSync} }, []Payload{payload("a/b", "", contents()["usual"])}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := toNorthwind()
			tc.set(&p)
			built, _ := mustBuild(t, p, orderDocument(tc.payloads...))
			record, err := json.Marshal(built)
			if err != nil {
				t.Fatal(err)
			}
			var r Rendition
			if err := json.Unmarshal(record, &r); err != nil {
				t.Fatal(err)
			}
			all, err := Remake(r, tc.payloads, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := 2 + len(tc.payloads); tc.plain >= 0 && !p.Body && len(all) != want {
				t.Errorf("%d are made again, want %d", len(all), want)
			}
			plain := 0
			for _, c := range all {
				var text bytes.Buffer
				if err := c.Write(&text); err != nil {
					t.Fatal(err)
				}
				h, _ := wssec.DigestByURI(c.DigestMethod)
				sum := h.New()
				sum.Write(text.Bytes())
				if !bytes.Equal(sum.Sum(nil), c.Value) {
					t.Errorf("%s, a %s, has another digest than was signed: %.200q", c.URI, c.Kind, text.Bytes())
				}
				if c.Plain {
					plain++
				}
				if (c.Kind == CoveredPayload) != strings.HasPrefix(c.URI, "cid:") || c.Compressed != (p.Compress && c.Payload > 0) {
					t.Errorf("%s is told as %s, compressed %v", c.URI, c.Kind, c.Compressed)
				}
			}
			if tc.plain < 0 && len(all) > 0 || tc.plain >= 0 && plain != tc.plain {
				t.Errorf("%d of %d are payloads as they are", plain, len(all))
			}
		})
	}
}

// TestRemakeOfOtherThings says so, and makes nothing up.
func TestRemakeOfOtherThings(t *testing.T) {
	t.Parallel()
	one := payload("a/b", "", contents()["usual"])
	r, _ := mustBuild(t, toNorthwind(), orderDocument(one))
	if _, err := Remake(r, []Payload{one, one}, nil); err == nil {
		t.Error("made again with a payload too many")
	}
	other := r
	other.MessageID = "other@edi.acme.example"
	if _, err := Remake(other, []Payload{one}, nil); err == nil {
		t.Error("made again under another MessageId")
	}
	r.User = nil
	if _, err := Remake(r, []Payload{one}, nil); err == nil {
		t.Error("made again without its header")
	}
}
