package xmltree

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"
)

// capture reads a foreign message, from where its XML begins to where its envelope ends.
func capture(t *testing.T, parts ...string) []byte {
	t.Helper()
	data := testfixture.Foreign(t, parts...)
	if at := bytes.Index(data, []byte("<?xml")); at >= 0 {
		data = data[at:]
	}
	if at := bytes.LastIndex(data, []byte("nvelope>")); at >= 0 {
		data = data[:at+len("nvelope>")]
	}
	return data
}

const spaceDS = "http://www.w3.org/2000/09/xmldsig#"

// digests computes the digest of every element that a signature refers to, and
// tells where it is another one than the signature says.
func digests(t *testing.T, d *etree.Document) map[string]string {
	t.Helper()
	ids, duplicate := IDs(d.Root())
	if duplicate != "" {
		t.Fatalf("identifier %s occurs twice", duplicate)
	}
	got := map[string]string{}
	for _, info := range Find(d.Root(), func(e *etree.Element) bool { return Is(e, spaceDS, "SignedInfo") }) {
		for _, r := range Children(info, spaceDS, "Reference") {
			uri, _ := Attr(r, "", "URI")
			e := ids[strings.TrimPrefix(uri, "#")]
			if e == nil {
				continue // a MIME part
			}
			m := Method{}
			for _, list := range Find(r, func(e *etree.Element) bool { return e.Tag == "InclusiveNamespaces" }) {
				prefixes, _ := Attr(list, "", "PrefixList")
				m.Prefixes = strings.Fields(prefixes)
			}
			sum := sha256.New()
			if err := Canonical(sum, e, m); err != nil {
				t.Fatal(err)
			}
			said, is := Text(Children(r, spaceDS, "DigestValue")[0]), base64.StdEncoding.EncodeToString(sum.Sum(nil))
			got[e.Tag] = "ok"
			if said != is {
				got[e.Tag] = "says " + said[:8] + ", is " + is[:8]
			}
		}
	}
	return got
}

func TestDigestsOfForeignMessages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		"as4/receipts/helger.as4in": {"Messaging": "ok", "Body": "ok"},
		// The peer changed its header after signing it.
		"as4/receipts/dataport1.as4in":            {"Messaging": "says 1VP+i4Bo, is 6gEytSkL", "Body": "ok"},
		"hostile/as4/xml-attribute-newline.http":  {"Messaging": "ok", "Body": "ok"},
		"hostile/as4/xml-comment-in-partyid.http": {"Messaging": "ok", "Body": "ok"},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, digests(t, parse(t, string(capture(t, name))))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForeignMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"as4/envelopes/UserMessageWithCompressedPayload12.xml": ErrSyntax,
		"hostile/as4/xml-billion-laughs.http":                  ErrDTD,
		"hostile/as4/xml-xxe-file.http":                        ErrDTD,
		"hostile/as4/xml-xxe-parameter.http":                   ErrDTD,
		"hostile/as4/xml-dtd-harmless.http":                    ErrDTD,
		"hostile/as4/xml-depth-5000.http":                      ErrLimit,
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			_, err := Parse(capture(t, name), Limits{})
			if !errors.Is(err, want) {
				t.Errorf("got %v; want %v", err, want)
			}
			t.Log(err)
		})
	}
}

// A namespace name with a line break has a blank there, and is another name than
// the one that the sender meant.
func TestNamespaceWithALineBreakOfAForeignMessage(t *testing.T) {
	t.Parallel()
	d := parse(t, string(capture(t, "as4", "envelopes", "PullRequest12.xml")))
	var spaces []string
	for _, e := range Find(d.Root(), func(e *etree.Element) bool { return e.Tag == "Security" }) {
		spaces = append(spaces, strings.Join(strings.Fields(Space(e)), " "))
		if strings.ContainsAny(Space(e), "\r\n\t") || !strings.Contains(Space(e), " ") {
			t.Errorf("namespace %q", Space(e))
		}
	}
	if len(spaces) != 2 {
		t.Errorf("%d Security headers: %q", len(spaces), spaces)
	}
	parse(t, string(capture(t, "as4", "envelopes", "UserMessage12.xml")))
}
