package inbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/as2"
	"edigw/queue"
)

const invoiceXML = `<?xml version="1.0"?><Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID xmlns="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">INV-7</ID></Invoice>`

// piece is a part of a document: its header lines and its body as sent.
type piece struct{ header, body string }

func related(pieces ...piece) string {
	var b strings.Builder
	b.WriteString("preamble\r\n")
	for _, p := range pieces {
		b.WriteString("--b\r\n" + p.header + "\r\n" + p.body + "\r\n")
	}
	b.WriteString("--b--\r\n")
	return b.String()
}

// several is a message whose document is of several files.
func several(content, wire string) as2.Received {
	r := message("<"+wire+"@n.example>", content, wire)
	r.ContentType, r.FileName = `multipart/related; type="application/edi-x12"; boundary=b`, ""
	return r
}

func fourFiles() string {
	return related(
		piece{"Content-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=\"order.x12\"\r\n", order},
		piece{"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"../../drawing.pdf\"\r\n", base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 drawing"))},
		piece{"Content-Type: application/xml\r\n", invoiceXML},
		piece{"Content-Type: multipart/mixed; boundary=c\r\nContent-Disposition: attachment; filename=\"order.x12\"\r\n", "--c\r\n\r\nx\r\n--c--\r\n"},
	)
}

// filesOf is what fourFiles makes in the folder.
var filesOf = map[string]string{
	"order.x12": order, "drawing.pdf": "%PDF-1.7 drawing", "part-3.xml": invoiceXML, "order-4.x12": "--c\r\n\r\nx\r\n--c--\r\n",
}

// lies reads the facts beside a file.
func (h *house) lies(name string) (p placed) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.read("2026-12-01/"+name+factsSuffix)), &p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// wantFiles compares all that lies in the partner's folder with what should.
func (h *house) wantFiles(want map[string]string) {
	h.t.Helper()
	names := map[string]bool{}
	for name, content := range want {
		names["2026-12-01/"+name], names["2026-12-01/"+name+factsSuffix] = true, true
		if got := h.read("2026-12-01/" + name); got != content {
			h.t.Errorf("%s is %q, want %q", name, got, content)
		}
	}
	got := map[string]bool{}
	for _, name := range h.tree() {
		got[name] = true
	}
	if diff := cmp.Diff(names, got); diff != "" {
		h.t.Errorf("files differ:\n%s", diff)
	}
}

func TestEachPartIsAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.receive(several(fourFiles(), "wire-1"))
	h.wantFiles(filesOf)
	m := h.messages(queue.In)[0]
	if m.State != queue.Delivered || m.Detail != "in the inbox folder: 2026-12-01/order.x12 and 3 more of its files" {
		t.Errorf("the message is %s: %s", m.State, m.Detail)
	}
	all := []string{"order.x12", "drawing.pdf", "part-3.xml", "order-4.x12"}
	types := []string{"application/edi-x12", "application/pdf", "application/xml", "multipart/mixed; boundary=c"}
	kinds := []string{"x12", "unknown", "ubl", "unknown"}
	for i, name := range all {
		p := h.lies(name)
		if p.ID != m.ID || p.MessageID != m.MessageID || p.Part != i+1 || p.Note != "" || !p.Signed {
			t.Errorf("facts of %s: %+v", name, p)
		}
		if p.Size != int64(len(filesOf[name])) || p.SHA256 != digest(filesOf[name]) || p.ContentType != types[i] || p.Kind != kinds[i] {
			t.Errorf("%s is told as %d bytes, %s, %q, %q", name, p.Size, p.SHA256, p.ContentType, p.Kind)
		}
		if diff := cmp.Diff(all, p.Files); diff != "" {
			t.Errorf("%s names other files:\n%s", name, diff)
		}
	}
	if p := h.lies("part-3.xml"); len(p.References) == 0 || p.References[0].Value != "INV-7" {
		t.Errorf("references of the invoice: %+v", p.References)
	}
}

// On a file system without case the second of two such names would replace the
// first.
func TestPartsDifferInMoreThanCase(t *testing.T) {
	t.Parallel()
	h := open(t)
	part := func(name string) piece {
		return piece{"Content-Disposition: attachment; filename=\"" + name + "\"\r\n", name}
	}
	h.receive(several(related(part("Order.x12"), part("order.X12"), part("ORDER.X12.JSON"), part("order.x12.json")), "wire-1"))
	h.wantFiles(map[string]string{"Order.x12": "Order.x12", "order-2.X12": "order.X12", "ORDER.X12-3.JSON": "ORDER.X12.JSON", "order.x12-4.json": "order.x12.json"})
}

