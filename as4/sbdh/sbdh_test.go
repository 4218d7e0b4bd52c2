package sbdh

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var header = Header{
	Sender: ID{SchemeParticipant, "0088:4012345000009"}, Receiver: ID{SchemeParticipant, "0088:4098765000007"},
	Document: DocumentType("urn:oasis:names:specification:ubl:schema:xsd:Invoice-2", "Invoice", "urn:cen.eu:en16931:2017#compliant#urn:x<&>", "2.1"),
	Process:  ID{SchemeProcess, "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"}, Country: "DE",
	Standard: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2", TypeVersion: "2.1", Type: "Invoice",
	Instance: "abc@acme.example", Created: time.Date(2026, 11, 30, 4, 29, 0, 0, time.UTC),
}

func wrap(t testing.TB, h Header, document string) []byte {
	t.Helper()
	r, size, err := Wrap(h, strings.NewReader(document), int64(len(document)))
	if err != nil {
		t.Fatal(err)
	}
	all := mustRead(t, r)
	_, _ = r.Seek(0, io.SeekStart)
	if err := iotest.TestReader(r, all); err != nil {
		t.Error(err)
	}
	if int64(len(all)) != size {
		t.Errorf("%d bytes, said were %d", len(all), size)
	}
	return all
}

func mustRead(t testing.TB, r io.Reader) []byte {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWrappedComesOutAsItWas: the header says what it was given, the document is
// the same but for its declaration, and another product reads the whole.
func TestWrappedComesOutAsItWas(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "documents", "ubl-invoice.xml"))
	if err != nil {
		t.Fatal(err)
	}
	_, plain, _ := strings.Cut(string(sample), "?>")
	for name, c := range map[string]struct{ document, want string }{
		"sample":               {string(sample), strings.TrimSpace(plain) + "\n"},
		"byte order mark":      {"\ufeff<?xml version='1.0' encoding='utf-8' standalone='yes'?><Invoice xmlns='urn:i'/>", "<Invoice xmlns='urn:i'/>"},
		"no declaration":       {"<a><!-- </sh:StandardBusinessDocument> --></a>", "<a><!-- </sh:StandardBusinessDocument> --></a>"},
		"no namespace":         {"<?xml version=\"1.0\"?>\n<Order><ID>1</ID></Order>\n", "<Order><ID>1</ID></Order>\n"},
		"comments around":      {"<!-- a --><b></b><!-- c -->", "<b></b><!-- c -->"},
		"not a declaration":    {"<?xml-model href='x'?><b></b>", "<b></b>"},
		"longer than any tail": {"<b>" + strings.Repeat("ä", 100_000) + "</b>", "<b>" + strings.Repeat("ä", 100_000) + "</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := wrap(t, header, c.document)
			f, err := Read(bytes.NewReader(all))
			if err != nil || f == nil {
				t.Fatal(f, err)
			}
			if diff := cmp.Diff(header, f.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			inside, size, err := f.Inside(bytes.NewReader(all), int64(len(all)))
			if err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, inside)
			if string(got) != c.want || int64(len(got)) != size {
				t.Errorf("%d bytes, said were %d:\n%.300q, want\n%.300q", len(got), size, got, c.want)
			}
			read(t, all)
		})
	}
}

// read has libxml2 read what was written.
func read(t *testing.T, document []byte) {
	t.Helper()
	tool, err := exec.LookPath("xmllint")
	if err != nil {
		if os.Getenv("EDIGW_REQUIRE") == "all" {
			t.Fatal(err)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), tool, "--noout", "--nonet", "-")
	cmd.Stdin = bytes.NewReader(document)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%s", err, out)
	}
}

