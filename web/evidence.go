package web

import (
	"context"
	"io"
	"net/http"

	"edigw/fault"
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
	return a.SendEvidence(c.w, c.r, m, c.actor)
}

// SendEvidence answers with the proof of a delivery, as SendPayload does with
// the document that is in it.
func (o Options) SendEvidence(w http.ResponseWriter, r *http.Request, m queue.Message, by fault.Actor) error {
	ctx := r.Context()
	attempts, err := o.Ledger.Attempts(ctx, m.ID)
	if err != nil {
		return err
	}
	builds, err := o.Ledger.Builds(ctx, m.ID)
	if err != nil {
		return err
	}
	if err := o.viewed(ctx, m, by, "the evidence was read"); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	attach(w.Header(), "evidence-"+m.ID+".zip")
	return begun(w, o.Evidence.Evidence(ctx, w, m, attempts, builds))
}

// begun gives an error that came before the first byte of a download. One that
// came later cuts the connection: the answer must not look complete.
func begun(w http.ResponseWriter, err error) error {
	if err == nil {
		return nil
	}
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Del("Content-Disposition")
	h.Del("Content-Length")
	return err
}