// Names are unlike each other and unlike what lies there; facts count too.
func TestPartsOverwriteNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	day := filepath.Join(h.Dir, "northwind", "2026-12-01")
	h.mine("b")
	part := func(name, body string) piece {
		return piece{"Content-Disposition: attachment; filename=\"" + name + "\"\r\n", body}
	}
	h.receive(several(related(part("a", "1"), part("a.json", "2"), part("b", "3"), part("a-2.json", "4"), part("a", "5"), part("a.json.json", "6")), "wire-1"))
	short := queue.Short(h.messages(queue.In)[0].ID)
	want := map[string]string{"a": "1", "a-2.json": "2", "b~" + short: "3", "a-2-4.json": "4", "a-5": "5", "a.json.json": "6"}
	if got := h.read("2026-12-01/b"); got != "mine" {
		t.Errorf("b is %q", got)
	}
	h.must(os.Remove(filepath.Join(day, "b")))
	h.wantFiles(want)
	if files := h.lies("a").Files; len(files) != 6 || files[2] != "b~"+short {
		t.Errorf("files are %v", files)
	}
}

func TestWhatCannotBeTakenApartLiesThereAsOneFile(t *testing.T) {
	t.Parallel()
	good := piece{"Content-Type: text/plain\r\n", "text"}
	many := make([]piece, 501)
	for i := range many {
		many[i] = good
	}
	for name, content := range map[string]string{
		"no end":              strings.TrimSuffix(related(good, good), "--b--\r\n"),
		"no part":             "--b--\r\n",
		"no boundary in it":   "nothing of the kind",
		"bad base64":          related(good, piece{"Content-Transfer-Encoding: base64\r\n", "****"}),
		"unknown encoding":    related(good, piece{"Content-Transfer-Encoding: uuencode\r\n", "x"}),
		"a header that is no": related(good, piece{"no header\r\n", "x"}),
		"too many parts":      related(many...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.receive(several(content, "wire-1"))
			m := h.messages(queue.In)[0]
			document := "document-" + queue.Short(m.ID) + ".bin"
			h.wantFiles(map[string]string{document: content})
			p := h.lies(document)
			if !strings.HasPrefix(p.Note, "it lies here as one file: ") || p.Part != 0 || p.SHA256 != digest(content) || m.State != queue.Delivered {
				t.Errorf("state %s, facts %+v", m.State, p)
			}
		})
	}
}

// unplaced receives a document of four files that is not handed on, beside a
// plain one of another name.
func (h *house) unplaced() []*parcel {
	h.t.Helper()
	h.bar()
	h.receive(several(fourFiles(), "wire-1"))
	plain := message("<2@n.example>", order, "wire-2")
	plain.FileName = "plain.x12"
	h.receive(plain)
	h.unbar()
	var all []*parcel
	for _, m := range h.messages(queue.In) {
		p, err := h.parcel(context.Background(), m, nil)
		h.must(err)
		all = append(all, p)
	}
	return all
}

// wantBoth sweeps as the next process does, and finds each file once; taken are
// names that others have.
func (h *house) wantBoth(taken ...string) {
	h.t.Helper()
	h.restart(h.Dir)
	h.sweep()
	short := queue.Short(h.messages(queue.In)[0].ID)
	want, files := map[string]string{"plain.x12": order}, []string{}
	for _, name := range []string{"order.x12", "drawing.pdf", "part-3.xml", "order-4.x12"} {
		content := filesOf[name]
		if slices.Contains(taken, name) {
			ext := filepath.Ext(name)
			name = strings.TrimSuffix(name, ext) + "~" + short + ext
		}
		want[name], files = content, append(files, name)
	}
	for _, name := range taken {
		if got := h.read("2026-12-01/" + name); got != "mine" {
			h.t.Errorf("%s was overwritten: %q", name, got)
		}
		h.must(os.Remove(filepath.Join(h.Dir, "northwind", "2026-12-01", name)))
	}
	h.wantFiles(want)
	for _, name := range files {
		if diff := cmp.Diff(files, h.lies(name).Files); diff != "" {
			h.t.Errorf("%s names other files:\n%s", name, diff)
		}
	}
	for _, m := range h.messages(queue.In) {
		if m.State != queue.Delivered {
			h.t.Errorf("state is %s", m.State)
		}
	}
}

// mine puts files of others into the folder.
func (h *house) mine(names ...string) {
	h.t.Helper()
	day := filepath.Join(h.Dir, "northwind", "2026-12-01")
	h.must(os.MkdirAll(day, 0o700))
	for _, name := range names {
		h.must(os.WriteFile(filepath.Join(day, name), []byte("mine"), 0o600))
	}
}

// A kill between two writes that are made durable leaves nothing twice and
// nothing half.
func TestKillWhilePartsAreWritten(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		h := open(t)
		all := h.unplaced()
		dead, left := errors.New("killed"), n
		h.flush = func(f *os.File) error {
			if left--; left < 0 {
				return dead
			}
			return f.Sync()
		}
		h.place(all)
		ended := all[0].err == nil && all[1].err == nil
		h.wantBoth()
		if ended {
			if n < 10 {
				t.Errorf("only %d writes were made durable", n)
			}
			return
		}
	}
}

