package wssec

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/xmltree"

	"edigw/internal/testfixture"
	"github.com/beevik/etree"
)

// jars are what Apache Santuario 2 needs, as Debian's libxml-security-java
// installs it.
const jars = "/usr/share/java"

// santuario answers cases with testdata/Santuario.java, all in one process.
func santuario(t *testing.T, o tool, cases []string) []string {
	t.Helper()
	path := []string{"."}
	for _, jar := range []string{"xmlsec.jar", "slf4j-api.jar", "commons-codec.jar"} {
		if _, err := os.Stat(filepath.Join(jars, jar)); err != nil {
			testfixture.Missing(t, "Apache Santuario: "+jar)
		}
		path = append(path, filepath.Join(jars, jar))
	}
	source, err := filepath.Abs("testdata/Santuario.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := strings.Join(path, ":")
	o.run("javac", "-cp", classes, "-d", ".", source)
	cmd := exec.Command("java", "-cp", classes, "Santuario")
	cmd.Dir = o.dir
	cmd.Stdin = strings.NewReader(strings.Join(cases, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(answers) != len(cases) {
		t.Fatalf("%d answers to %d cases: %v\n%s", len(answers), len(cases), err, &stderr)
	}
	return answers
}

// santuarioCase is a question to Santuario and what its answer must be.
type santuarioCase struct {
	question string
	check    func(words []string) error
}

// TestSantuario exchanges every pair of OAEP with it, both ways, the ciphers by
// turns. Santuario 2 knows no mask by SHA-224, and takes SHA-1 in its place
// without a word: openssl stands in for that (TestOpenSSLTransports).
func TestSantuario(t *testing.T) {
	t.Parallel()
	o, h := newTool(t, "java", "javac"), rsaHolder()
	der, err := x509.MarshalPKCS8PrivateKey(h.key)
	if err != nil {
		t.Fatal(err)
	}
	o.write("ours.key", der)
	o.write("ours.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.cert.Raw}))
	reads, writes := santuarioReads(t, o, h), santuarioWrites(t, o, h)
	cases := append(reads, writes...)
	var questions []string
	for _, c := range cases {
		questions = append(questions, c.question)
	}
	for i, answer := range santuario(t, o, questions) {
		words := strings.Split(answer, " ")
		if words[0] != "ok" {
			t.Errorf("%s: %.300s", questions[i], answer)
		} else if err := cases[i].check(words[1:]); err != nil {
			t.Errorf("%s: %v", questions[i], err)
		}
	}
	t.Logf("Apache Santuario: %d messages of ours read by it, %d of its read by us", len(reads), len(writes))
}

// santuarioReads has it read what we wrote.
func santuarioReads(t *testing.T, o tool, h holder) (all []santuarioCase) {
	for _, tc := range transportCases() {
		if tc.to().cert != h.cert || tc.t.MGF == crypto.SHA224 {
			continue
		}
		n := len(all)
		c, content := dataCiphers[n%3], filler(n*4001+1)
		s := seal(t, Encrypting{Recipient: h.cert, Cipher: c.name, Transport: tc.t}, content)
		key := o.write(fmt.Sprintf("key%d", n), []byte(serialised(t, s.security.ChildElements()[0])))
		part := o.write(fmt.Sprintf("part%d", n), s.parts["0@x"])
		all = append(all, santuarioCase{strings.Join([]string{"read", "ours.key", key, c.uri, part}, " "), func(words []string) error {
			if len(words) != 1 || words[0] != encode(content) {
				return errors.New("it read something else")
			}
			return nil
		}})
	}
	return all
}

// santuarioWrites has it write what we read: what is left out, too, digest, mask
// or both, and a label.
func santuarioWrites(t *testing.T, o tool, h holder) (all []santuarioCase) {
	content := filler(70_000)
	o.write("content", content)
	add := func(transport, digest, mask, label string) {
		cipher := dataCiphers[len(all)%3].uri
		question := strings.Join([]string{"write", "ours.crt", transport, digest, mask, label, cipher, "content"}, " ")
		all = append(all, santuarioCase{question, func(words []string) error {
			if len(words) != 2 {
				return errors.New("it wrote something else")
			}
			plain, err := unseal(fromSantuario(t, h, cipher, words[0], words[1]), h.opener())
			if err == nil && !bytes.Equal(plain["0@x"], content) {
				err = errors.New("we read something else")
			}
			return err
		}})
	}
	for _, d := range append([]string{"-"}, digestURIs()...) {
		label := "-"
		if len(all)%2 == 0 {
			label = encode([]byte("label"))
		}
		add(methodOAEPMGF1P, d, "-", label)
		add(methodOAEP, d, "-", label)
		for _, m := range oaepHashes {
			if m.hash != crypto.SHA224 {
				add(methodOAEP, d, m.mgf, label)
			}
		}
	}
	return all
}

func digestURIs() (all []string) {
	for _, h := range oaepHashes {
		all = append(all, h.digest)
	}
	return all
}

// fromSantuario puts an EncryptedKey that says nothing of its recipient into a
// header, with the part that it opens.
func fromSantuario(t *testing.T, h holder, cipher, key, part string) sealed {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	bytesOfPart, err := base64.StdEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	ours := seal(t, Encrypting{Recipient: h.cert, Cipher: AES128GCM}, nil) // for the elements around
	ek := ours.security.ChildElements()[0]
	theirs := parseXML(t, string(text)).Root()
	theirs.CreateAttr("Id", ek.SelectAttrValue("Id", ""))
	theirs.InsertChildAt(1, xmltree.Children(ek, nsDS, "KeyInfo")[0])
	theirs.CreateAttr("xmlns:wsse", nsWSSE)
	theirs.CreateAttr("xmlns:ds", nsDS)
	ours.security.RemoveChild(ek)
	ours.security.AddChild(theirs)
	for _, e := range xmltree.Find(ours.security, func(e *etree.Element) bool { return e.Tag == "EncryptionMethod" && e.Parent().Tag == "EncryptedData" }) {
		e.CreateAttr("Algorithm", cipher)
	}
	return sealed{reread(t, ours.security), map[string][]byte{"0@x": bytesOfPart}}
}
