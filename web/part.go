package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// errTaken ends the reading behind the part that was asked for.
var errTaken = errors.New("web: the part was taken")

// partParam asks for one part of a document of several files.
var partParam = param{name: "part", about: "of a document of several files: only this one, from 1, without its transfer encoding"}

// SendPart is SendPayload for one part of a document of several files
// (multipart/related): number is its place, from 1, as somebody typed it. The
// part is sent while the document is read; nothing is kept of it.
func (o Options) SendPart(w http.ResponseWriter, r *http.Request, m queue.Message, number string, by fault.Actor) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return bad("part", "The part is a number from 1.")
	}
	if _, several, err := as2.RelatedBoundary(m.Payload.ContentType); err == nil && !several {
		return &Problem{Slug: NotFound, Field: "part", Message: m.ID, Detail: "This document is one file and has no parts: ask for it whole."}
	}
	f, err := o.OpenPayload(r.Context(), m, by, fmt.Sprintf("file %d of the document was downloaded", n))
	if err != nil {
		return err
	}
	defer f.Close()
	count := 0
	err = as2.TakeApart(f, m.Payload.ContentType, func(p as2.RelatedPart, content io.Reader) error {
		if count = p.N; p.N != n {
			return nil
		}
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("%s-part-%d", m.ID, n)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		attach(w.Header(), name)
		if _, err := io.Copy(w, content); err != nil {
			return err
		}
		return errTaken
	})
	switch {
	case errors.Is(err, errTaken):
		return nil
	case err == nil:
		return &Problem{Slug: NotFound, Field: "part", Message: m.ID, Detail: fmt.Sprintf("This document has %s: there is no file %d.", words.Count(count, "file", "files"), n)}
	case errors.Is(err, as2.ErrRelated):
		return begun(w, &Problem{Slug: Conflict, Message: m.ID, Detail: fmt.Sprintf("The document cannot be taken apart: %v. Ask for it whole.", err)})
	}
	return begun(w, err)
}
