package edi

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scan reports on a document written at once.
func scan(document string) Report {
	s := NewScanner()
	io.WriteString(s, document)
	return s.Close()
}

// sample returns a document of testdata/documents.
func sample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "documents", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// samples are the documents of testdata/documents and what they are.
var samples = map[string]Report{
	"x12-810-invoice.edi": {
		Kind: X12, Type: "810", Interchanges: 1, Production: true,
		References: []Reference{
			{"interchange", "000020931"}, {"sender", "ACMESUPPLY"}, {"receiver", "NORTHWIND"},
			{"group", "20931"}, {"invoice", "INV-20931"}, {"order", "4500012345"},
		},
		Identity: []string{"ZZ", "ACMESUPPLY", "ZZ", "NORTHWIND", "261130", "0429", "000020931", "P"},
	},
	"x12-850-order.edi": {
		Kind: X12, Type: "850", Interchanges: 1, Production: true,
		References: []Reference{
			{"interchange", "000000017"}, {"sender", "ACMESUPPLY"}, {"receiver", "NORTHWIND"},
			{"group", "17"}, {"order", "4500012345"},
		},
		Identity: []string{"ZZ", "ACMESUPPLY", "ZZ", "NORTHWIND", "261130", "0429", "000000017", "P"},
	},
	"edifact-invoic.edi": {
		Kind: EDIFACT, Type: "INVOIC", Interchanges: 1, Production: true,
		References: []Reference{
			{"interchange", "NW0000731"}, {"sender", "4012345000009"}, {"receiver", "4098765000007"},
			{"invoice", "INV-2026-0731"}, {"order", "4500067890"},
		},
		Identity: []string{"4012345000009:14", "4098765000007:14", "261130:0429", "NW0000731", ""},
	},
	"edifact-orders.edi": {
		Kind: EDIFACT, Type: "ORDERS", Interchanges: 1, Test: true,
		References: []Reference{
			{"interchange", "NW0000412"}, {"sender", "4012345000009"}, {"receiver", "4098765000007"},
			{"order", "4500067890"},
		},
		Identity: []string{"4012345000009:14", "4098765000007:14", "261130:0429", "NW0000412", "1"},
	},
	"ubl-invoice.xml": {
		Kind: UBL, Type: "Invoice",
		References: []Reference{
			{"invoice", "INV-2026-0732"}, {"order", "4500067891"},
			{"seller", "4012345000009"}, {"seller", "Acme Supply"}, {"seller", "DE123456789"}, {"seller", "Acme Supply GmbH"}, {"seller", "HRB 12345"},
			{"buyer", "4098765000007"}, {"buyer", "Northwind Retail GmbH"},
		},
		Identity: []string{"Invoice", "INV-2026-0732", "2026-11-30", "4012345000009"},
		Route: &Route{
			Namespace: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2", Root: "Invoice", Profile: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
			Customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
			Sender:        Endpoint{"0088", "4012345000009"}, Receiver: Endpoint{"0088", "4098765000007"}, Country: "DE",
		},
	},
	"cii-invoice.xml": {
		Kind: CII, Type: "CrossIndustryInvoice",
		References: []Reference{
			{"invoice", "INV-2026-0733"},
			{"seller", "4012345000009"}, {"seller", "Acme Supply GmbH"}, {"seller", "DE123456789"},
			{"buyer", "4098765000007"}, {"buyer", "Northwind Retail GmbH"}, {"order", "4500067892"},
		},
		Identity: []string{"CrossIndustryInvoice", "INV-2026-0733", "20261130", "4012345000009"},
		Route: &Route{
			Namespace: "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100", Root: "CrossIndustryInvoice",
			Customization: "urn:cen.eu:en16931:2017", Country: "DE",
		},
	},
}

func TestSampleDocumentsAreRecognised(t *testing.T) {
	t.Parallel()
	for name, want := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, scan(sample(t, name))); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestByteOrderMarkAndWhiteSpaceBeforeADocument(t *testing.T) {
	t.Parallel()
	for name, want := range samples {
		for _, before := range []string{"\ufeff", " \r\n\t\n", "\ufeff\r\n"} {
			if diff := cmp.Diff(want, scan(before+sample(t, name))); diff != "" {
				t.Errorf("%s behind %q (-want +got):\n%s", name, before, diff)
			}
		}
	}
}

