package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"edigw/access"
	"edigw/queue"
)

// prover pretends to prove.
type prover struct {
	text string
	err  error
	got  []string
}

func (p *prover) Evidence(_ context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error {
	p.got = append(p.got, m.ID)
	if p.text != "" {
		io.WriteString(w, p.text)
	}
	return p.err
}

func TestEvidenceIsADownloadAndAudited(t *testing.T) {
	t.Parallel()
	p := &prover{text: "PK"}
	b := newBench(t, func(o *Options) { o.Evidence = p })
	m := b.accept("northwind", "a")
	got := b.as(access.Read, http.MethodGet, Base+"/messages/"+m.ID+"/evidence", "").want(http.StatusOK)
	if string(got.body) != "PK" || got.header.Get("Content-Type") != "application/zip" || got.header.Get("Content-Disposition") != "attachment; filename=evidence-"+m.ID+".zip" {
		t.Errorf("%v: %s", got.header, got.body)
	}
	equal(t, "asked for", []string{m.ID}, p.got)
	var audit list[event]
	b.get("/audit?actor=only-read").json(&audit)
	if len(audit.Items) != 1 || audit.Items[0].Type != "payload-viewed" || audit.Items[0].Text != "the evidence was read" {
		t.Errorf("audit %+v", audit.Items)
	}
}

func TestADownloadThatFailsIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	p := &prover{err: errBroken}
	b := newBench(t, func(o *Options) { o.Evidence = p })
	m := b.accept("northwind", "a")
	got := b.get("/messages/" + m.ID + "/evidence")
	got.problem(Internal)
	if got.header.Get("Content-Disposition") != "" {
		t.Errorf("a problem as a download: %v", got.header)
	}
	p.text = "PK"
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Error("half a zip looks whole")
		}
	}()
	b.get("/messages/" + m.ID + "/evidence")
}
