package edi

import "github.com/aymanbagabas/go-udiff/lcs"

// Change says what became of a line from one document to the other. Its String
// is a word fit for the class of an HTML element.
type Change string

// The changes of a line.
const (
	Same     Change = "same"
	Deleted  Change = "deleted"  // stands only in the old document
	Inserted Change = "inserted" // stands only in the new one
	Skipped  Change = "skipped"  // in place of lines that are the same in both
)

// DiffLine is a line of a difference.
type DiffLine struct {
	Change   Change
	Old, New int      // index in the Lines of the views, -1 where it does not stand
	Line     ViewLine // empty if skipped
	Skipped  int      // how many lines
}

// context is how many lines that are the same are shown around a change.
const context = 3

// Diff compares two documents line by line, as they are shown: in segments
// every byte counts, in XML white space between elements does not. It is empty
// if no line differs, though lines beyond the views' bounds may. Of documents
// that differ in more than about a hundred places it may say that a whole
// stretch was replaced: its time grows with the number of lines alone.
func Diff(old, new View) []DiffLine {
	edits := lcs.DiffLines(keys(old), keys(new))
	if len(edits) == 0 {
		return nil
	}
	d := differ{old: old.Lines, new: new.Lines}
	lead := 0
	for _, e := range edits {
		d.same(e.Start, lead, context)
		lead = context
		for ; d.at < e.End; d.at++ {
			d.lines = append(d.lines, DiffLine{Change: Deleted, Old: d.at, New: -1, Line: d.old[d.at]})
		}
		for ; d.to < e.ReplEnd; d.to++ {
			d.lines = append(d.lines, DiffLine{Change: Inserted, Old: -1, New: d.to, Line: d.new[d.to]})
		}
	}
	d.same(len(d.old), lead, 0)
	return d.lines
}

// keys are what lines are compared by: the text that they show.
func keys(v View) []string {
	all := make([]string, len(v.Lines))
	for i, l := range v.Lines {
		all[i] = l.Text
	}
	return all
}

// differ walks through both documents.
type differ struct {
	old, new []ViewLine
	at, to   int // next line of each
	lines    []DiffLine
}

// same goes on to the line end of the old document. Of lines that are the same
// lead and tail are shown, what is between them is skipped.
func (d *differ) same(end, lead, tail int) {
	hidden := end - d.at - lead - tail
	if hidden < 2 {
		d.show(end)
		return
	}
	d.show(d.at + lead)
	d.lines = append(d.lines, DiffLine{Change: Skipped, Old: d.at, New: d.to, Skipped: hidden})
	d.at, d.to = d.at+hidden, d.to+hidden
	d.show(end)
}

// show adds lines that are the same.
func (d *differ) show(end int) {
	for ; d.at < end; d.at, d.to = d.at+1, d.to+1 {
		d.lines = append(d.lines, DiffLine{Change: Same, Old: d.at, New: d.to, Line: d.new[d.to]})
	}
}
