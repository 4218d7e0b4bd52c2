package web

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"edigw/internal/words"
	"edigw/queue"
	"edigw/store/spool"
)

// Spool opens stored files for reading; *spool.Spool does. One that is not
// there is fs.ErrNotExist.
type Spool interface {
	Open(k spool.Kind, name string) (*os.File, error)
}

// payload gives the document as it was handed in or received. It is always a
// download: nothing of a partner's is ever run or rendered here.
func (a *API) payload(c *call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	f, err := a.Spool.Open(spool.Payload, m.Payload.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{Slug: NotFound, Message: m.ID, Detail: a.removed(m)}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := a.viewed(c, m, "the document was read"); err != nil {
		return err
	}
	name := m.Payload.FileName
	if name == "" {
		name = m.ID
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(m.Payload.Size, 10))
	attach(h, name)
	_, err = io.Copy(c.w, f)
	return c.begun(err)
}

// removed says why a document is not there.
func (a *API) removed(m queue.Message) string {
	keep := time.Duration(a.Settings().Gateway().Retention.Payloads)
	if p, known := a.Settings().Partner(m.Partner); known {
		keep = p.Retention.Payloads
	}
	if m.State == queue.Refused {
		return "The document was refused at the door: its content was not kept."
	}
	return words.Removed(keep)
}

// viewed notes who looked at content, before he gets it.
func (a *API) viewed(c *call, m queue.Message, what string) error {
	return a.Ledger.AddEvents(c.r.Context(), queue.Event{
		At: a.Now(), Type: queue.EventPayload, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Actor: c.actor, Text: what,
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
