package console

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"edigw/dlq"
	"edigw/edi"
	"edigw/web"
)

// around is how many lines are shown on each side of a fault.
const around = 2

// checked reports whether what is sent to the partner of a letter must pass our
// check of envelopes.
func (c *Console) checked(ctx context.Context, letter string) bool {
	l, err := c.Ledger.Letter(ctx, letter)
	if err != nil {
		return false // sending it says why
	}
	p, known := c.Settings().Partner(l.Partner)
	return known && p.CheckEnvelope
}

// find says what our check finds in a document, and where it stands in the text
// box.
func (e *editing) find(content []byte) error {
	shown, err := edi.ReadView(bytes.NewReader(content), dlq.MaxEdit, editLines)
	if err != nil || shown.Problem == nil {
		return err
	}
	e.Found = shown.Problem.Text
	for i, l := range shown.Lines {
		if l.Fault == "" {
			continue
		}
		e.Row = 1 + strings.Count(asLines(content[:min(l.Offset, int64(len(content)))]), "\n")
		for _, near := range shown.Lines[max(0, i-around):min(len(shown.Lines), i+around+1)] {
			e.Around = append(e.Around, textRowOf(near))
		}
		break
	}
	return nil
}

// asLines is content with every line end as the text box counts them.
func asLines(content []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(content), "\r\n", "\n"), "\r", "\n")
}

// written is a document as a text box can hold it: browsers send every line
// end as CR LF and characters as UTF-8, so both must be put back.
type written struct {
	content []byte
	text    string // with LF
	end     string // of its lines
	latin1  bool
}

// asText makes a text of a document. It does not fit if the text would not
// give back the same bytes.
func asText(content []byte) (d written, fits bool) {
	d = written{content: content, end: "\n", latin1: !utf8.Valid(content)}
	switch {
	case bytes.Contains(content, []byte("\r\n")):
		d.end = "\r\n"
	case bytes.ContainsRune(content, '\r'):
		d.end = "\r"
	}
	text := string(content)
	if d.latin1 {
		runes := make([]rune, len(content))
		for i, b := range content {
			runes[i] = rune(b)
		}
		text = string(runes)
	}
	d.text = strings.ReplaceAll(text, d.end, "\n")
	if strings.ContainsAny(d.text, "\x00\r") {
		return d, false
	}
	again, err := d.bytes(d.text)
	return d, err == nil && bytes.Equal(again, content)
}

// bytes are those of a text that a browser sent, as the document is written.
func (d written) bytes(text string) ([]byte, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", d.end)
	if !d.latin1 {
		return []byte(text), nil
	}
	var out []byte
	for _, r := range text {
		if r > 0xff {
			return nil, &web.Problem{Slug: web.BadRequest, Field: "content", Detail: "The document is written in ISO-8859-1, which has no " + plain(string(r)) + ". Nothing was changed."}
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// note says what is kept as it is.
func (d written) note() string {
	set := "UTF-8"
	if d.latin1 {
		set = "ISO-8859-1"
	}
	if !strings.Contains(d.text, "\n") {
		return "It is one line, in " + set + "; no line end is added."
	}
	return "Line ends stay " + map[string]string{"\n": "LF", "\r\n": "CR LF", "\r": "CR"}[d.end] + ", characters " + set + "."
}
