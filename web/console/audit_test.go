package console

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

func TestAuditSaysWhoDidWhat(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tell(
		queue.Event{Type: queue.EventLaneStopped, Partner: "northwind", Actor: fault.Actor{Name: "kim", Role: "operator", From: "192.0.2.9"}, Text: "stopped until 04:00: their maintenance"},
		queue.Event{At: start.AddDate(0, 0, -2), Type: queue.EventReplay, Partner: "contoso", Message: "m1", Actor: fault.Actor{Name: "omar"}, Text: "replayed"},
		queue.Event{Type: queue.EventBreakerOpened, Partner: "northwind", Text: "nobody did this"},
	)
	d.get(viewer, "/audit").want(200).says("kim operator", "Stopped by hand : stopped until 04:00: their maintenance", "Northwind Retail DE", "192.0.2.9", "Replayed").hides("nobody did this")
	d.get(viewer, "/audit?actor=omar").want(200).says("Replayed").hides("their maintenance")
	d.get(viewer, "/audit?partner=northwind").want(200).says("their maintenance").hides("Replayed")
	d.get(viewer, "/audit?from=2026-12-01&to=2026-12-01").want(200).says("their maintenance").hides("Replayed")
	d.get(viewer, "/audit?to=2026-11-30").want(200).says("Replayed").hides("their maintenance")
	d.get(viewer, "/audit?actor=nobody").want(200).says("Nobody did anything that fits.")
	for i := range auditPage {
		d.tell(queue.Event{Type: queue.EventAccess, Actor: fault.Actor{Name: "ada"}, Text: fmt.Sprint("number ", i)})
	}
	first := d.get(viewer, "/audit").want(200).hides("their maintenance")
	_, after, _ := strings.Cut(first.body, `<a rel="next" href="`)
	next, _, _ := strings.Cut(after, `"`)
	d.get(viewer, strings.ReplaceAll(next, "&amp;", "&")).want(200).says("their maintenance")
}

func TestAuditSaysWhy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.bury("northwind", "a")
	d.post(kim, "/letters/l-m000001/discard", "reason", "=sent by mail").want(http.StatusSeeOther)
	d.get(viewer, "/audit").want(200).says("Dead letter settled : Discarded =sent by mail")
	rows := d.get(viewer, "/audit.csv").want(200).table()
	if got := rows[1][8]; got != "'=sent by mail" {
		t.Errorf("why: %q in %q", got, rows[1])
	}
}

// table reads a CSV file.
func (a answer) table() [][]string {
	a.t.Helper()
	if got := a.header.Get("Content-Type"); got != "text/csv; charset=utf-8" {
		a.t.Errorf("content type %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil {
		a.t.Fatal(err)
	}
	return rows
}

func TestAuditIsExported(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range csvStep + 20 {
		d.tell(queue.Event{Type: queue.EventAccess, Actor: fault.Actor{Name: "ada"}, Text: fmt.Sprint("number ", i)})
	}
	d.tell(queue.Event{Type: queue.EventLaneStopped, Partner: "northwind", Actor: fault.Actor{Name: "=kim", From: "+1"}, Text: "@SUM(1)", Facts: map[string]string{"reason": "a b"}})
	a := d.get(viewer, "/audit.csv").want(200)
	if got := a.header.Get("Content-Disposition"); got != `attachment; filename="audit-20261201-021000.csv"` {
		t.Errorf("file name %q", got)
	}
	rows := a.table()
	if len(rows) != csvStep+22 {
		t.Fatalf("%d rows, want head and %d", len(rows), csvStep+21)
	}
	if diff := cmp.Diff([]string{"521", "2026-12-01T02:10:00Z", "'=kim", "", "'+1", "lane-stopped", "Stopped by hand", "'@SUM(1)", "", "northwind", "", "", "", "reason=a+b"}, rows[1]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if rows := d.get(viewer, "/audit.csv?partner=northwind").want(200).table(); len(rows) != 2 {
		t.Errorf("filtered: %d rows, want 2", len(rows))
	}
	d.get("", "/audit.csv").want(http.StatusSeeOther)
}

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{"": "", "INV-1": "INV-1", "=1+1": "'=1+1", "+49": "'+49", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "'=": "'=", "a=b": "a=b", "ü": "ü"} {
		if got := harmless(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

func TestLettersAreExported(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.bury("northwind", "a", func(m *queue.Message) { m.Payload.FileName = "=cmd|'/c calc'!A1" })
	d.now = d.now.Add(time.Second)
	d.bury("contoso", "b")
	rows := d.get(viewer, "/letters.csv").want(200).table()
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[2][i]
	}
	for name, want := range map[string]string{"letter": "l-m000001", "created": "2026-12-01T02:10:00Z", "partner": "northwind", "name": "Northwind Retail DE", "status": "open", "reason": "circuit-open",
		"in words": "Not delivered: partner was down (not tried)", "outage": "OUT-231", "attempts": "0", "message": "m000001", "file": "'=cmd|'/c calc'!A1", "references": "interchange 000000905, invoice INV-1"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if rows := d.get(viewer, "/letters.csv?partner=contoso").want(200).table(); len(rows) != 2 {
		t.Errorf("filtered: %d rows, want 2", len(rows))
	}
	d.get(viewer, "/letters?partner=contoso").want(200).holds(`href="/letters.csv?partner=contoso"`)
	d.get(viewer, "/letters.csv?status=nowhere").want(400)
}

// A file that breaks off in the middle must not look whole.
func TestAnExportThatFailsIsCutOff(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range csvStep + 1 {
		d.tell(queue.Event{Type: queue.EventAccess, Actor: fault.Actor{Name: "ada"}, Text: fmt.Sprint(i)})
	}
	d.Ledger = breaking{d.Ledger, new(int)}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // a sentinel that net/http compares the same way
			t.Errorf("the answer ended with %v, want an abort", p)
		}
	}()
	d.get(viewer, "/audit.csv")
}
