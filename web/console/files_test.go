package console

import (
	"net/http"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
)

const relatedType = `multipart/related; type="application/edi-x12"; boundary=b1; start="<main>"`

// related is a document of two files, the second of which the first belongs to.
const related = "--b1\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"<b>drawing.pdf\"\r\n\r\n%PDF-1.7 drawing\r\n" +
	"--b1\r\nContent-Type: application/edi-x12\r\nContent-ID: <main>\r\nContent-Transfer-Encoding: base64\r\n\r\nSVNBKk1BSU5+\r\n--b1--\r\n"

// A document of several files is shown as its list of files and the one that
// matters, each to download.
func TestADocumentOfSeveralFilesIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", related, func(m *queue.Message) { m.Payload.ContentType = relatedType })
	path := "/messages/" + m.ID
	d.get(kim, path+"/document").want(http.StatusOK).says("Its files", "_b_drawing.pdf", "application/pdf", "16 bytes", "File 2, without a name shown below", "9 bytes", "Download it whole", "ISA*MAIN").
		holds(`href="`+path+`/payload?part=1"`, `href="`+path+`/payload?part=2"`).hides("%PDF", "--b1").lacks("<b>drawing")
	if got := d.get(kim, path+"/payload?part=2").want(http.StatusOK); got.body != "ISA*MAIN~" {
		t.Errorf("part 2 is %q", got.body)
	}
	d.get(viewer, path+"/payload?part=2").want(http.StatusForbidden)
	d.get(kim, path+"/payload?part=3").want(http.StatusNotFound).says("has 2 files")
	if views := d.events(queue.EventPayload); len(views) != 3 || views[1].Text != "file 2 of the document was downloaded" {
		t.Errorf("views %+v", views)
	}
	for name, c := range map[string]struct{ content, says string }{
		"broken": {"--b1\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!\r\n--b1--\r\n", "cannot be taken apart"}, "no end": {"--b1\r\n\r\nhello", "cannot be taken apart"},
	} {
		m := d.accept("northwind", c.content, func(m *queue.Message) { m.Payload.ContentType = relatedType })
		if page := d.get(kim, "/messages/"+m.ID+"/document").want(http.StatusOK).says(c.says, "It is shown as it came", "--b1"); strings.Contains(page.body, "Its files") {
			t.Errorf("%s: it lists files", name)
		}
	}
}

// Of a long document only the beginning is looked through.
func TestALongDocumentOfSeveralFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	long := "--b1\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat("line\n", filesBytes/5+1) + "\r\n--b1\r\n\r\nlast\r\n--b1--\r\n"
	m := d.accept("northwind", long, func(m *queue.Message) { m.Payload.ContentType = "multipart/related; boundary=b1" })
	d.get(kim, "/messages/"+m.ID+"/document").want(http.StatusOK).says("only its beginning was looked at", "over 67.1 MB").hides("cannot be taken apart")
	if got := d.get(kim, "/messages/"+m.ID+"/payload?part=2").want(http.StatusOK); got.body != "last" {
		t.Errorf("the last file is %.20q", got.body)
	}
}

// A document of several files is not edited as one text, and its letter says
// what to do instead.
func TestADocumentOfSeveralFilesIsNotEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", related, func(m *queue.Message) { m.Payload.ContentType = relatedType })
	m = d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonFormat, Note: "SE01 says 24"})
	d.get(kim, "/messages/"+m.ID).says("those are not edited by hand", "edigw send PARTNER FILE --attach FILE", "Replay …").lacks("/letters/l1/edit")
	d.get(kim, "/letters/l1/edit").want(http.StatusConflict).says("of several files in one", "Nothing was changed.")
	d.edit(kim, "l1", "ISA*NEW~", "sure", "yes", "reason", "corrected").want(http.StatusConflict).says("of several files in one")
	if got := d.message(m.ID); got.State != queue.Dead {
		t.Errorf("it is %s", got.State)
	}
}

// events are those of a type, oldest first.
func (d *desk) events(kind queue.EventType) (some []queue.Event) {
	d.t.Helper()
	all, err := d.store.Events(d.t.Context(), 0, 500)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range all {
		if e.Type == kind {
			some = append(some, e)
		}
	}
	return some
}