// The same between two renames: facts first, each in the order of the document.
func TestKillWhilePartsGetTheirNames(t *testing.T) {
	t.Parallel()
	for _, taken := range [][]string{nil, {"order.x12", "drawing.pdf"}} {
		for n := range 9 {
			t.Run(fmt.Sprint(len(taken), "/", n), func(t *testing.T) {
				t.Parallel()
				h := open(t)
				all := h.unplaced()
				h.mine(taken...)
				h.place(all)
				var renames [][2]string // from, to
				for _, one := range all[0].parts {
					renames = append(renames, [2]string{one.hiddenFacts(), one.name + factsSuffix})
				}
				for _, one := range all[0].parts {
					renames = append(renames, [2]string{one.document(), one.name})
				}
				day := filepath.Join(h.Dir, "northwind", "2026-12-01")
				for _, r := range renames[n:] {
					h.must(os.Rename(filepath.Join(day, r[1]), filepath.Join(day, r[0])))
				}
				h.wantBoth(taken...)
			})
		}
	}
}

// Facts of the whole document, which an earlier version put there, are not those
// of its part of that name.
func TestFactsOfTheWholeAreNotThoseOfAPart(t *testing.T) {
	t.Parallel()
	h := open(t)
	all := h.unplaced()
	h.mine()
	whole, err := json.Marshal(all[0].facts)
	h.must(err)
	h.must(os.WriteFile(filepath.Join(h.Dir, "northwind", "2026-12-01", "order.x12.json"), whole, 0o600))
	h.restart(h.Dir)
	h.sweep()
	if name := "order~" + queue.Short(all[0].message.ID) + ".x12"; h.read("2026-12-01/"+name) != order || h.lies(name).Part != 1 {
		t.Errorf("files are %v", h.tree())
	}
}

// While the first parts had their names, another document took the name of one
// that had not: it gets another, and all facts say so.
func TestNameOfAPartIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	h := open(t)
	all := h.unplaced()
	h.place(all)
	h.mine("drawing.pdf", "drawing.pdf.json")
	h.restart(h.Dir)
	h.sweep()
	other := "drawing~" + queue.Short(all[0].message.ID) + ".pdf"
	if got := h.read("2026-12-01/" + other); got != filesOf["drawing.pdf"] || h.read("2026-12-01/drawing.pdf") != "mine" {
		t.Errorf("%s is %q", other, got)
	}
	for _, name := range []string{"order.x12", other, "part-3.xml", "order-4.x12"} {
		if diff := cmp.Diff([]string{"order.x12", other, "part-3.xml", "order-4.x12"}, h.lies(name).Files); diff != "" {
			t.Errorf("%s names other files:\n%s", name, diff)
		}
	}
}

// Whoever fetched the first part before the gateway came back does not get it
// again, as long as its facts lie there.
func TestFetchedPartIsNotPlacedAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.place(h.unplaced())
	h.must(os.Remove(filepath.Join(h.Dir, "northwind", "2026-12-01", "drawing.pdf")))
	h.restart(h.Dir)
	h.sweep()
	for _, name := range h.tree() {
		if name == "2026-12-01/drawing.pdf" || strings.Contains(name, ".tmp~") {
			t.Errorf("%s lies there", name)
		}
	}
}

// TestPartWithoutANameIsNamedByWhatItIs: its content counts more than its type.
func TestPartWithoutANameIsNamedByWhatItIs(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Facts{
		"part-1.pdf": {ContentType: "application/pdf"}, "part-1.txt": {ContentType: "Text/Plain; charset=utf-8"}, "part-1.xml": {ContentType: "text/xml"},
		"part-1.edi": {ContentType: "application/edifact"}, "part-1.png": {ContentType: "image/png"}, "part-1.jpg": {ContentType: "image/jpeg"},
		"part-1.csv": {ContentType: "text/csv"}, "part-1.json": {ContentType: "application/json"}, "part-1.zip": {ContentType: "application/zip", Kind: "unknown"},
		"part-1.bin": {ContentType: "application/octet-stream"}, "part-1.x12": {ContentType: "text/plain", Kind: "x12"}, "scan.tif": {ContentType: "image/png", FileName: "scan.tif"},
	} {
		if got := partName(f, 1); got != want {
			t.Errorf("%q (%q) is named %s, want %s", f.ContentType, f.Kind, got, want)
		}
	}
	if got := partName(Facts{ContentType: "no type"}, 2); got != "part-2.bin" {
		t.Errorf("without a type: %s", got)
	}
}
