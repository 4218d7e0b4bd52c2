package console

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"edigw/dlq"
	"edigw/edi"
	"edigw/queue"
	"edigw/web"
)

// Bounds of a document that is shown.
const (
	viewBytes = 512 << 10
	viewLines = 3000
	maxIndent = 8
)

// document is the page that shows the content of a document.
type document struct {
	ID      string
	Name    string
	Message string // address of its page
	Payload string // address of the download
	Size    int64
	Form    string // what it was recognised as
	Charset string
	Lines   []textRow
	Cut     bool   // it is longer than what is shown
	Coarse  bool   // it has too many elements to be told apart to its end
	Problem string // first fault that was found
	Gone    string // why there is nothing to show
	Compare string // address of the comparison with the earlier edition
	With    string // the earlier edition, if this is a comparison
	Diff    []diffRow
	Same    bool
	files
}

// textRow is a line of a document.
type textRow struct {
	N      string
	Indent int
	Name   string
	Parts  []edi.Part
	Fault  string
}

// diffRow is a line of a difference.
type diffRow struct {
	Class string // add, del or empty
	Sign  string // what the class says, in words
	textRow
	Skipped int
}

// document shows the content of a message, or how it differs from another
// edition.
func (c *Console) document(v *visit) (view, error) {
	ctx := v.r.Context()
	m, err := c.readable(ctx, v, v.param("id"))
	if err != nil {
		return view{}, err
	}
	d := document{ID: m.ID, Name: documentName(m), Message: messagePath(m.ID), Payload: messagePath(m.ID) + "/payload", Size: m.Payload.Size, With: v.query.Get("with")}
	if m.Previous != "" {
		d.Compare = d.Message + "/document?with=" + m.Previous
	}
	if d.With != "" && d.With != m.Previous {
		return view{}, wrong("earlier edition of this document", d.With)
	}
	shown, of, err := c.view(v, m, "the document was shown")
	d.files = of
	if err == nil && d.With != "" {
		err = c.compare(v, &d, shown)
	}
	var gone *web.Problem
	switch {
	case errors.As(err, &gone) && gone.Slug == web.NotFound:
		d.Gone = gone.Detail
	case err != nil:
		return view{}, err
	case d.With == "":
		d.fill(shown)
	}
	return view{template: "document", title: d.Name, nav: "/messages", topic: "-", data: d}, nil
}

// view reads a document for somebody who may see it: of several files the one
// that the others belong to.
func (c *Console) view(v *visit, m queue.Message, what string) (edi.View, files, error) {
	f, err := c.OpenPayload(v.r.Context(), m, v.actor(), what)
	if err != nil {
		return edi.View{}, files{}, err
	}
	defer f.Close()
	if dlq.SeveralFiles(m) {
		return readFiles(f, m)
	}
	shown, err := edi.ReadView(f, viewBytes, viewLines)
	return shown, files{}, err
}

// compare shows how a document differs from the earlier edition.
func (c *Console) compare(v *visit, d *document, now edi.View) error {
	earlier, err := c.Ledger.Message(v.r.Context(), d.With)
	if err != nil {
		return err
	}
	was, _, err := c.view(v, earlier, "the document was compared with a later edition")
	if err != nil {
		return err
	}
	d.Diff, d.Cut = diffRows(was, now), was.Truncated || now.Truncated
	d.Same = len(d.Diff) == 0
	return nil
}

func (d *document) fill(shown edi.View) {
	d.Charset, d.Cut, d.Coarse, d.Form = shown.Charset, shown.Truncated, shown.Coarse, formName(shown)
	if shown.Problem != nil {
		d.Problem = shown.Problem.Text
	}
	for _, l := range shown.Lines {
		d.Lines = append(d.Lines, textRowOf(l))
	}
}

func formName(shown edi.View) string {
	switch {
	case shown.Form == edi.FormHex:
		return "Binary, in hex"
	case shown.Kind == edi.X12:
		return "X12 " + shown.Type
	case shown.Kind == edi.EDIFACT:
		return "EDIFACT " + shown.Type
	case shown.Form == edi.FormXML:
		return "XML " + shown.Type
	}
	return "Text"
}

func textRowOf(l edi.ViewLine) textRow {
	r := textRow{Indent: min(l.Depth, maxIndent), Name: l.Name, Parts: readable(l.Parts()), Fault: l.Fault}
	if l.N > 0 && !l.Continued {
		r.N = strconv.Itoa(l.N)
	}
	return r
}

// readable names line ends: their symbols are missing in many fonts.
func readable(parts []edi.Part) []edi.Part {
	for i, p := range parts {
		if p.Kind == edi.PartLineEnd {
			parts[i].Text = lineEnds.Replace(p.Text)
		}
	}
	return parts
}

var lineEnds = strings.NewReplacer("␍␊", "CR LF", "␊", "LF", "␍", "CR")

func diffRows(was, now edi.View) (rows []diffRow) {
	for _, l := range edi.Diff(was, now) {
		r := diffRow{textRow: textRowOf(l.Line), Skipped: l.Skipped}
		switch l.Change {
		case edi.Deleted:
			r.Class, r.Sign = "del", "−"
		case edi.Inserted:
			r.Class, r.Sign = "add", "+"
		}
		rows = append(rows, r)
	}
	return rows
}

// readAll reads a document that is to be edited, whole.
func (c *Console) readAll(v *visit, m queue.Message, what string, most int64) ([]byte, error) {
	f, err := c.OpenPayload(v.r.Context(), m, v.actor(), what)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
