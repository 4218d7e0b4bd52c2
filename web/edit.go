package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"

	"edigw/access"
	"edigw/dlq"
)

// maxEditBody bounds the body of an edit: the longest document in base64, and
// what stands around it.
const maxEditBody = dlq.MaxEdit/3*4 + 64<<10

// Editor replaces the document of a letter. Errors are those of package dlq.
type Editor interface {
	Edit(ctx context.Context, letter string, content io.Reader, ask dlq.Ask) (dlq.Edited, error)
}

// edit is the body of an edit.
type edit struct {
	Content string   `json:"content" doc:"the whole document in base64, at most 1 MiB before it"`
	Reason  string   `json:"reason" doc:"why, kept for ever"`
	Confirm []string `json:"confirm,omitempty" doc:"codes that were asked for"`
}

// edited is the answer to an edit.
type edited struct {
	letter
	Sends string `json:"sends" doc:"message that goes out: the new edition"`
}

func (a *API) editRoute() route {
	return route{method: http.MethodPost, path: "/letters/{id}/edit", scope: access.Operate,
		about: "Send the document with other content, as a new edition; a reason is required.",
		in:    edit{}, out: edited{}, status: http.StatusAccepted, also: []Slug{NotFound, Conflict, ConfirmNeeded, DiskFull, TooLarge}, do: a.editLetter}
}

func (a *API) editLetter(c *call) error {
	var in edit
	if err := c.readAtMost(&in, maxEditBody); err != nil {
		return err
	}
	what, err := ask{Reason: in.Reason, Confirm: in.Confirm}.asked(c)
	if err != nil {
		return err
	}
	content, err := base64.StdEncoding.DecodeString(in.Content)
	switch {
	case err != nil:
		return bad("content", "This is not the document in base64.")
	case len(content) > dlq.MaxEdit:
		return &Problem{Slug: TooLarge, Field: "content", Detail: "A document of more than 1 MiB cannot be edited here: have its sender hand in a corrected one."}
	}
	id := c.param("id")
	done, err := a.Letters.Edit(c.r.Context(), id, bytes.NewReader(content), what)
	if err != nil {
		return absent(err, "letter", id)
	}
	return c.answer(http.StatusAccepted, edited{viewLetter(done.Letter), done.Message.ID})
}
