package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"edigw/dlq"
	"edigw/edi"
	"edigw/queue"
	"edigw/web"
)

// editLines bounds the lines of a comparison: a document of many short ones
// must not cost a hundred times its size.
const editLines = 20_000

// editing is the page on which the document of a letter is edited, and the one
// that shows what was changed before it is sent.
type editing struct {
	Letter  string
	Name    string
	Partner string
	Message string // address of its page
	Path    string
	Text    string    // of the document
	Note    string    // what edigw keeps as it is
	Wrong   string    // why it was not sent
	Found   string    // what our check says of the text, with its place
	Around  []textRow // the lines about that place
	Row     int       // line of the text box where it is; 0: not known
	Sure    bool      // the changes are shown
	Diff    []diffRow
	Ask     []string // what one must know before it is sent
	Fields  []field
	Reason  string
}

// editable reports whether a letter's document can be edited as text.
func editable(l queue.Letter, m queue.Message) bool {
	return l.Status == queue.LetterOpen && dlq.Editable(m)
}

func (c *Console) editForm(v *visit) (view, error) {
	e, original, err := c.editing(v, "the document was opened to be edited")
	if err != nil {
		return view{}, err
	}
	e.Text = original.text
	err = e.find(original.content)
	return editView(e, http.StatusOK), err
}

func editView(e editing, status int) view {
	return view{template: "edit", title: "Edit " + e.Name, nav: "/letters", topic: "-", status: status, data: e}
}

// editing reads the document of a letter that can be edited. It is noted that
// somebody saw it.
func (c *Console) editing(v *visit, what string) (e editing, d written, err error) {
	ctx, id := v.r.Context(), v.param("id")
	l, m, err := c.editTarget(ctx, v, id)
	if err != nil {
		return e, d, err
	}
	content, err := c.readAll(v, m, what, dlq.MaxEdit+1)
	if err != nil {
		return e, d, err
	}
	d, fits := asText(content)
	if !fits {
		return e, d, &web.Problem{Slug: web.Conflict, Message: m.ID, Detail: "This document cannot be edited as text without changing more than you change: it is binary, or its line ends differ. Have its sender hand in a corrected one."}
	}
	return editing{
		Letter: l.ID, Name: documentName(m), Partner: c.partnerName(l.Partner), Message: messagePath(m.ID) + "#letter-" + l.ID, Path: "/letters/" + l.ID + "/edit", Note: d.note(),
	}, d, nil
}

func (c *Console) editTarget(ctx context.Context, v *visit, id string) (queue.Letter, queue.Message, error) {
	l, m, err := c.letterAndMessage(ctx, id)
	if err == nil {
		_, err = c.readable(ctx, v, m.ID)
	}
	switch {
	case err != nil:
		return l, m, err
	case l.Status != queue.LetterOpen:
		return l, m, &web.Problem{Slug: web.Conflict, Message: m.ID, Detail: "This letter is being replayed, or was settled already. Nothing was changed."}
	case !editable(l, m) && dlq.SeveralFiles(m):
		return l, m, &web.Problem{Slug: web.Conflict, Message: m.ID, Detail: dlq.FilesNotEdited + " Nothing was changed."}
	case !editable(l, m):
		return l, m, &web.Problem{Slug: web.Conflict, Message: m.ID, Detail: "Only a document to the partner of at most 1 MiB can be edited here. Have its sender hand in a corrected one."}
	}
	return l, m, nil
}

// editLetter shows what was changed and asks for a reason; then it sends the
// document as a new edition.
func (c *Console) editLetter(v *visit) (done, error) {
	ask, err := v.asked()
	if err != nil {
		return done{}, err
	}
	e, original, err := c.editing(v, "the document was compared with what was edited")
	if err != nil {
		return done{}, err
	}
	e.Text, e.Reason = v.form.Get("content"), v.form.Get("reason")
	content, err := original.bytes(e.Text)
	if err != nil {
		e.Wrong = err.Error()
		return shows(editView(e, http.StatusBadRequest)), nil
	}
	if v.form.Get("back") == "edit" {
		err := e.find(content)
		return shows(editView(e, http.StatusOK)), err
	}
	if c.checked(v.r.Context(), e.Letter) { // before a reason is asked for
		if err := e.find(content); err != nil {
			return done{}, err
		}
		if e.Found != "" && !bytes.Equal(content, original.content) {
			e.Wrong = "Not sent: " + e.Found + "; nothing was changed."
			return shows(editView(e, http.StatusBadRequest)), nil
		}
	}
	if v.form.Get("sure") == "yes" && strings.TrimSpace(ask.Note) != "" {
		sent, err := c.Letters.Edit(v.r.Context(), e.Letter, bytes.NewReader(content), ask)
		if err == nil {
			return done{to: messagePath(sent.Message.ID), flash: flash{Text: documentName(sent.Message) + " goes out to " + e.Partner + " with your changes, as a new edition."}}, nil
		}
		if !e.refused(v, err) {
			return done{}, err
		}
		if e.Wrong != "" {
			err := e.find(content)
			return shows(editView(e, http.StatusBadRequest)), err
		}
	}
	if err := e.show(original.content, content); err != nil {
		return done{}, err
	}
	return shows(editView(e, http.StatusOK)), nil
}

// refused takes what is to be corrected or confirmed; anything else is an error
// of the page.
func (e *editing) refused(v *visit, err error) bool {
	var input *dlq.InputError
	if need, ok := confirm(err); ok {
		for _, code := range v.form["confirm"] {
			e.Fields = append(e.Fields, field{"confirm", code})
		}
		for _, code := range need.Codes {
			e.Ask = append(e.Ask, editSentence(code))
			e.Fields = append(e.Fields, field{"confirm", string(code)})
		}
		return true
	}
	if errors.As(err, &input) && input.Field == "content" {
		e.Wrong = "Not sent: " + input.Reason + "."
		return true
	}
	return false
}

func editSentence(code dlq.Code) string {
	if code == dlq.PossibleDuplicate {
		return "The partner may have the old document. The edited one has a Message-ID of its own: they would book both. Ask them first."
	}
	return codeSentence(code)
}

// show compares the document with what it was made into.
func (e *editing) show(was, now []byte) error {
	read := func(content []byte) (edi.View, error) {
		return edi.ReadView(bytes.NewReader(content), dlq.MaxEdit, editLines)
	}
	before, err := read(was)
	if err != nil {
		return err
	}
	after, err := read(now)
	if err != nil {
		return err
	}
	e.Diff = diffRows(before, after)
	if bytes.Equal(was, now) {
		e.Wrong = "Nothing was changed yet."
		return nil
	}
	e.Sure = true
	return nil
}