func TestOtherContentIsUnknown(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", " \r\n", "I", "ISA", "ISABELLA sends her regards", "ISA-1 is a plane*of*sorts", "ISA*", "UNABLE to", "UNA-BOMBER'", "UNBELIEVABLE",
		"%PDF-1.7", "<3", "<<", "<hello world", "a <b>", "\xff\xfe<\x00", "PK\x03\x04", "{\"a\": 1}",
	} {
		if diff := cmp.Diff(Report{Kind: Unknown}, scan(content)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", content, diff)
		}
	}
}

func TestWriteAndCloseKeepTheirContract(t *testing.T) {
	t.Parallel()
	s := NewScanner()
	text := []byte(sample(t, "x12-850-order.edi"))
	if n, err := s.Write(text); n != len(text) || err != nil {
		t.Errorf("Write: %d, %v; want %d, nil", n, err, len(text))
	}
	clear(text) // the caller's slice is the caller's
	first := s.Close()
	if diff := cmp.Diff(samples["x12-850-order.edi"], first); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if n, err := s.Write([]byte("ISA*")); n != 4 || err != nil {
		t.Errorf("Write after Close: %d, %v; want 4, nil", n, err)
	}
	if diff := cmp.Diff(first, s.Close()); diff != "" {
		t.Errorf("second Close differs (-first +second):\n%s", diff)
	}
}

func TestReportDoesNotDependOnHowTheBytesAreCut(t *testing.T) {
	t.Parallel()
	var documents []string
	for name := range samples {
		documents = append(documents, sample(t, name))
	}
	slices.Sort(documents)
	documents = append(documents, strings.Join(documents, ""), twoInterchanges, "\ufeff"+binarySegment)
	rapid.Check(t, func(t *rapid.T) {
		document := []byte(rapid.SampledFrom(documents).Draw(t, "document"))
		// Damage reaches the faults too.
		for range rapid.IntRange(0, 3).Draw(t, "flips") {
			at := rapid.IntRange(0, len(document)-1).Draw(t, "at")
			document[at] = rapid.Byte().Draw(t, "byte")
		}
		document = document[:rapid.IntRange(0, len(document)).Draw(t, "length")]
		want := scan(string(document))

		s := NewScanner()
		size := rapid.SampledFrom([]int{1, 2, 3, 7, 64, 1000}).Draw(t, "size")
		for chunk := range slices.Chunk(document, size) {
			s.Write(chunk)
		}
		if diff := cmp.Diff(want, s.Close()); diff != "" {
			t.Fatalf("in pieces of %d (-whole +pieces):\n%s", size, diff)
		}
	})
}

func TestMemoryIsBoundedWhateverTheSize(t *testing.T) {
	line := "IT1*1*48*EA*12.5**UP*012345678905*VN*AC-1001~\n"
	for name, document := range map[string]struct {
		size             int
		before, repeated string
	}{
		"x12":          {50 << 20, strings.Join(strings.SplitAfter(x12Of("810", "BIG*20261130*INV-1"), "~\n")[:4], ""), line},
		"x12 messages": {8 << 20, strings.Join(strings.SplitAfter(x12Of("810"), "~\n")[:2], ""), "ST*810*0001~BIG*20261130*I~SE*3*0001~"},
		"one segment":  {8 << 20, strings.Join(strings.SplitAfter(x12Of("810"), "~\n")[:3], "") + "MSG*", strings.Repeat("x", 1000)},
		"edifact":      {8 << 20, "UNB+UNOC:3+A+B+261130:0429+1'UNH+1+INVOIC:D:96A:UN'", "LIN+1++4012345100013:EN'QTY+47:48:PCE'"},
		"ubl":          {50 << 20, `<Invoice xmlns="` + ublNamespace + `Invoice-2"><ID>1</ID><Attachment>`, strings.Repeat("QUJD", 1000)},
		"elements":     {8 << 20, `<Invoice xmlns="` + ublNamespace + `Invoice-2">`, `<a b="c" d="e">text &amp; more<f/></a>`},
		"unknown":      {50 << 20, "%PDF", line},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScanner()
			chunk := []byte(strings.Repeat(document.repeated, 1+(32<<10)/len(document.repeated)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			io.WriteString(s, document.before)
			for n := 0; n < document.size; n += len(chunk) {
				s.Write(chunk)
			}
			r := s.Close()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
				t.Errorf("%d bytes allocated for %d bytes of %s", got, document.size, r.Kind)
			}
			if r.Kind != Unknown && r.Problem == nil {
				t.Error("a document without an end has no problem")
			}
		})
	}
}

func TestReferencesAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("UNB+UNOC:3+A+B+261130:0429+1'UNH+1+ORDERS:D:96A:UN'")
	b.WriteString("RFF+ON:\x1b[31m  \u202e" + strings.Repeat("ä", 100) + "'")
	for i := range 100 {
		fmt.Fprintf(&b, "RFF+ON:%d'RFF+ON:%d'", i, i)
	}
	r := scan(b.String())
	if len(r.References) != maxReferences {
		t.Errorf("%d references, want %d", len(r.References), maxReferences)
	}
	if got, want := r.References[3].Value, "[31m  "+strings.Repeat("ä", 61); got != want {
		t.Errorf("reference %q, want %q", got, want)
	}
	if r.References[4].Value != "0" || r.References[5].Value != "1" {
		t.Errorf("references %v: repeated ones count once", r.References[4:6])
	}
}

func TestDerivedKey(t *testing.T) {
	t.Parallel()
	content := sha256.Sum256([]byte("content"))
	const digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
	for name, test := range map[string]struct {
		report Report
		want   string
	}{
		"x12":     {samples["x12-810-invoice.edi"], "x12:ZZ/ACMESUPPLY/ZZ/NORTHWIND/261130/0429/000020931/P"},
		"edifact": {samples["edifact-invoic.edi"], "edifact:4012345000009:14/4098765000007:14/261130:0429/NW0000731/"},
		"ubl":     {samples["ubl-invoice.xml"], "ubl:Invoice/INV-2026-0732/2026-11-30/4012345000009"},
		"cii":     {samples["cii-invoice.xml"], "cii:CrossIndustryInvoice/INV-2026-0733/20261130/4012345000009"},
		"content": {Report{Kind: Unknown}, "content:" + digest + "/a%20b%2Fc.pdf"},
		"several": {Report{Kind: X12, Interchanges: 2}, "content:" + digest + "/a%20b%2Fc.pdf"},
		"escaped": {Report{Kind: UBL, Identity: []string{"Invoice", "1/2", "50%", "ä"}}, "ubl:Invoice/1%2F2/50%25/%C3%A4"},
	} {
		if got := test.report.DerivedKey(content, "a b/c.pdf"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDerivedKeyIsShortPrintableAndDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 150)
	keys := map[string]string{}
	for _, identity := range [][]string{
		{"a", "b"}, {"a/b"}, {"a", "", "b"}, {"a", "b", ""}, {long, long}, {long + "/" + long}, {long, long, ""}, {"ä\x00\n", ""},
	} {
		key := Report{Kind: X12, Identity: identity}.DerivedKey([32]byte{}, "")
		if len(key) > maxKey || strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			t.Errorf("key %q of %q is longer than %d bytes or not printable", key, identity, maxKey)
		}
		if other, ok := keys[key]; ok {
			t.Errorf("%q and %s have the same key %q", identity, other, key)
		}
		keys[key] = fmt.Sprintf("%q", identity)
	}
	name := strings.Repeat("n", 500)
	a, b := Report{}.DerivedKey([32]byte{1}, name), Report{}.DerivedKey([32]byte{2}, name)
	if a == b || len(a) > maxKey || !strings.HasPrefix(a, "content:sha256:") {
		t.Errorf("keys %q and %q of two contents", a, b)
	}
}

func FuzzScanner(f *testing.F) {
	for name := range samples {
		f.Add([]byte(sample(f, name)))
	}
	f.Add([]byte(twoInterchanges))
	f.Add([]byte(binarySegment))
	f.Add([]byte("<!DOCTYPE a><a/>"))
	f.Add([]byte("<a b='&#65;'><![CDATA[x]]]]><!-- - --><?p?></a>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := scan(string(data))
		s := NewScanner()
		for i := range data {
			s.Write(data[i : i+1])
		}
		if diff := cmp.Diff(whole, s.Close()); diff != "" {
			t.Fatalf("byte by byte (-whole +bytes):\n%s", diff)
		}
		if len(whole.References) > maxReferences {
			t.Fatalf("%d references", len(whole.References))
		}
		for _, r := range whole.References {
			if r.Value == "" || len(r.Value) > maxValue || r.Value != clean([]byte(r.Value)) {
				t.Fatalf("reference %q", r)
			}
		}
		if p := whole.Problem; p != nil {
			if p.Position < 1 || len(p.Text) > 1000 || bytes.ContainsAny([]byte(p.Text), "\r\n\x00\x1b") {
				t.Fatalf("problem %+v", p)
			}
		}
		if key := whole.DerivedKey([32]byte{}, "f"); len(key) > maxKey {
			t.Fatalf("key of %d bytes", len(key))
		}
	})
}
