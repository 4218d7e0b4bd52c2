package web

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strconv"
	"time"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/store/spool"
)

// Spool opens stored bodies for reading; *spool.Spool does. One that is not
// there is fs.ErrNotExist.
type Spool interface {
	Open(k spool.Kind, name string) (io.ReadSeekCloser, error)
}

// payload gives the document as it was handed in or received.
func (a *API) payload(c *call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	if part := c.query.Get("part"); part != "" {
		return a.SendPart(c.w, c.r, m, part, c.actor)
	}
	return a.SendPayload(c.w, c.r, m, c.actor)
}

// SendPayload answers with a document. It is always a download: nothing of a
// partner's is ever run or rendered here. Who got it is in the ledger before
// the first byte leaves. An error comes before the answer has begun; one later
// cuts the connection.
func (o Options) SendPayload(w http.ResponseWriter, r *http.Request, m queue.Message, by fault.Actor) error {
	f, err := o.OpenPayload(r.Context(), m, by, "the document was downloaded")
	if err != nil {
		return err
	}
	defer f.Close()
	name := m.Payload.FileName
	if name == "" {
		name = m.ID
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(m.Payload.Size, 10))
	attach(h, name)
	_, err = io.Copy(w, f)
	return begun(w, err)
}

// OpenPayload opens a document for somebody who may see it, and notes in the
// ledger that he did, and what for. One that is not there any more is a
// *Problem that says why.
func (o Options) OpenPayload(ctx context.Context, m queue.Message, by fault.Actor, what string) (io.ReadSeekCloser, error) {
	f, err := o.Spool.Open(spool.Payload, m.Payload.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Problem{Slug: NotFound, Message: m.ID, Detail: o.removed(m)}
	}
	if err != nil {
		return nil, err
	}
	if err := o.viewed(ctx, m, by, what); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removed says why a document is not there.
func (o Options) removed(m queue.Message) string {
	keep := time.Duration(o.Settings().Gateway().Retention.Payloads)
	if p, known := o.Settings().Partner(m.Partner); known {
		keep = p.Retention.Payloads
	}
	if m.State == queue.Refused {
		return "The document was refused at the door: its content was not kept."
	}
	return words.Removed(keep)
}

// viewed notes who looked at content, before he gets it.
func (o Options) viewed(ctx context.Context, m queue.Message, by fault.Actor, what string) error {
	return o.Ledger.AddEvents(ctx, queue.Event{
		At: o.Now(), Type: queue.EventPayload, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Actor: by, Text: what,
	})
}

// attach makes an answer a download of that name (RFC 6266 §4).
func attach(h http.Header, name string) {
	value := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	if value == "" {
		value = "attachment"
	}
	h.Set("Content-Disposition", value)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
}
