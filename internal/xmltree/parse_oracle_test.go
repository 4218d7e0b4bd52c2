package xmltree

import (
	"bytes"
	"edigw/internal/testfixture"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// spoiled is a random document with a few random changes.
func spoiled(number uint64) string {
	r := rand.New(rand.NewPCG(number, 5))
	text := madeDocument(number)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(text))
		n := min(r.IntN(12), len(text)-at)
		switch r.IntN(4) {
		case 0:
			text = text[:at] + text[at+n:]
		case 1:
			text = text[:at] + text[at:at+n] + text[at:]
		default:
			pieces := []string{
				"<", ">", "&", "\"", "'", "=", "/", ":", "!", "?", "-", "--", "]]>", "<!--", "-->", "<![CDATA[", "&#0;", "&#xD800;", "&#x1F;", "&#65", "&amp", "&nbsp;",
				" ", "\x1F", "\xFF", "\xED\xA0\x80", "\uFFFE", "1", "a", ".", "<?pi?>", "<?xml version='1.0'?>", "<!DOCTYPE a>", "xmlns:xml='urn:one'",
				" xmlns:xmlns='urn:one'", " xmlns:p=''", " a='' a=''", " p:a=''", "<a/>", "</a>", "<p:a/>", "<a:b:c/>", "<:a/>", "<a:/>", "<a:1/>", "·",
			}
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[at:]
		}
	}
	return text
}

// TestParseAgreesWithXmllint spoils documents: what Parse then still takes,
// libxml2 must take, and the other way round but for what Parse refuses on purpose.
func TestParseAgreesWithXmllint(t *testing.T) {
	t.Parallel()
	path := testfixture.Program(t, "xmllint")
	dir := t.TempDir()
	var names, texts []string
	for n := range uint64(madeDocuments) {
		names, texts = append(names, fmt.Sprintf("%04d.xml", n)), append(texts, spoiled(n))
		if err := os.WriteFile(filepath.Join(dir, names[n]), []byte(texts[n]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, append([]string{"--noout"}, names...)...)
	cmd.Dir = dir
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Run(); err == nil {
		t.Fatal("xmllint found nothing")
	}
	refused := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\d+\.xml):.*(error|warning) : (.*)`).FindAllStringSubmatch(complaints.String(), -1) {
		// What is no matter of well-formedness: URIs, and the values of xml:space.
		if !strings.Contains(m[3], "valid URI") && !strings.Contains(m[3], "not absolute") && !strings.Contains(m[3], "for xml:space") {
			refused[m[1]] = m[3]
		}
	}
	both, onlyOurs := 0, 0
	for i, name := range names {
		_, err := Parse([]byte(texts[i]), Limits{})
		theirs := refused[name]
		switch {
		case err == nil && theirs == "":
			both++
		case err == nil:
			t.Errorf("taken, but xmllint: %s\n%q", theirs, texts[i])
		case theirs == "" && errors.Is(err, ErrSyntax):
			onlyOurs++
			t.Errorf("xmllint takes it, but: %v\n%q", err, texts[i])
		}
	}
	t.Logf("%d spoiled documents: both take %d, xmllint alone takes %d", len(names), both, onlyOurs)
	if both < 100 {
		t.Errorf("only %d documents are still taken", both)
	}
}
