package demo

import (
	"bytes"
	"testing"

	"edigw/edi"
	"edigw/testdata/documents"
)

// TestCopiesAreOtherDocuments: another content, another derived key, and an
// envelope that is in order unless it is meant not to be.
func TestCopiesAreOtherDocuments(t *testing.T) {
	t.Parallel()
	f := &feed{}
	keys, contents := map[string]string{}, map[string]string{}
	for name, s := range map[string]sample{
		"x12 invoice": x12Invoice, "x12 order": x12Order, "edifact invoice": edifactInvoice, "edifact order": edifactOrder,
		"test order": testOrder, "ubl": ublInvoice, "cii": ciiInvoice, "broken": brokenInvoice,
	} {
		for range 3 {
			d, err := f.make(s, "northwind")
			if err != nil {
				t.Fatal(err)
			}
			scanner := edi.NewScanner()
			if _, err := scanner.Write(d.content); err != nil {
				t.Fatal(err)
			}
			r := scanner.Close()
			if broken := r.Problem != nil; broken != (name == "broken") {
				t.Errorf("%s: problem %+v", name, r.Problem)
			}
			if r.Test != (name == "test order") {
				t.Errorf("%s: marked as a test: %t", name, r.Test)
			}
			key := r.DerivedKey([32]byte{}, "")
			if r.Identity == nil || keys[key] != "" || contents[d.sha256] != "" {
				t.Errorf("%s: key %q or content is that of %q %q", name, key, keys[key], contents[d.sha256])
			}
			keys[key], contents[d.sha256] = name, name
			if !bytes.Contains(d.content, []byte(d.reference)) {
				t.Errorf("%s does not hold its reference %s", name, d.reference)
			}
		}
	}
}

// TestSamplesAreWhole: every sample names a document that is there, and every
// number of it stands in the document.
func TestSamplesAreWhole(t *testing.T) {
	t.Parallel()
	for _, s := range []sample{x12Invoice, x12Order, edifactInvoice, edifactOrder, testOrder, ublInvoice, ciiInvoice, brokenInvoice} {
		text, err := documents.Files.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		for old := range s.numbers {
			if !bytes.Contains(text, []byte(old)) {
				t.Errorf("%s does not hold %q", s.file, old)
			}
		}
	}
}

func TestCommandsOfTheDemoKnowNoOtherGateway(t *testing.T) {
	t.Parallel()
	got := without([]string{"PATH=/bin", "EDIGW_URL=http://other", "EDIGW_TOKEN=x", "HOME=/"}, "EDIGW_URL", "EDIGW_TOKEN")
	if len(got) != 2 || got[0] != "PATH=/bin" || got[1] != "HOME=/" {
		t.Errorf("environment: %v", got)
	}
}
