package web

import (
	"net/http"
	"strings"
	"testing"

	"edigw/access"
	"edigw/queue"
	"edigw/store/spool"
)

// related is a document of three files, the last in base64 and without a name.
const related = "--b1\r\nContent-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=order.x12\r\n\r\nISA*00*~\r\n" +
	"--b1\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"../drawing.pdf\"\r\n\r\n%PDF-\r\n" +
	"--b1\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n--b1--\r\n"

// document keeps a document of a type.
func (b *bench) document(content, contentType string) queue.Message {
	b.t.Helper()
	w, err := b.spool.Create(spool.Payload, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write([]byte(content)); err != nil {
		b.t.Fatal(err)
	}
	name, size, err := w.Commit()
	if err != nil {
		b.t.Fatal(err)
	}
	b.n++
	m := queue.Message{ID: "d" + name[:12], Partner: "northwind", Lane: "northwind", Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: name, State: queue.Queued, Accepted: now,
		NextAt: now, Payload: queue.Payload{SHA256: name, Size: size, FileName: "order.mime", ContentType: contentType}}
	if err := b.store.Record(b.t.Context(), &queue.Result{Message: &m}); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func TestOneFileOfADocumentOfSeveral(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.document(related, "multipart/related; boundary=b1")
	path := "/messages/" + m.ID + "/payload"
	for part, want := range map[string]struct{ content, name string }{
		"1": {"ISA*00*~", "order.x12"}, "2": {"%PDF-", "drawing.pdf"}, "3": {"hello", m.ID + "-part-3"},
	} {
		got := b.as(access.Read, http.MethodGet, Base+path+"?part="+part, "").want(http.StatusOK)
		if string(got.body) != want.content {
			t.Errorf("part %s is %q", part, got.body)
		}
		if d := got.header.Get("Content-Disposition"); !strings.HasSuffix(d, "filename="+want.name) || strings.Contains(d, "..") {
			t.Errorf("part %s is called %s", part, d)
		}
		if got.header.Get("Content-Security-Policy") == "" || got.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("part %s: header %v", part, got.header)
		}
	}
	if whole := b.get(path).want(http.StatusOK); string(whole.body) != related {
		t.Errorf("whole it is %q", whole.body)
	}
	if p := b.get(path + "?part=4").problem(NotFound); !strings.Contains(p.Detail, "3 files") {
		t.Errorf("detail %q", p.Detail)
	}
	for _, wrong := range []string{"0", "-1", "two", "99999999999999999999"} {
		b.get(path + "?part=" + wrong).problem(BadRequest)
	}
	b.get("/messages/" + b.document("one file", "text/plain").ID + "/payload?part=1").problem(NotFound)
	broken := b.document("--b1\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!\r\n--b1--\r\n", "multipart/related; boundary=b1")
	b.get("/messages/" + broken.ID + "/payload?part=1").problem(Conflict)
	b.get("/messages/" + b.document("no multipart", "multipart/related").ID + "/payload?part=1").problem(Conflict)
	var audit list[event]
	b.get("/audit").json(&audit)
	n := 0
	for _, e := range audit.Items {
		if e.Type == string(queue.EventPayload) && e.Message == m.ID && strings.HasPrefix(e.Text, "file ") {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d views of files are in the audit: %+v", n, audit.Items)
	}
}
