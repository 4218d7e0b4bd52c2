package wssec

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/xmldsig"
)

// The XML signatures of Java, which are Santuario's, verify ours, and we verify
// theirs. A Java that does not know Ed25519 says so.
func TestJava(t *testing.T) {
	t.Parallel()
	o := newTool(t, "java")
	program, err := filepath.Abs(filepath.Join("testdata", "XMLSignature.java"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	args := []string{program}
	cases := map[string]signer{}
	for _, c := range algorithmCases {
		if c.name == "brainpoolP256r1" {
			continue // no Java has these curves since 16
		}
		folder := fmt.Sprintf("%s-%s-%d", c.algorithm, c.name, c.digest)
		cases[folder] = c.signer()
		args = append(args, folder)
		javaFolder(t, o, r, folder, c.algorithm, c.signer())
	}
	verified, signed := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(o.run("java", args...))); lines.Scan(); {
		folder, says, _ := strings.Cut(lines.Text(), " ")
		if strings.HasPrefix(says, "unknown") && strings.HasPrefix(folder, string(Ed25519)) {
			t.Logf("%s: %s", folder, says)
			continue
		}
		if says != fmt.Sprint(perAlgorithm) {
			t.Errorf("%s: Java verifies %s of %d", folder, says, perAlgorithm)
			continue
		}
		verified += perAlgorithm
		signed += verifyJava(t, o, folder, cases[folder])
	}
	t.Logf("Java verified %d of our signatures, we verified %d of Java's", verified, signed)
	if verified < 8*perAlgorithm || verified != signed {
		t.Errorf("Java verified %d and signed %d", verified, signed)
	}
}

// javaFolder prepares what the program is to verify and to sign.
func javaFolder(t *testing.T, o tool, r *rand.Rand, folder string, algorithm SignatureAlgorithm, s signer) {
	t.Helper()
	if err := os.Mkdir(o.path(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	o.signer(filepath.Join(folder, "signer"), s)
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	o.write(filepath.Join(folder, "signer.der"), der)
	m, _ := xmldsig.MethodByName(algorithm)
	for i := range perAlgorithm {
		signing := s.signing(algorithm, tokens[i%len(tokens)])
		digest := xmldsig.Digests[i%len(xmldsig.Digests)]
		signing.Digest = digest.Hash
		o.write(filepath.Join(folder, fmt.Sprintf("ours-%d.xml", i)), signRandom(t, r, signing))
		wanted := strings.Join([]string{m.URI, digest.URI, pick(r, "", "p0 p1", "#default env", "q3 eb"), pick(r, "", "env S12 wsu", "p2")}, "|")
		text := fmt.Sprintf("<!--%s-->%s", wanted, randomEnvelope(r))
		o.write(filepath.Join(folder, fmt.Sprintf("theirs-%d.xml", i)), swap(t, []byte(text), "<eb:Messaging", fmt.Sprintf(`<s:Security xmlns:s="%s"/><eb:Messaging`, nsWSSE)))
	}
}

func verifyJava(t *testing.T, o tool, folder string, s signer) (n int) {
	t.Helper()
	for i := range perAlgorithm {
		text := o.read(filepath.Join(folder, fmt.Sprintf("signed-%d.xml", i)))
		m := parseMessage(t, text)
		report, err := m.verify(s.trust())
		if err != nil || !report.Covers(m.messaging) || !report.Covers(m.body) {
			t.Errorf("%s, %d: %v\n%s", folder, i, err, text)
			continue
		}
		n++
	}
	return n
}
