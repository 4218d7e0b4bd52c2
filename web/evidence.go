package web

import (
	"context"
	"io"
	"net/http"

	"edigw/queue"
)

// Evidence writes the proof of a delivery; the protocols' senders do.
type Evidence interface {
	// Evidence writes a zip that proves what the partner acknowledged, with
	// the commands by which anybody can check it. attempts and builds are all
	// those of m, oldest first. What is past its retention is no error.
	Evidence(ctx context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error
}

// evidence gives the proof of a delivery as a download.
func (a *API) evidence(c *call) error {
	m, err := a.find(c)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	attempts, err := a.Ledger.Attempts(ctx, m.ID)
	if err != nil {
		return err
	}
	builds, err := a.Ledger.Builds(ctx, m.ID)
	if err != nil {
		return err
	}
	if err := a.viewed(c, m, "the evidence was read"); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/zip")
	attach(c.w.Header(), "evidence-"+m.ID+".zip")
	return c.begun(a.Evidence.Evidence(ctx, c.w, m, attempts, builds))
}

// begun gives an error that came before the first byte of a download. One that
// came later cuts the connection: the answer must not look complete.
func (c *call) begun(err error) error {
	if err == nil {
		return nil
	}
	if rec, ok := c.w.(*recorder); ok && rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := c.w.Header()
	h.Del("Content-Disposition")
	h.Del("Content-Length")
	return err
}
