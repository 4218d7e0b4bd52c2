package interop

import (
	"strings"
	"testing"
)

// pyas4Tricks are the profiles of its scenarios. It believes what the profile says,
// but for edigw's certificate in the second one.
var pyas4Tricks = completedAS4([]as4Profile{
	{name: "forged", community: "peppol", encryptToken: "bst", payloads: []payload{{invoice, "application/xml"}}},
	{name: "not-trusted", community: "peppol", encryptToken: "bst", payloads: []payload{{invoice, "application/xml"}}},
	{name: "answer-lost", community: "peppol", encryptToken: "bst", payloads: []payload{{invoice, "application/xml"}}},
})

// pyas4Terms are what it believes of them.
func (e edigws) pyas4Terms(p *pyas4) []as4Terms {
	all := e.terms(p, pyas4Tricks)
	all[1].EdigwSign = "other"
	return all
}

// troublePyAS4 runs the scenarios, one after the other.
func troublePyAS4(t *testing.T, e edigws, p *pyas4, m *matrix) {
	s, terms := e.main, e.pyas4Terms(p)
	e.introduce(p, pyas4Tricks, p.listens())
	for i, sc := range []struct {
		what string
		run  func(*testing.T, *site, *pyas4, as4Terms)
	}{
		{"The header was changed after it was signed: EBMS:0101, and a letter; the peer understands the error.", forgedByPyAS4},
		{"The peer does not know our certificate: its error makes a letter.", notTrustedByPyAS4},
		{"The peer takes a message and its answer is lost: sent again; it knows no duplicates and gives a receipt again.", answerLostByPyAS4},
	} {
		name := pyas4Tricks[i].name
		m.scenario(t, p, name, sc.what, func(t *testing.T) {
			s.in(t)
			sc.run(t, s, p, terms[i])
		})
	}
}

func forgedByPyAS4(t *testing.T, s *site, p *pyas4, terms as4Terms) {
	got, err := p.send(t.Context(), question{Terms: terms, Documents: newPapers(t, "forged", pyas4Tricks[0]).forDriver(), Corrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	if len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0101" || !got.Verified || got.RefTo != got.MessageID {
		t.Error("the peer heard something else")
	}
	if all := s.letters(pyas4Tricks[0].partner(p)); len(all) != 1 || all[0].Direction != "in" {
		t.Errorf("letters: %+v", all)
	}
}

// sendTo has edigw send a document of a scenario, and waits for its end.
func (s *site) sendTo(t *testing.T, p *pyas4, pr as4Profile) message {
	t.Helper()
	all := newPapers(t, pr.name, pr)
	if err := s.command("send", pr.partner(p), all[0].file, "--content-type", all[0].contentType); err != nil {
		t.Fatal(err)
	}
	m, err := s.ending(t.Context(), pr.partner(p))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, proof %q, %d attempts: %s", m.State, m.Proof, len(m.Attempts), m.Detail)
	return m
}

func notTrustedByPyAS4(t *testing.T, s *site, p *pyas4, _ as4Terms) {
	m := s.sendTo(t, p, pyas4Tricks[1])
	if m.State != "dead" || len(m.Attempts) != 1 || m.Attempts[0].Ack == nil || !strings.HasPrefix(m.Attempts[0].Ack.EBMS, "EBMS:01") {
		t.Errorf("%+v", m)
	}
	if all := s.letters(pyas4Tricks[1].partner(p)); len(all) != 1 {
		t.Errorf("letters: %+v", all)
	}
}

func answerLostByPyAS4(t *testing.T, s *site, p *pyas4, terms as4Terms) {
	if err := p.ask(t.Context(), question{Op: "lose", Terms: terms}, nil); err != nil {
		t.Fatal(err)
	}
	if m := s.sendTo(t, p, pyas4Tricks[2]); m.State != "delivered" || m.Proof != "receipt" || len(m.Attempts) != 2 {
		t.Errorf("%+v", m)
	}
}
