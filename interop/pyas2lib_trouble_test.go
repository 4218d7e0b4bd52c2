package interop

import (
	"context"
	"slices"
	"testing"
)

// answerLost has the peer take a message and cut the connection: edigw sends
// the same bytes again, and understands that the peer has them already.
func answerLost(t *testing.T, s *site, p *pyas2lib, m *matrix) {
	what := "The peer takes a message and its answer is lost: sent again, answered as a duplicate, which counts as delivered."
	m.scenario(t, p, "answer-lost", what, func(t *testing.T) {
		s.in(t)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		pr := profiles[slices.IndexFunc(profiles, func(p profile) bool { return p.name == "signed-encrypted-aes256" })]
		pr.fileName, pr.content = "answer-lost.bin", binary // an order would be an edition of that of the cell
		terms := termsOf(p, pr)
		if err := p.ask(ctx, question{Op: "lose", Terms: &terms}, nil); err != nil {
			t.Fatal(err)
		}
		d := newDocument(t, "answer-lost", pr)
		if err := s.command("send", pr.partner(p), d.file); err != nil {
			t.Fatal(err)
		}
		var sent message
		err := await(ctx, "the message has its end", func() bool {
			now, found, err := s.sent(ctx, pr.partner(p))
			sent = now
			return err == nil && found && now.ended()
		})
		if err != nil {
			t.Fatal(err)
		}
		if sent.State != "delivered" || sent.Proof != "duplicate-answer" || len(sent.Attempts) != 2 {
			t.Errorf("%s, proof %q, %d attempts: %s", sent.State, sent.Proof, len(sent.Attempts), sent.Detail)
		}
		got, err := p.received(ctx, pr, sent.MessageID)
		if err != nil {
			t.Fatal(err)
		}
		var r result
		cell{site: s}.compare(got.File, got.FileName, d, &r)
		if len(r) > 0 {
			t.Error(r)
		}
	})
}
