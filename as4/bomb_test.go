package as4

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/xmltree"

	"edigw/internal/testfixture"
	"github.com/beevik/etree"
)

// bombMemory bounds what a small message of a stranger may allocate.
const bombMemory = 16 << 20

// TestBombs: what somebody who knows two party ids can send costs what its size
// does. Not parallel: it counts what is allocated.
func TestBombs(t *testing.T) {
	long := "urn:example:" + strings.Repeat("x", 900)
	for name, tc := range map[string]struct {
		bend func(text string) string
		code string
	}{
		"SignedInfo of many namespaces": {func(text string) string {
			text = strings.Replace(text, "<ds:SignedInfo>", "<ds:SignedInfo>"+strings.Repeat("<p:a/>", 15_000), 1)
			return strings.Replace(text, "<ds:Signature ", `<ds:Signature xmlns:p="`+long+`" `, 1)
		}, codeSender},
		"a namespace with a name of 100 KB": {func(text string) string {
			return strings.Replace(text, "<ds:Signature ", `<ds:Signature xmlns:p="`+strings.Repeat(long, 100)+`" `, 1)
		}, "env:Sender"},
		"thousands of PartyIds": {func(text string) string {
			id := `<eb:PartyId type="urn:example:ids">ACME</eb:PartyId>`
			if !strings.Contains(text, id) {
				t.Fatal(text)
			}
			return strings.Replace(text, id, strings.Repeat(id, 9_000), 1)
		}, codeHeader},
	} {
		t.Run(name, func(t *testing.T) {
			c := craft(zippedPart("order@edi.acme.example", "text/plain", "an order"))
			c.sign = wssec.Signing{Key: stranger().key, Certificate: stranger().cert, Algorithm: wssec.RSASHA256}
			c.after = tc.bend
			m := &receiver{p: fromAcmePlain()}
			h, req := receiverHandler(t, m), c.request(t)
			var code string
			var e ebms.Error
			used := testfixture.Allocated(t, func() { code, e = answered(t, serve(h, req)) })
			if code != tc.code || used > bombMemory {
				t.Errorf("%d KiB: answered %s (%s), allocated %d KiB", len(c.sent)>>10, code, e.Detail, used>>10)
			}
		})
	}
}

// fileCounter tells how many files are open while a message is kept.
type fileCounter struct {
	*receiver
	open int
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		testfixture.Missing(t, "a folder of the open files of a process")
	}
	return len(list)
}

func (c *fileCounter) Receive(ctx context.Context, r Received) (*Answer, bool, error) {
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.open = len(list)
	}
	return c.receiver.Receive(ctx, r)
}

// TestManyPartsTakeFewFiles: a message of hundreds of large parts takes the open
// files of one. Not parallel: it counts them.
func TestManyPartsTakeFewFiles(t *testing.T) {
	const parts = 300
	random := rand.New(rand.NewPCG(1, 2))
	content := func() string {
		b := make([]byte, 70_000) // more than is held in memory, and random: packed it is as large
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	for name, tc := range map[string]struct {
		part func(id string) craftedPart
		seal bool
	}{
		"as they are": {func(id string) craftedPart { return plainPart(id, "application/octet-stream", content()) }, false},
		"in base64": {func(id string) craftedPart {
			p := plainPart(id, "application/octet-stream", content())
			p.encoding = "base64"
			return p
		}, false},
		"compressed": {func(id string) craftedPart { return zippedPart(id, "application/octet-stream", content()) }, false},
		"encrypted":  {func(id string) craftedPart { return zippedPart(id, "application/octet-stream", content()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var all []craftedPart
			for i := range parts {
				all = append(all, tc.part(fmt.Sprintf("part-%d@edi.acme.example", i)))
			}
			c := craft(all...)
			if tc.seal {
				c.seal = wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM}
			}
			m := &fileCounter{receiver: &receiver{p: fromAcmePlain()}}
			h := receiverHandler(t, m.receiver)
			h.o.Inbox = m
			req, before := c.request(t), openFiles(t)
			if code, e := answered(t, serve(h, req)); code != "receipt" || len(m.payloads[0]) != parts {
				t.Fatalf("answered %s: %s", code, e.Detail)
			}
			for i, p := range c.parts {
				if got := m.payloads[0][i]; tc.part("x").properties == nil && got != string(p.content) || len(got) != 70_000 {
					t.Fatalf("part %d is another", i)
				}
			}
			if m.open > before+10 {
				t.Errorf("%d open files for %d parts", m.open-before, parts)
			}
		})
	}
}

// TestDecryptedBodyIsNotTold: whoever overheard what was encrypted for us, and
// sends it as the Body of a message of his own, reads nothing of it in our answer;
// what is not XML is answered like what does not decrypt.
func TestDecryptedBodyIsNotTold(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, content := range []string{"secret: 4711 & more", "<secret:order/>", "<a>4711</secret>", "<!DOCTYPE secret>", "<order xmlns:r='secret'><r:a/></order>"} {
		for _, damage := range []bool{false, true} {
			c := craft()
			c.sign = wssec.Signing{Key: stranger().key, Certificate: stranger().cert, Algorithm: wssec.RSASHA256}
			key, data := overheard(t, content, damage)
			c.after = func(text string) string {
				text = strings.Replace(text, "<ds:Signature ", key+"<ds:Signature ", 1)
				at := strings.LastIndex(text, "</env:Body>")
				if at < 0 {
					at = strings.LastIndex(text, "/></env:Envelope>")
					return text[:at] + ">" + data + "</env:Body></env:Envelope>"
				}
				return text[:at] + data + text[at:]
			}
			m := &receiver{p: fromAcmePlain()}
			code, e := answered(t, serve(receiverHandler(t, m), c.request(t)))
			if strings.Contains(e.Detail, "secret") || strings.Contains(e.Detail, "4711") {
				t.Errorf("%s, damaged %t: answered %s: %s", content, damage, code, e.Detail)
			}
			if !strings.HasPrefix(content, "<order") {
				told[code+" "+e.Detail] = true
			}
		}
	}
	if len(told) != 1 {
		t.Errorf("answers differ: %v", told)
	}
}

// overheard is content that was encrypted for northwind, as it stands in a
// security header and in a Body.
func overheard(t *testing.T, content string, damage bool) (key, data string) {
	t.Helper()
	x, err := wssec.NewEncrypter(wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM})
	if err != nil {
		t.Fatal(err)
	}
	var sealed bytes.Buffer
	w := x.Part(&sealed, "body", "")
	_, _ = w.Write([]byte(content))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if damage {
		sealed.Bytes()[sealed.Len()-1] ^= 1
	}
	security := wssec.NewSecurity()
	x.Write(security)
	e := xmltree.Children(security, spaceXENC, "EncryptedData")[0]
	e.RemoveAttr("Type")
	cipher := xmltree.Children(e, spaceXENC, "CipherData")[0]
	cipher.RemoveChildAt(0)
	cipher.CreateElement("xenc:CipherValue").SetText(base64.StdEncoding.EncodeToString(sealed.Bytes()))
	written := func(e *etree.Element) string {
		return strings.TrimPrefix(string(ebms.Serialise(e)), `<?xml version="1.0" encoding="UTF-8"?>`)
	}
	return written(xmltree.Children(security, spaceXENC, "EncryptedKey")[0]), written(e)
}
