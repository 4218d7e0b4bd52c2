package console

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
	"edigw/store/spool"
)

// edit sends the form of an edit as a browser does: lines end in CR LF.
func (d *desk) edit(user, letter, text string, fields ...string) answer {
	d.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i, fields := 0, append(fields, "content", strings.ReplaceAll(text, "\n", "\r\n")); i+1 < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/letters/"+letter+"/edit", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return d.ask(user, r)
}

// content reads a document out of the spool.
func (d *desk) content(m queue.Message) string {
	d.t.Helper()
	f, err := d.spool.Open(spool.Payload, m.Payload.SHA256)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(content)
}

func TestADocumentIsEditedComparedAndSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	was, now := interchange("0001", "INV-1"), interchange("0001", "INV-1-CORRECTED")
	m := d.bury("northwind", was)
	path := "/letters/" + m.Letter + "/edit"
	d.get(kim, path).want(http.StatusOK).says("Edit 810 INV-1 to Northwind Retail DE", "INV-1~", "Line ends stay LF, characters UTF-8.")
	a := d.edit(kim, m.Letter, now).want(http.StatusOK).says("Send 810 INV-1 to Northwind Retail DE like this?", "− 4 BIG", "+ 4 BIG", "INV-1-CORRECTED", "Reason (required)")
	a.holds(`<tr class="del">`, `<tr class="add">`)
	if strings.Count(a.body, `<tr class="`) != 2 {
		t.Errorf("one changed line is shown as more: %s", a.text())
	}
	d.edit(kim, m.Letter, now, "sure", "yes").want(http.StatusOK).says("like this?") // no reason
	d.edit(kim, m.Letter, now, "back", "edit").want(http.StatusOK).says("Show what I changed", "INV-1-CORRECTED")
	if got := d.message(m.ID); got.State != queue.Dead {
		t.Fatalf("looking made it %s", got.State)
	}
	to := d.edit(kim, m.Letter, now, "sure", "yes", "reason", "wrong number").want(http.StatusSeeOther).header.Get("Location")
	next := d.message(strings.TrimPrefix(to, "/messages/"))
	if d.content(next) != now {
		t.Errorf("sent is %q, wanted %q", d.content(next), now)
	}
	if old := d.message(m.ID); old.State != queue.Superseded || next.Previous != m.ID || next.State != queue.Queued {
		t.Errorf("the old one is %s, the new one %+v", old.State, next)
	}
	d.get(kim, to).says("with your changes, as a new edition", "Made as a new edition by kim", "wrong number")
	d.get(kim, "/messages/"+m.ID).says("Replaced by edition "+next.ID+" by kim", "wrong number")
	d.get(kim, to+"/document").says("Compare with the earlier edition")
	d.get(kim, to+"/document?with="+m.ID).says("compared with the earlier edition", "INV-1-CORRECTED", "− 4 BIG")
	d.edit(kim, m.Letter, now, "sure", "yes", "reason", "twice").want(http.StatusConflict)
}

func TestAnEditThatCannotBeSentKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.bury("northwind", interchange("0001", "INV-1"))
	d.edit(kim, m.Letter, interchange("0001", "INV-1")).want(http.StatusOK).says("Nothing was changed yet.")
	broken := strings.Replace(interchange("0001", "INV-2"), "SE*4", "SE*9", 1)
	d.edit(kim, m.Letter, broken, "sure", "yes", "reason", "x").want(http.StatusBadRequest).says("Not sent: SE01 says 9", "nothing was changed").holds("INV-2~")
	if got := d.message(m.ID); got.State != queue.Dead {
		t.Errorf("it is %s", got.State)
	}
}

func TestAnEditOfWhatThePartnerMayHaveAsks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.exchange(d.accept("northwind", interchange("0001", "INV-1")), lost)
	m = d.step(m, queue.Input{Trigger: queue.OnFail, LetterID: "l1", Reason: fault.ReasonUnknownOutcome, Note: "no answer"})
	now := interchange("0001", "INV-2")
	d.edit(kim, m.Letter, now, "sure", "yes", "reason", "x").want(http.StatusOK).says("they would book both").holds(`name="confirm" value="possible-duplicate"`, `name="reason" value="x"`)
	d.edit(kim, m.Letter, now, "sure", "yes", "reason", "x", "confirm", "possible-duplicate").want(http.StatusSeeOther)
}

// TestATextBoxChangesNothingByItself: what a browser does to line ends and
// characters is undone, or the document is not offered for editing.
func TestATextBoxChangesNothingByItself(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "one line", "\n\nlines\n", "a\r\nb\r\n", "a\rb\r", "UNB+UNOC:3'FTX+M\xfcller'\r\n", "\xef\xbb\xbf<a>ü</a>\n", "ISA\x1dA\x1c\t",
	} {
		doc, fits := asText([]byte(content))
		if !fits {
			t.Errorf("%q is not offered", content)
			continue
		}
		browser := strings.ReplaceAll(doc.text, "\n", "\r\n")
		if got, err := doc.bytes(browser); err != nil || string(got) != content {
			t.Errorf("%q comes back as %q, %v", content, got, err)
		}
	}
	for _, content := range []string{"a\r\nb\nc", "a\rb\nc", "\x00\x01", "a\r\n\rb"} {
		if doc, fits := asText([]byte(content)); fits {
			t.Errorf("%q is offered as %q", content, doc.text)
		}
	}
	doc, _ := asText([]byte("M\xfcller"))
	if _, err := doc.bytes("Müller €"); err == nil || !strings.Contains(err.Error(), "€") {
		t.Errorf("a character that the document cannot hold: %v", err)
	}
}

func TestOnlyOpenLettersToThePartnerAreEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	binary := d.bury("northwind", "a\r\nb\nc")
	d.get(kim, "/letters/"+binary.Letter+"/edit").want(http.StatusConflict).says("cannot be edited as text")
	large := d.bury("northwind", strings.Repeat("a", 1<<20+1))
	d.get(kim, "/messages/"+large.ID).hides("/edit")
	d.get(kim, "/letters/"+large.Letter+"/edit").want(http.StatusConflict).says("at most 1 MiB")
	moving := d.bury("northwind", "c")
	d.post(kim, "/letters/"+moving.Letter+"/replay").want(http.StatusSeeOther)
	d.get(kim, "/letters/"+moving.Letter+"/edit").want(http.StatusConflict)
}
