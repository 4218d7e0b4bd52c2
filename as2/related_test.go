package as2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/tame"
)

func memoryFile(name, contentType, content string) File {
	return File{Name: name, ContentType: contentType, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

// severalFiles are an order with what careless MIME code trips over.
func severalFiles() []File {
	return []File{
		memoryFile("order.edi", "application/edi-x12; charset=us-ascii", "ISA*00~\nIEA*1~\r\n\r\n"),
		memoryFile(`Zeichnung "März".pdf`, "application/pdf", "\r\n--edigw-1\r\n%PDF\x00\n--edigw-1--\r\n"),
		memoryFile("", "text/plain", ""),
	}
}

func composed(t *testing.T, files []File) (*Related, []byte) {
	t.Helper()
	r, err := NewRelated(files)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := r.WriteTo(&b)
	if err != nil || n != r.Size || int64(b.Len()) != r.Size {
		t.Fatalf("wrote %d, said %d, size %d: %v", n, b.Len(), r.Size, err)
	}
	return r, b.Bytes()
}

// TestSeveralFilesInOneDocument: RFC 6362; each arrives as it was, and the first
// is the root.
func TestSeveralFilesInOneDocument(t *testing.T) {
	t.Parallel()
	files := severalFiles()
	r, body := composed(t, files)
	_, params, err := rawmime.ParseMediaType(r.ContentType)
	if err != nil || params["type"] != "application/edi-x12" || !headerValue(r.ContentType) {
		t.Fatalf("Content-Type %q: %v", r.ContentType, err)
	}
	parts := rawmime.NewMultipart(bytes.NewReader(body), params["boundary"], len(files))
	for i, f := range files {
		next, err := parts.Next()
		if err != nil {
			t.Fatal(err)
		}
		p, content, _, err := attached(next)
		if err != nil {
			t.Fatal(err)
		}
		original, _ := f.Open()
		want := readAllString(t, original, nil)
		if got := readAllString(t, content, nil); got != want || p.contentType != f.ContentType || p.fileName != tame.FileName(f.Name) {
			t.Errorf("file %d: %q of type %q, %q", i, p.fileName, p.contentType, got)
		}
	}
	if _, err := parts.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	var root strings.Builder
	if err := ReadRelated(bytes.NewReader(body), r.ContentType, &root); err != nil || root.String() != "ISA*00~\nIEA*1~\r\n\r\n" {
		t.Errorf("root %q, %v", root.String(), err)
	}
}

// TestSameFilesMakeTheSameDocument: a repeat must be recognised as one.
func TestSameFilesMakeTheSameDocument(t *testing.T) {
	t.Parallel()
	_, first := composed(t, severalFiles())
	if _, again := composed(t, severalFiles()); !bytes.Equal(first, again) {
		t.Error("the same files made another document")
	}
	other := severalFiles()
	other[1] = memoryFile("other.pdf", "application/pdf", "%PDF")
	r, second := composed(t, other)
	boundary, _, _ := RelatedBoundary(r.ContentType)
	if bytes.Contains(first, []byte(boundary)) || bytes.Equal(first, second) {
		t.Error("another file, the same boundary")
	}
	// A document may hold one that was made before, whole.
	nested := append(severalFiles(), memoryFile("before.mime", r.ContentType, string(second)))
	whole, body := composed(t, nested)
	if err := ReadRelated(bytes.NewReader(body), whole.ContentType, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestFilesThatMakeNoDocument(t *testing.T) {
	t.Parallel()
	longer := memoryFile("a", "text/plain", "abc")
	longer.Size = 2
	broken := memoryFile("a", "text/plain", "abc")
	broken.Open = func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(io.ErrClosedPipe)), nil }
	absent := broken
	absent.Open = func() (io.ReadCloser, error) { return nil, io.ErrClosedPipe }
	for name, tc := range map[string]struct {
		files []File
		want  error
	}{
		"none":          {nil, ErrRelated},
		"too many":      {make([]File, maxParts+1), ErrRelated},
		"no type":       {[]File{memoryFile("a", "", "x")}, ErrRelated},
		"broken type":   {[]File{memoryFile("a", "text/plain\r\nX: y", "x")}, ErrRelated},
		"quoted type":   {[]File{memoryFile("a", `text/"plain`, "x")}, ErrRelated},
		"changed since": {[]File{longer}, fault.ErrPayload},
		"unreadable":    {[]File{broken}, fault.ErrPayload},
		"absent":        {[]File{absent}, fault.ErrPayload},
	} {
		if _, err := NewRelated(tc.files); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadRelatedRefuses what a receiver could not take apart.
func TestReadRelatedRefuses(t *testing.T) {
	t.Parallel()
	part := "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n"
	for name, tc := range map[string]struct{ contentType, body string }{
		"one document":        {"application/edi-x12", "ISA"},
		"no boundary":         {"multipart/related", part + "--b--"},
		"boundary too long":   {"multipart/related; boundary=" + strings.Repeat("b", 71), ""},
		"boundary of umlauts": {`multipart/related; boundary="ü"`, ""},
		"boundary ends blank": {`multipart/related; boundary="b "`, ""},
		"another multipart":   {"multipart/mixed; boundary=b", part + "--b--"},
		"no part":             {"multipart/related; boundary=b", "nothing"},
		"closed at once":      {"multipart/related; boundary=b", "--b--\r\n"},
		"no end":              {"multipart/related; boundary=b", part},
		"header without end":  {"multipart/related; boundary=b", "--b\r\nContent-Type: " + strings.Repeat("x", maxPartHead) + "\r\n--b--"},
		"not base64":          {"multipart/related; boundary=b", "--b\r\nContent-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n!\r\n--b--"},
		"unknown encoding":    {"multipart/related; boundary=b", "--b\r\nContent-Type: a/b\r\nContent-Transfer-Encoding: zip\r\n\r\nx\r\n--b--"},
		"too many parts":      {"multipart/related; boundary=b", strings.Repeat(part, maxParts+1) + "--b--"},
	} {
		if err := ReadRelated(strings.NewReader(tc.body), tc.contentType, io.Discard); !errors.Is(err, ErrRelated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{"source": io.ErrClosedPipe, "destination": io.ErrShortWrite} {
		body, to := io.Reader(strings.NewReader(part+"--b--")), io.Discard
		if name == "source" {
			body = io.MultiReader(strings.NewReader(part), iotest.ErrReader(err))
		} else {
			to = failingWriter{err}
		}
		if got := ReadRelated(body, "multipart/related; boundary=b", to); !errors.Is(got, err) || errors.Is(got, ErrRelated) {
			t.Errorf("fault of the %s: %v", name, got)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestRootIsTheOneThatStartNames: RFC 2387 §3.2.
func TestRootIsTheOneThatStartNames(t *testing.T) {
	t.Parallel()
	body := "--b\r\nContent-Type: image/png\r\nContent-ID: <1@x>\r\n\r\npng\r\n" +
		"--b\r\nContent-Type: text/plain\r\nContent-ID: <2@x>\r\nContent-Transfer-Encoding: base64\r\n\r\nSVNB\r\n--b--\r\n"
	for start, want := range map[string]string{"": "png", "<1@x>": "png", "<2@x>": "ISA", "<3@x>": ""} {
		contentType := "multipart/related; boundary=b"
		if start != "" {
			contentType += fmt.Sprintf("; start=%q", start)
		}
		var root strings.Builder
		if err := ReadRelated(strings.NewReader(body), contentType, &root); err != nil || root.String() != want {
			t.Errorf("start %q: root %q, %v; want %q", start, root.String(), err, want)
		}
	}
}

// TestSeveralFilesThereAndBack sends them under every combination of layers.
func TestSeveralFilesThereAndBack(t *testing.T) {
	t.Parallel()
	related, body := composed(t, severalFiles())
	for _, compress := range []Compression{CompressNone, CompressBeforeSign, CompressAfterSign} {
		for _, encoding := range []TransferEncoding{Binary, Base64} {
			a := toNorthwind()
			a.Compress, a.TransferEncoding = compress, encoding
			d := orderDocument(body)
			d.ContentType = related.ContentType
			var wire bytes.Buffer
			r, err := Build(&wire, a, d, bytes.NewReader(body), testNow, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := "Content-Type: " + related.ContentType + "\r\nContent-Transfer-Encoding: binary\r\n\r\n"; r.Entity.Header != want {
				t.Errorf("part header %q, want %q", r.Entity.Header, want)
			}
			m := &memory{agreement: fromAcme()}
			res := serve(testHandler(t, m), wireRequest(t, r, wire.Bytes()))
			if ack, mdn := VerifyMDN(res.Header, readBody(t, res), []Rendition{r}, a); ack.Verdict != fault.AckTrusted || !ack.Positive {
				t.Fatalf("%s: %s", ack.Verdict, mdn.Problem)
			}
			got, payload := m.last(t)
			if !bytes.Equal(payload, body) || got.ContentType != related.ContentType {
				t.Errorf("%d bytes of type %q arrived", len(payload), got.ContentType)
			}
			var names []string
			for _, one := range got.Attachments {
				names = append(names, one.Name)
			}
			if diff := cmp.Diff([]string{"order.edi", "Zeichnung _März_.pdf", ""}, names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		}
	}
}
