package wssec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// sealedEnvelope is an envelope whose Body holds content, encrypted as e says.
func sealedEnvelope(t testing.TB, e Encrypting, kind, content string) *etree.Element {
	t.Helper()
	x, err := NewEncrypter(e)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := x.Part(&out, "body", "")
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	envelope := etree.NewElement("env:Envelope")
	envelope.CreateAttr("xmlns:env", nsSOAP)
	envelope.CreateAttr("xmlns:doc", "urn:example:order")
	security := NewSecurity()
	envelope.CreateElement("env:Header").AddChild(security)
	body := envelope.CreateElement("env:Body")
	body.CreateAttr("xmlns", "urn:example:other")
	body.CreateAttr("xmlns:doc", "urn:example:inner") // counts more than that of the envelope
	x.Write(security)
	data := xmltree.Children(security, nsXENC, "EncryptedData")[0]
	data.CreateAttr("Type", nsXENC+kind)
	cipher := xmltree.Children(data, nsXENC, "CipherData")[0]
	cipher.RemoveChildAt(0)
	cipher.CreateElement("xenc:CipherValue").SetText(encode(out.Bytes()))
	body.AddChild(data)
	return parseXML(t, serialised(t, envelope)).Root()
}

func bodyOf(envelope *etree.Element) (security, body *etree.Element) {
	return envelope.ChildElements()[0].ChildElements()[0], envelope.ChildElements()[1]
}

// TestEncryptedBody: what stood in the Body stands there again, with the
// namespaces of there, and is XML that could have stood there.
func TestEncryptedBody(t *testing.T) {
	t.Parallel()
	h := p256Holder()
	e := Encrypting{Recipient: h.cert, Cipher: AES128GCM}
	for _, tc := range []struct {
		name, kind, content string
		want                error
	}{
		{"an element", "Element", `<doc:order xmlns:q="urn:q"><line q:n="1">5 &lt; 6</line><!-- end --></doc:order>`, nil},
		{"its content", "Content", "\n <doc:order/>\n", nil},
		{"nothing", "Content", "", nil},
		{"more than one", "Content", "<a/><b/>text", nil},
		{"a prefix of nowhere", "Content", "<nowhere:order/>", ErrDecrypt},
		{"two documents", "Content", "</content><content>", ErrDecrypt},
		{"not closed", "Content", "<order>", ErrDecrypt},
		{"a DTD", "Content", `<!DOCTYPE order [<!ENTITY a "b">]><order/>`, ErrDecrypt},
		{"no XML", "Content", "\x00\x01\xff", ErrDecrypt},
		{"an attachment", "Attachment-Content-Only", "<order/>", ErrPolicy},
	} {
		envelope := sealedEnvelope(t, e, tc.kind, tc.content)
		security, body := bodyOf(envelope)
		o, err := unlock(security, h.opener())
		if err != nil {
			t.Fatal(err)
		}
		err = o.Body(body)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
			continue
		}
		if tc.want != nil {
			continue
		}
		clear := parseXML(t, `<env:Envelope xmlns:env="`+nsSOAP+`" xmlns:doc="urn:example:order"><env:Header/><env:Body xmlns="urn:example:other" xmlns:doc="urn:example:inner">`+tc.content+`</env:Body></env:Envelope>`)
		var got, want bytes.Buffer
		for out, e := range map[*bytes.Buffer]*etree.Element{&got: body, &want: clear.Root().ChildElements()[1]} {
			if err := xmltree.Canonical(out, e, xmltree.Method{}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: %s, want %s", tc.name, got.String(), want.String())
		}
		if err := o.Body(body); err != nil {
			t.Errorf("%s, nothing is encrypted any more: %v", tc.name, err)
		}
	}
}

func TestChangedBody(t *testing.T) {
	t.Parallel()
	h := p256Holder()
	envelope := sealedEnvelope(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM}, "Content", "<order/>")
	security, body := bodyOf(envelope)
	o, err := unlock(security, h.opener())
	if err != nil {
		t.Fatal(err)
	}
	value := xmltree.Find(body, func(e *etree.Element) bool { return e.Tag == "CipherValue" })[0]
	good, err := decode(value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 4
		value.SetText(encode(changed))
		if err := o.Body(body); err != ErrDecrypt { //nolint:errorlint // nothing may be added to it
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	value.SetText(encode(good))
	body.CreateElement("more")
	if err := o.Body(body); !errors.Is(err, ErrMalformed) {
		t.Errorf("with something beside it: %v", err)
	}
	if !strings.Contains(serialised(t, body), "EncryptedData") {
		t.Error("a Body that was refused was changed")
	}
}
