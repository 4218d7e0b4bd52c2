package web

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/access"
	"edigw/dlq"
	"edigw/store/spool"
)

// contents keeps edited documents in a spool.
type contents struct{ *spool.Spool }

func (c contents) Keep(content []byte) (string, error) {
	w, err := c.Create(spool.Payload, 0)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(content); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// editOf is the body of an edit.
func editOf(content, reason string, confirm ...string) string {
	body, _ := json.Marshal(map[string]any{"content": base64.StdEncoding.EncodeToString([]byte(content)), "reason": reason, "confirm": confirm})
	return string(body)
}

// sample is a document that passes the door.
func sample(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "documents", "x12-810-invoice.edi"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestALetterIsEditedAndSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	content := sample(t)
	var got edited
	b.post("/letters/"+m.Letter+"/edit", editOf(content, "price corrected")).want(http.StatusAccepted).json(&got)
	if got.Status != "closed" || got.ClosedAs != "superseded" || got.Actor != "only-admin" || got.Note != "price corrected" || got.Sends == "" || got.Sends == m.ID {
		t.Errorf("letter %+v", got)
	}
	var next wholeMessage
	b.get("/messages/" + got.Sends).want(http.StatusOK).json(&next)
	if next.State != "queued" || next.Key != m.Key || next.MessageID == m.MessageID || next.Size != int64(len(content)) {
		t.Errorf("message %+v", next.message)
	}
	if sent := b.get("/messages/" + got.Sends + "/payload").want(http.StatusOK); string(sent.body) != content {
		t.Errorf("%d bytes of payload", len(sent.body))
	}
	if old := b.get("/messages/" + m.ID + "/payload").want(http.StatusOK); string(old.body) != "a" {
		t.Errorf("the old payload is %q", old.body)
	}
	p := b.post("/letters/"+m.Letter+"/edit", editOf(content, "price corrected")).problem(Conflict)
	if p.Letter != m.Letter || p.By != "only-admin" {
		t.Errorf("the second click: %+v", p)
	}
	audit := b.get("/audit").want(http.StatusOK)
	if !strings.Contains(string(audit.body), "edited and sent again: price corrected") {
		t.Errorf("audit %s", audit.body)
	}
}

func TestAnEditThatCannotBeIsAProblem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.bury("northwind", "a")
	path := "/letters/" + m.Letter + "/edit"
	good := sample(t)
	for name, c := range map[string]struct{ body, field, detail string }{
		"no base64":       {`{"content": "SVNB*", "reason": "x"}`, "content", "base64"},
		"no reason":       {editOf(good, ""), "reason", "Say why"},
		"nothing":         {`{"reason": "x"}`, "content", "no bytes"},
		"the same":        {editOf("a", "x"), "content", "Nothing was changed"},
		"a bad envelope":  {editOf(strings.Replace(good, "SE*24", "SE*23", 1), "x"), "content", "SE01 says 23, counted 24 (segment 26); nothing was changed."},
		"an unknown code": {editOf(good, "x", "everything"), "confirm", "everything"},
		"a slip":          {`{"contents": "", "reason": "x"}`, "contents", "no member"},
	} {
		p := b.post(path, c.body).problem(BadRequest)
		if p.Field != c.field || !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s: field %q, detail %q", name, p.Field, p.Detail)
		}
	}
	b.post(path, editOf(strings.Repeat("a", dlq.MaxEdit+1), "x")).problem(TooLarge)
	b.post(path, editOf(strings.Repeat("a", 2*dlq.MaxEdit), "x")).problem(TooLarge)
	b.post("/letters/nothing/edit", editOf(good, "x")).problem(NotFound)
	b.as(access.Read, http.MethodPost, Base+path, editOf(good, "x")).problem(Forbidden)
	if l, err := b.store.Letter(t.Context(), m.Letter); err != nil || l.Status != "open" {
		t.Errorf("a refused edit changed the letter: %+v, %v", l, err)
	}
	largest := good + strings.Repeat("\n", dlq.MaxEdit-len(good))
	b.post(path, editOf(largest, "as large as can be")).want(http.StatusAccepted)
}

func TestAnEditAsksFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.untrusted("northwind", "a")
	p := b.post("/letters/"+m.Letter+"/edit", editOf(sample(t), "x")).problem(ConfirmNeeded)
	equal(t, "codes", []string{"possible-duplicate"}, p.Confirm)
	b.post("/letters/"+m.Letter+"/edit", editOf(sample(t), "x", "possible-duplicate")).want(http.StatusAccepted)
	if f, err := b.spool.Open(spool.Payload, m.Payload.SHA256); err != nil {
		t.Errorf("the old document is gone: %v", err)
	} else {
		io.Copy(io.Discard, f)
		f.Close()
	}
}
