package dlq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/queue"
	"github.com/google/go-cmp/cmp"
)

// refused is a message that the partner sent us and that was refused.
func (b *bench) refused(partner string) queue.Letter {
	b.t.Helper()
	b.made++
	m := queue.Message{ID: fmt.Sprintf("i%04d", b.made), Partner: partner, Lane: partner + "/inbox", Kind: queue.KindDocument, Direction: queue.In,
		Protocol: "as2", State: queue.Queued, Accepted: b.now(), Round: 1}
	m.Key = "k" + m.ID
	if err := b.store.Record(context.Background(), &queue.Result{Message: &m}); err != nil {
		b.t.Fatalf("record: %v", err)
	}
	return *b.move(m.ID, queue.Input{Trigger: queue.OnFail, Reason: fault.ReasonSignature, Note: "signed by somebody else"}).Opened
}

// What partners sent is never replayed: a bulk replay counts it and leaves it
// out, whether a filter or ids select it.
func TestBulkCountsWhatPartnersSentAndLeavesItOut(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string]bool{"filter": false, "ids": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			in, out := b.refused("northwind"), b.buried("northwind")
			sel := Selection{Filter: queue.LetterFilter{Partner: "northwind", Status: queue.LetterOpen}}
			only := Selection{Filter: queue.LetterFilter{Partner: "northwind", Reason: fault.ReasonSignature}}
			if ids {
				sel, only = Selection{IDs: []string{in.ID, out.ID}}, Selection{IDs: []string{in.ID}}
			}
			want := queue.ReplayCounts{Total: 1, Pending: 1, NeverTried: 1, Inbound: 1}
			plan, err := b.Bulk(ctx(t), sel, BulkAsk{Actor: kim, DryRun: true})
			if d := cmp.Diff(want, plan.Job.Counts); err != nil || d != "" {
				t.Errorf("dry run: %v, counts -want +got\n%s", err, d)
			}
			j := b.bulk(sel, BulkAsk{})
			if d := cmp.Diff(want, j.Counts); d != "" {
				t.Errorf("counts -want +got\n%s", d)
			}
			if items := b.items(j.ID); len(items) != 1 || items[0].Letter != out.ID {
				t.Errorf("items %+v", items)
			}
			for _, ask := range []BulkAsk{{Actor: kim}, {Actor: kim, Confirm: Codes}} {
				if _, err := b.Bulk(ctx(t), only, ask); !errors.Is(err, ErrOnlyReceived) {
					t.Errorf("only what they sent, confirmed %v: %v", ask.Confirm, err)
				}
			}
			if got := b.letter(in.ID); got.Version != in.Version {
				t.Errorf("its letter changed: %+v", got)
			}
		})
	}
}

// A document of several files is not edited as text, and it is said what to do.
func TestADocumentOfSeveralFilesIsNotEdited(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{
		"several files": `multipart/related; type="application/edi-x12"; boundary="b1"`, "no boundary": "multipart/related", "another multipart": "multipart/mixed; boundary=b1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, shelf := editBench(t)
			l := b.buried("northwind", func(m *queue.Message) { m.Payload.ContentType = contentType })
			if Editable(b.message(l.Message)) {
				t.Error("it is editable")
			}
			_, err := b.edit(t, l.ID, invoice(t))
			var no *ConflictError
			if !errors.As(err, &no) || !strings.Contains(no.Text, "several files") || !strings.Contains(no.Text, "--attach") || strings.Contains(no.Text, "unknown") {
				t.Errorf("%v", err)
			}
			b.untouched(t, l)
			if len(shelf.kept) != 0 {
				t.Errorf("kept %v", shelf.kept)
			}
		})
	}
}
