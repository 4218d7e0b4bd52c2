package wssec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"
)

// perAlgorithm envelopes are crossed with each algorithm.
const perAlgorithm = 20

// foreignCases are the algorithms that xmlsec1 1.2 knows, with their keys.
func foreignCases() (cases []struct {
	method xmldsig.Method
	name   string
	signer signer
}) {
	for _, a := range algorithmCases {
		if m, _ := xmldsig.MethodByName(a.algorithm); a.algorithm != Ed25519 {
			cases = append(cases, struct {
				method xmldsig.Method
				name   string
				signer signer
			}{m, fmt.Sprintf("%s %s", a.algorithm, a.name), a.signer()})
		}
	}
	return cases
}

var xmlsecIDs = []string{"--id-attr:Id", "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/:Messaging", "--id-attr:Id", nsSOAP + ":Body"}

// xmlsec1 verifies what we sign.
func TestXMLSecVerifiesOurSignatures(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	total := 0
	for _, c := range foreignCases() {
		o := newTool(t, "xmlsec1")
		cert, _ := o.signer("signer", c.signer)
		args := append([]string{"--verify", "--pubkey-cert-pem", cert}, xmlsecIDs...)
		var files []string
		for i := range perAlgorithm {
			s := c.signer.signing(c.method.Name, tokens[i%len(tokens)])
			s.Digest = xmldsig.Digests[i%len(xmldsig.Digests)].Hash
			files = append(files, o.write(fmt.Sprintf("%d.xml", i), signRandom(t, r, s)))
		}
		n, says := o.verified(append(args, files...)...)
		if n != perAlgorithm {
			t.Errorf("%s: xmlsec1 verifies %d of %d\n%s", c.name, n, perAlgorithm, says)
		}
		total += n
		changed := swap(t, o.read("0.xml"), "<eb:Messaging", `<eb:Messaging changed=""`)
		if n, _ := o.verified(append(args, o.write("changed.xml", changed))...); n != 0 {
			t.Errorf("%s: xmlsec1 verifies what was changed", c.name)
		}
	}
	t.Logf("xmlsec1 verified %d of our signatures", total)
}

// verified counts the files that xmlsec1 says OK about.
func (o tool) verified(args ...string) (n int, says string) {
	cmd := exec.Command("xmlsec1", args...)
	cmd.Dir = o.dir
	out, _ := cmd.CombinedOutput() // fails if one file does
	return bytes.Count(out, []byte("OK\n")), string(out)
}

// We verify what xmlsec1 signs, with PrefixLists everywhere.
func TestXMLSecSignaturesVerify(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	total := 0
	for _, c := range foreignCases() {
		o := newTool(t, "xmlsec1")
		cert, key := o.signer("signer", c.signer)
		args := append([]string{"--sign", "--privkey-pem", key + "," + cert}, xmlsecIDs...)
		for i := range perAlgorithm {
			args = append(args, o.write(fmt.Sprintf("%d.xml", i), signatureTemplate(t, r, c.method, xmldsig.Digests[i%len(xmldsig.Digests)], c.signer)))
		}
		signed := bytes.Split(o.run("xmlsec1", args...), []byte("<?xml version=\"1.0\"?>\n"))[1:]
		if len(signed) != perAlgorithm {
			t.Fatalf("%s: xmlsec1 signed %d of %d", c.name, len(signed), perAlgorithm)
		}
		for i, text := range signed {
			m := parseMessage(t, text)
			trust := c.signer.trust()
			trust.Now = c.signer.now()
			report, err := m.verify(trust)
			if err != nil || !report.Covers(m.messaging) || !report.Covers(m.body) {
				t.Errorf("%s, %d: %v\n%s", c.name, i, err, text)
				continue
			}
			total++
			changed := swap(t, text, "<eb:Messaging", `<eb:Messaging changed=""`)
			if _, err := parseMessage(t, changed).verify(trust); !errors.Is(err, ErrSignature) {
				t.Errorf("%s, %d: changed, and %v", c.name, i, err)
			}
		}
	}
	t.Logf("%d signatures of xmlsec1 verified", total)
}

// openssl verifies Ed25519, which xmlsec1 does not know, over the SignedInfo
// that xmllint canonicalises.
func TestOpenSSLVerifiesEd25519(t *testing.T) {
	t.Parallel()
	o := newTool(t, "openssl", "xmllint")
	s := edSigner()
	cert, _ := o.signer("signer", s)
	o.write("pub", o.run("openssl", "x509", "-in", cert, "-noout", "-pubkey"))
	m := parseMessage(t, sign(t, s.signing(Ed25519, TokenBST), testParts...), testParts...)
	info, err := only(xmltree.Children(m.security, nsDS, "Signature")[0], nsDS, "SignedInfo")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := xmltree.Canonical(&text, info, xmltree.Method{}); err != nil {
		t.Fatal(err)
	}
	canonical := bytes.TrimSuffix(o.run("xmllint", "--exc-c14n", o.write("info.xml", text.Bytes())), []byte("\n"))
	value, err := decode(m.security.FindElement("//ds:SignatureValue"))
	if err != nil {
		t.Fatal(err)
	}
	o.write("value", value)
	args := []string{"pkeyutl", "-verify", "-pubin", "-inkey", "pub", "-rawin", "-sigfile", "value", "-in"}
	o.run("openssl", append(args, o.write("info", canonical))...)
	if _, err := o.try("openssl", append(args, o.write("changed", canonical[1:]))...); err == nil {
		t.Error("openssl verifies what was changed")
	}
}
