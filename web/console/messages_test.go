package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
)

// rows are the ids of the messages that a page lists.
func (a answer) rows() (ids []string) {
	a.t.Helper()
	for _, part := range strings.Split(a.body, `data-href="/messages/`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestDocumentsAreFoundByWhatPeopleCallThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, second := d.accept("northwind", "a"), d.accept("contoso", "b")
	for q, want := range map[string][]string{
		"":                    {second.ID, first.ID},
		"INV-1":               {first.ID},
		" INV-1 ":             {first.ID},
		"INV-*":               {second.ID, first.ID},
		"000000905":           {second.ID, first.ID},
		"key-2":               {second.ID},
		"erp-2":               {second.ID},
		"invoice-1.edi":       {first.ID},
		second.MessageID:      {second.ID},
		"contoso":             {second.ID},
		"CONTOSO":             {second.ID},
		"northwind retail de": {first.ID},
		"Retail":              {first.ID},
	} {
		same(t, q, d.get(viewer, "/messages?q="+url.QueryEscape(q)).want(http.StatusOK).rows(), want...)
	}
	if to := d.get(viewer, "/messages?q="+first.ID).want(http.StatusSeeOther).header.Get("Location"); to != "/messages/"+first.ID {
		t.Errorf("our own id leads to %q", to)
	}
}

func TestASearchInVainSaysWhatWasSearchedAndWhatToTry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.accept("northwind", "a")
	d.get(viewer, "/messages?q=INV&show=line").want(http.StatusOK).says("Nothing is called exactly INV.", "Show what begins with it").holds(html.EscapeString("/messages?q=INV%2A&show=line"))
	d.get(viewer, "/messages?q=PO-77").says("Nothing matches. Searched 400 days by reference.").hides("Show what begins")
	d.get(viewer, "/messages?q=PO-77*").says("Nothing matches. Searched 400 days by the beginning of a reference.")
	d.get(viewer, "/messages?direction=in").says("Nothing here.")
	d.get(viewer, "/messages?direction=sideways").want(http.StatusBadRequest)
}

func TestChipsPartnerAndDaysNarrowTheList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lined := d.accept("northwind", "a")
	dead := d.bury("northwind", "b")
	unknown := d.exchange(d.accept("contoso", "c"), fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseTimeout, Detail: "no answer"})
	came := d.accept("contoso", "d", func(m *queue.Message) { m.Direction = queue.In })
	for query, want := range map[string][]string{
		"show=failed":                   {dead.ID},
		"show=unknown":                  {unknown.ID},
		"show=line&partner=northwind":   {lined.ID},
		"direction=in":                  {came.ID},
		"direction=out&show=line":       {unknown.ID, lined.ID},
		"direction=in&show=failed":      nil,
		"show=overdue":                  nil,
		"show=refused":                  nil,
		"partner=northwind":             {dead.ID, lined.ID},
		"from=2026-12-01&to=2026-12-01": {came.ID, unknown.ID, dead.ID, lined.ID},
		"to=2026-11-30":                 nil,
		"from=2026-12-02":               nil,
	} {
		same(t, query, d.get(viewer, "/messages?"+query).want(http.StatusOK).rows(), want...)
	}
}

func TestARowSaysWhereADocumentStands(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.bury("northwind", "a")
	d.exchange(d.accept("contoso", "bc"), fault.Outcome{Phase: fault.PhaseSent, Cause: fault.CauseTimeout, Detail: "no answer within 300 s"})
	d.get(viewer, "/messages").says(
		"03:10 CET", "Northwind Retail DE", "810 INV-1", "invoice-1.edi", "Not delivered: partner was down (not tried)", "1 byte",
		"Next try", "no answer within 300 s", "Unknown: partner may have it", "2 bytes",
	)
}

func TestMessagesArePagedByCursor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range messagesPage + 7 {
		d.accept("northwind", fmt.Sprint(i))
	}
	first := d.get(viewer, "/messages?partner=northwind")
	if n := len(first.rows()); n != messagesPage {
		t.Fatalf("%d rows on the first page", n)
	}
	_, after, ok := strings.Cut(first.body, `rel="next" href="`)
	if !ok {
		t.Fatal("the first page leads nowhere")
	}
	link, _, _ := strings.Cut(after, `"`)
	last := d.get(viewer, html.UnescapeString(link)).want(http.StatusOK)
	if n := len(last.rows()); n != 7 || last.rows()[6] != "m000001" {
		t.Errorf("the last page has %v", last.rows())
	}
	last.hides(`rel="next"`)
}

func TestWrongFiltersAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, query := range []string{
		"show=everything", "partner=No+Such", "from=yesterday", "to=1-1-2026", "from=2026-12-02&to=2026-12-01", "cursor=abc", "state=dead", "q=a&q=b",
		"q=" + strings.Repeat("a", maxParameter+1), "from=1066-01-01",
	} {
		d.get(viewer, "/messages?"+query).want(http.StatusBadRequest)
	}
	d.get("", "/messages").want(http.StatusSeeOther)
}

// TestStrangersTextIsOnlyText: names come from documents and callers.
func TestStrangersTextIsOnlyText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const hostile = "<script>alert(1)</script>\u202egnp.exe\nx"
	m := d.bury("northwind", "a", func(m *queue.Message) {
		m.Key, m.CorrelationID, m.Payload.FileName, m.Actor.Name = hostile+"k", hostile+"c", hostile+"f", hostile
		m.Business.Type, m.Business.References = hostile, []edi.Reference{{Name: "invoice", Value: hostile}}
	})
	for _, page := range []string{"/messages", "/messages?q=" + url.QueryEscape(hostile), "/messages/" + m.ID, "/letters", "/messages/" + m.ID + "/document"} {
		a := d.get(kim, page).want(http.StatusOK).says(`\u202egnp.exe`)
		a.body = strings.ReplaceAll(a.body, `value="`+html.EscapeString(hostile)+`"`, "") // what he typed himself
		if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "\u202e") {
			t.Errorf("%s: text of strangers is more than text:\n%s", page, a.body)
		}
	}
}

func TestADocumentIsCalledByItsNumber(t *testing.T) {
	t.Parallel()
	ref := func(pairs ...string) (all []edi.Reference) {
		for i := 0; i+1 < len(pairs); i += 2 {
			all = append(all, edi.Reference{Name: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	for want, m := range map[string]queue.Message{
		"810 INV-1":        {Business: queue.Business{Type: "810", References: ref("interchange", "905", "order", "PO-7", "invoice", "INV-1")}, Payload: queue.Payload{FileName: "a.edi"}},
		"850 PO-7":         {Business: queue.Business{Type: "850", References: ref("sender", "ACME", "order", "PO-7")}},
		"DESADV D-3":       {Business: queue.Business{Type: "DESADV", References: ref("order", "PO-7", "shipment", "D-3")}},
		"a.edi":            {Business: queue.Business{Type: "814", References: ref("interchange", "905")}, Payload: queue.Payload{FileName: "a.edi"}},
		"814 905":          {Business: queue.Business{Type: "814", References: ref("sender", "ACME", "interchange", "905")}},
		"m1":               {ID: "m1"},
		`a\u202etxt\u000a`: {Payload: queue.Payload{FileName: "a\u202etxt\n"}},
	} {
		if got := documentName(m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
