package as4

import (
	"regexp"
	"strings"
	"testing"

	"edigw/as4/wssec"

	"github.com/google/go-cmp/cmp"
)

// TestNothingUnsignedIsBelieved: whatever somebody on the way makes of a signed
// message, it is refused, or read as it was signed.
func TestNothingUnsignedIsBelieved(t *testing.T) {
	t.Parallel()
	cut := func(text, from, to string) (piece, rest string) {
		i := strings.Index(text, from)
		j := strings.Index(text, to) + len(to)
		if i < 0 || j <= i {
			t.Fatalf("no %s … %s in %s", from, to, text)
		}
		return text[i:j], text[:i] + "\x01" + text[j:]
	}
	put := func(rest, with string) string { return strings.Replace(rest, "\x01", with, 1) }
	evil := func(messaging string) string {
		messaging = strings.ReplaceAll(messaging, "crafted-1@", "evil-1@")
		return regexp.MustCompile(` wsu:Id="[^"]*"`).ReplaceAllString(messaging, "")
	}
	idOf := func(element string) string {
		return regexp.MustCompile(`wsu:Id="([^"]*)"`).FindStringSubmatch(element)[1]
	}
	messagingIn := func(text string) (string, string) { return cut(text, "<eb:Messaging", "</eb:Messaging>") }
	withID := func(attribute string) func(string) string {
		return func(text string) string {
			m, rest := messagingIn(text)
			e := strings.Replace(evil(m), "<eb:Messaging", "<eb:Messaging "+attribute+`="`+idOf(m)+`"`, 1)
			rest = put(rest, e)
			return strings.Replace(rest, "<wsse:Security ", `<x:Old xmlns:x="urn:x">`+m+`</x:Old><wsse:Security `, 1)
		}
	}
	wsu := `xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd" w:Id`
	for name, tc := range map[string]struct {
		bend  func(text string) string
		takes bool // as it was signed; else it is refused
	}{
		"nothing": {func(text string) string { return text }, true},
		"moved aside, none in its place": {func(text string) string {
			m, rest := messagingIn(text)
			return put(strings.Replace(rest, "<wsse:Security ", `<x:Old xmlns:x="urn:x">`+m+`</x:Old><wsse:Security `, 1), evil(m))
		}, false},
		"one id by wsu:Id":         {withID("wsu:Id"), false},
		"one id by another prefix": {withID(wsu), false},
		"one id by Id":             {withID("Id"), false},
		"one id by ID":             {withID("ID"), false},
		"one id by id":             {withID("id"), false},
		"one id by xml:id":         {withID("xml:id"), false},
		"one id by what is no id":  {withID(`xmlns:p="urn:p" p:Id`), false},
		"a second header":          {func(text string) string { m, rest := messagingIn(text); return put(rest, m+evil(m)) }, false},
		"a second header for another role": {func(text string) string {
			m, rest := messagingIn(text)
			return put(rest, strings.Replace(evil(m), "<eb:Messaging", `<eb:Messaging xmlns:e2="http://www.w3.org/2003/05/soap-envelope" e2:role="urn:example:somebody"`, 1)+m)
		}, true},
		"the signed header for another role": {func(text string) string {
			m, rest := messagingIn(text)
			return put(rest, evil(m)+strings.Replace(m, "<eb:Messaging", `<eb:Messaging xmlns:e2="http://www.w3.org/2003/05/soap-envelope" e2:role="urn:example:somebody"`, 1))
		}, false},
		"the signed header inside the other": {func(text string) string {
			m, rest := messagingIn(text)
			return put(rest, strings.Replace(evil(m), "</eb:Messaging>", m+"</eb:Messaging>", 1))
		}, false},
		"a second security header": {func(text string) string {
			s, rest := cut(text, "<wsse:Security ", "</wsse:Security>")
			return put(rest, s+s)
		}, false},
		"security for another role": {func(text string) string {
			return strings.Replace(text, "<wsse:Security ", `<wsse:Security env:role="urn:example:somebody" `, 1)
		}, false},
		"a second, empty, by the long name": {func(text string) string {
			s, rest := cut(text, "<wsse:Security ", "</wsse:Security>")
			return put(rest, s+`<wsse:Security xmlns:wsse="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd" env:role="http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver"/>`)
		}, false},
		"token outside of the header": {func(text string) string {
			b, rest := cut(text, "<wsse:BinarySecurityToken ", "</wsse:BinarySecurityToken>")
			rest = put(rest, "")
			b = strings.Replace(b, "<wsse:BinarySecurityToken ", `<wsse:BinarySecurityToken xmlns:wsse="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd" xmlns:wsu="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd" `, 1)
			return strings.Replace(rest, "<wsse:Security ", b+"<wsse:Security ", 1)
		}, false},
		"comment in a value": {func(text string) string {
			return strings.Replace(text, "ACME</eb:PartyId>", "AC<!-- -->ME</eb:PartyId>", 1)
		}, true},
		"CDATA in a value": {func(text string) string {
			return strings.Replace(text, "ACME</eb:PartyId>", "A<![CDATA[CM]]>E</eb:PartyId>", 1)
		}, true},
		"reference in a value": {func(text string) string {
			return strings.Replace(text, "ACME</eb:PartyId>", "A&#67;ME</eb:PartyId>", 1)
		}, true},
		"blank in a value": {func(text string) string { return strings.Replace(text, "ACME</eb:PartyId>", "ACME </eb:PartyId>", 1) }, false},
		"declared on the envelope": {func(text string) string {
			return strings.Replace(text, "<env:Envelope ", `<env:Envelope xmlns:evil="urn:evil" `, 1)
		}, true},
		"eb is another namespace": {func(text string) string {
			m, rest := messagingIn(text)
			i := strings.Index(m, ` xmlns:eb="`)
			j := i + len(` xmlns:eb="`) + strings.Index(m[i+len(` xmlns:eb="`):], `"`) + 1
			return put(rest, m[:i]+` xmlns:eb="urn:evil"`+m[j:])
		}, false},
		"href of the other part": {func(text string) string { return strings.Replace(text, `href="cid:a@`, `href="cid:b@`, 1) }, false},
		"an unsigned PartInfo": {func(text string) string {
			return strings.Replace(text, "</eb:PayloadInfo>", `<eb:PartInfo href="cid:c@edi.acme.example"/></eb:PayloadInfo>`, 1)
		}, false},
		"something in the Body": {func(text string) string {
			return strings.Replace(strings.Replace(text, "</env:Body>", "", 1), "/></env:Envelope>", "><evil/></env:Body></env:Envelope>", 1)
		}, false},
		"an element behind the Body": {func(text string) string { return strings.Replace(text, "</env:Envelope>", "<evil/></env:Envelope>", 1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := craft(plainPart("a@edi.acme.example", "application/octet-stream", "first"), plainPart("b@edi.acme.example", "application/octet-stream", "second"),
				craftedPart{id: "c@edi.acme.example", content: []byte("evil"), unlisted: true, unsigned: true})
			c.after = tc.bend
			m := &receiver{p: fromAcmePlain()}
			answer, e := answered(t, serve(receiverHandler(t, m), c.request(t)))
			if (answer == "receipt") != tc.takes {
				t.Fatalf("answered %s: %s", answer, e.Detail)
			}
			if !tc.takes {
				return
			}
			rec, payloads := m.last(t)
			if diff := cmp.Diff([]string{"first", "second"}, payloads); diff != "" || rec.MessageID != "crafted-1@edi.acme.example" || rec.User.From.IDs[0] != acmeParty.IDs[0] {
				t.Errorf("received %s from %v: %s", rec.MessageID, rec.User.From, diff)
			}
		})
	}
	t.Run("parts that changed places", func(t *testing.T) {
		t.Parallel()
		c := craft(plainPart("a@edi.acme.example", "application/octet-stream", "first"), plainPart("b@edi.acme.example", "application/octet-stream", "second"))
		c.seal = wssec.Encrypting{Recipient: northwind().cert, Cipher: wssec.AES128GCM}
		c.after = func(text string) string {
			text = strings.Replace(text, `CipherReference URI="cid:a@`, `CipherReference URI="cid:x@`, 1)
			text = strings.Replace(text, `CipherReference URI="cid:b@`, `CipherReference URI="cid:a@`, 1)
			return strings.Replace(text, `CipherReference URI="cid:x@`, `CipherReference URI="cid:b@`, 1)
		}
		m := &receiver{p: fromAcme()}
		if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer == "receipt" && (m.payloads[0][0] != "first" || m.payloads[0][1] != "second") {
			t.Errorf("received %q: %s", m.payloads[0], e.Detail)
		}
		c.after, c.parts[0].raw, c.parts[1].raw = nil, nil, nil
		m = &receiver{p: fromAcme()}
		c.wire = func(body []byte) []byte { // the ciphertexts themselves
			a, b := string(c.parts[0].raw), string(c.parts[1].raw)
			text := strings.Replace(string(body), a, "\x01\x01", 1)
			text = strings.Replace(text, b, a, 1)
			return []byte(strings.Replace(text, "\x01\x01", b, 1))
		}
		if answer, e := answered(t, serve(receiverHandler(t, m), c.request(t))); answer != codeSender {
			t.Errorf("ciphertexts that changed places: answered %s: %s", answer, e.Detail)
		}
	})
}
