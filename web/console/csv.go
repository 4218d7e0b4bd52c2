package console

import (
	"encoding/csv"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/queue"
)

// Bounds of an export.
const (
	csvStep = 500     // rows read at once
	csvMost = 100_000 // rows of one file
)

// csvFile is a table on its way to a browser.
type csvFile struct {
	out    *csv.Writer
	header http.Header
	rows   int
}

// sendCSV begins a file. Nothing was answered before.
func (v *visit) sendCSV(name string, head ...string) *csvFile {
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+"-"+v.now.UTC().Format("20060102-150405")+`.csv"`)
	h.Set("X-Content-Type-Options", "nosniff")
	f := &csvFile{out: csv.NewWriter(v.w), header: h}
	f.row(head...)
	f.rows = 0
	return f
}

// row writes one row.
func (f *csvFile) row(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = harmless(cell)
	}
	_ = f.out.Write(safe) // an error means that the browser is gone: end tells
	f.rows++
}

// end writes what is left. more says that there are rows beyond the bound, and
// the file says so itself.
func (f *csvFile) end(more bool) error {
	if more {
		f.row("cut off after " + words.Number(csvMost) + " rows: narrow the filter")
	}
	f.out.Flush()
	return f.out.Error()
}

// harmless keeps a spreadsheet from taking a partner's text for a formula, also
// one that splits lines at semicolons or tabs: what could begin a formula gets
// a ' before it wherever a cell can begin.
func harmless(cell string) string {
	var safe strings.Builder
	begins := true
	for _, r := range cell {
		if begins && strings.ContainsRune("=+-@\t\r", r) {
			safe.WriteByte('\'')
		}
		safe.WriteRune(r)
		begins = strings.ContainsRune(";,|\t\r\n\"", r) || begins && r == ' '
	}
	return safe.String()
}

// stamp is a time in a file.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// exported reads pages of a list until its end or the bound, and gives every
// item to row. The error is of the first page, before anything was sent; a
// later one cuts the answer off, so that no file looks whole that is not.
func exported[T any](f *csvFile, list func(queue.Page) ([]T, string, error), row func(T) error) error {
	for cursor := ""; ; {
		some, next, err := list(queue.Page{Limit: csvStep, Cursor: cursor})
		if err != nil && cursor == "" {
			f.header.Del("Content-Disposition")
			return err
		}
		for _, one := range some {
			if err != nil || f.rows >= csvMost {
				break
			}
			err = row(one)
		}
		if err != nil {
			f.out.Flush()
			panic(http.ErrAbortHandler)
		}
		full := f.rows >= csvMost && next != ""
		if cursor = next; cursor == "" || full {
			if f.end(full) != nil {
				panic(http.ErrAbortHandler)
			}
			return nil
		}
	}
}

func (c *Console) sheetPages() []page {
	return []page{
		{path: "/letters.csv", params: []string{"partner", "reason", "status", "outage", "cause", "direction"}, show: c.lettersCSV},
		{path: "/audit.csv", params: []string{"actor", "partner", "from", "to"}, show: c.auditCSV},
	}
}

// lettersCSV is the list of letters as a file.
func (c *Console) lettersCSV(v *visit) (view, error) {
	f, err := letterFilter(v.query)
	if err != nil {
		return view{}, err
	}
	file := v.sendCSV("letters", "letter", "created", "partner", "name", "status", "closed as", "reason", "in words", "detail", "cause", "outage", "attempts", "may be there", "overtaken", "past due",
		"message", "document", "references", "message-id", "file", "bytes", "due", "closed", "by", "note", "direction")
	ctx := v.r.Context()
	err = exported(file, func(p queue.Page) ([]queue.Letter, string, error) { return c.Ledger.Letters(ctx, f, p) }, func(l queue.Letter) error {
		m, err := c.Ledger.Message(ctx, l.Message)
		if errors.Is(err, queue.ErrNotFound) { // retention let it go in this moment
			return nil
		}
		if err != nil {
			return err
		}
		p, _ := c.Settings().Partner(l.Partner)
		var refs []string
		for _, r := range m.Business.References {
			refs = append(refs, r.Name+" "+r.Value)
		}
		file.row(l.ID, stamp(l.Created), l.Partner, c.partnerName(l.Partner), string(l.Status), string(l.ClosedAs), string(l.Reason), v.reason(l, m, p), l.Detail, l.Cause, l.Outage,
			bare(int64(l.Attempts)), yes(l.Uncertain), yes(l.Overtaken), yes(l.Overdue), m.ID, documentName(m), strings.Join(refs, ", "), m.MessageID, m.Payload.FileName,
			bare(m.Payload.Size), stamp(m.DeliverBy), stamp(l.Closed), l.Actor.Name, l.Note, string(l.Direction))
		return nil
	})
	return view{sent: true}, err
}

// yes is a flag in a file.
func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// bare is a number in a file, without digits grouped.
func bare(n int64) string { return strconv.FormatInt(n, 10) }