// TestWhatCannotBeWrapped: it would be unreadable, or say something else.
func TestWhatCannotBeWrapped(t *testing.T) {
	t.Parallel()
	lacking := header
	lacking.Process = ID{}
	for name, c := range map[string]struct {
		h              Header
		document, want string
	}{
		"another encoding":     {header, `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`, `declares the encoding "ISO-8859-1"`},
		"UTF-16":               {header, "\xff\xfe<\x00a\x00", "UTF-16"},
		"UTF-16 without mark":  {header, "<\x00a\x00/\x00>\x00", "UTF-16"},
		"endless declaration":  {header, `<?xml version="1.0" `, "no end"},
		"an incomplete header": {lacking, "<a/>", "no process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Wrap(c.h, strings.NewReader(c.document), int64(len(c.document)))
			if !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := Wrap(header, strings.NewReader("<a/>"), 5); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("shorter than was said: %v", err)
	}
}

const foreign = `<?xml version="1.0"?><ns0:StandardBusinessDocument xmlns:ns0="` + Namespace + `" xmlns="urn:i" xmlns:c="urn:c&amp;1">
<ns0:StandardBusinessDocumentHeader><ns0:Sender><ns0:Identifier Authority="iso6523-actorid-upis"> 0088:1 </ns0:Identifier></ns0:Sender>
<ns0:BusinessScope><ns0:Scope><ns0:Type>DOCUMENTID</ns0:Type><ns0:InstanceIdentifier>urn:d</ns0:InstanceIdentifier></ns0:Scope></ns0:BusinessScope>
</ns0:StandardBusinessDocumentHeader >
<!-- x --><Invoice a=">"><c:ID>1</c:ID></Invoice></ns0:StandardBusinessDocument ><!-- behind -->`

// TestForeignWrappers: prefixes that only the wrapper declares move inside.
func TestForeignWrappers(t *testing.T) {
	t.Parallel()
	f, err := Read(strings.NewReader(foreign))
	if err != nil {
		t.Fatal(err)
	}
	want := Header{Sender: ID{SchemeParticipant, "0088:1"}, Document: ID{SchemeDocument, "urn:d"}}
	if diff := cmp.Diff(want, f.Header); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	inside, _, err := f.Inside(strings.NewReader(foreign), int64(len(foreign)))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(mustRead(t, inside)); got != `<Invoice xmlns="urn:i" xmlns:c="urn:c&amp;1" a=">"><c:ID>1</c:ID></Invoice>` {
		t.Error(got)
	}
}

func TestWhatIsNoStandardBusinessDocument(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "ISA*00*", "<Invoice/>", "<!-- StandardBusinessDocument --><a>", "<StandardBusinessDocumentX>", "<x:Other>", "<"} {
		if f, err := Read(strings.NewReader(document)); f != nil || err != nil {
			t.Errorf("%q: %v, %v", document, f, err)
		}
	}
	for document, want := range map[string]string{
		"<StandardBusinessDocument>": "no end",
		"<StandardBusinessDocument><StandardBusinessDocumentHeader></StandardBusinessDocumentHeader>":        "0 headers",
		"<!DOCTYPE x><StandardBusinessDocument>":                                                             "",
		"<x:StandardBusinessDocument><StandardBusinessDocumentHeader></StandardBusinessDocumentHeader>":      "not declared",
		"<StandardBusinessDocument><!-- </StandardBusinessDocumentHeader>":                                   "not well-formed",
		"<StandardBusinessDocument>" + strings.Repeat("<a/>", maxHead) + "</StandardBusinessDocumentHeader>": "no end",
	} {
		f, err := Read(strings.NewReader(document))
		if want == "" {
			if f != nil || err != nil {
				t.Errorf("%q: %v, %v", document, f, err)
			}
		} else if !errors.Is(err, ErrHeader) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90q: %v, want %q", document, err, want)
		}
	}
}

// TestDocumentsWithoutAnEnd: what is cut off is not handed on as a document.
func TestDocumentsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f, err := Read(strings.NewReader(foreign))
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{int(f.end), int(f.end) + 3, strings.Index(foreign, "<Invoice") + 9, strings.Index(foreign, "</Invoice")} {
		if _, _, err := f.Inside(strings.NewReader(foreign[:cut]), int64(cut)); !errors.Is(err, ErrHeader) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ID{
		"0088:1":                     {SchemeParticipant, "0088:1"},
		"iso6523-actorid-upis::9:a":  {SchemeParticipant, "9:a"},
		"urn:a::b##c::2.1":           {SchemeParticipant, "urn:a::b##c::2.1"},
		"busdox-docid-qns::urn:a::b": {SchemeDocument, "urn:a::b"},
		"::x":                        {SchemeParticipant, "::x"},
	} {
		if got := ParseID(text, SchemeParticipant); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte("\ufeff<?xml version='1.0'?><StandardBusinessDocument xmlns='" + Namespace + "'><StandardBusinessDocumentHeader></StandardBusinessDocumentHeader><a/></StandardBusinessDocument>"))
	f.Fuzz(func(t *testing.T, document []byte) {
		found, err := Read(bytes.NewReader(document))
		if found == nil || err != nil {
			return
		}
		inside, size, err := found.Inside(bytes.NewReader(document), int64(len(document)))
		if err != nil {
			return
		}
		if got := mustRead(t, inside); int64(len(got)) != size || got[0] != '<' {
			t.Errorf("%d bytes, said were %d: %q", len(got), size, got)
		}
	})
}

// FuzzParseID: nothing of the text gets lost, and what is written is read as the
// same identifier.
func FuzzParseID(f *testing.F) {
	for _, text := range []string{"0088:1", "iso6523-actorid-upis::9:a", "urn:a::b##c::2.1", "::x", "a::"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := ParseID(text, SchemeParticipant)
		if written := id.String(); written != text && written != SchemeParticipant+"::"+text {
			t.Errorf("%q became %q", text, written)
		}
		if again := ParseID(id.String(), SchemeDocument); again != id {
			t.Errorf("%v, read again: %v", id, again)
		}
	})
}
