package partner

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
)

// fromNorthwind is a message of the partner Northwind to us, of the samples.
func fromNorthwind(edit func(u *ebms.UserMessage)) *ebms.UserMessage {
	u := &ebms.UserMessage{
		From:      ebms.Party{IDs: []ebms.PartyID{{Value: "NORTHWIND", Type: "urn:example:partners"}}, Role: "anything"},
		To:        ebms.Party{IDs: []ebms.PartyID{{Value: "9990011111111", Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}}},
		Agreement: &ebms.AgreementRef{Value: "https://agreements.example/1", Type: "urn:example:agreements"},
		Service:   ebms.Service{Value: "Orders", Type: "urn:example:services"},
		Action:    "Deliver",
	}
	edit(u)
	return u
}

func TestByMessageFindsThePartnerAndTellsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	for _, test := range []struct {
		name              string
		edit              func(u *ebms.UserMessage)
		known             bool
		code, field, want string
	}{
		{"as settled", func(*ebms.UserMessage) {}, true, "", "", ""},
		{"by the other id", func(u *ebms.UserMessage) {
			u.From.IDs = []ebms.PartyID{{Value: "4012345000009", Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}}
		}, true, "", "", ""},
		{"by one of two ids", func(u *ebms.UserMessage) {
			u.From.IDs = append([]ebms.PartyID{{Value: "urn:example:unknown"}}, u.From.IDs...)
		}, true, "", "", ""},
		{"what they send besides", func(u *ebms.UserMessage) { u.Service.Value, u.Agreement = "Invoices", nil }, true, "", "", ""},
		{"with the P-Mode's id", func(u *ebms.UserMessage) { u.Agreement.PMode = "orders" }, true, "", "", ""},
		{"to the test service", func(u *ebms.UserMessage) {
			u.Service, u.Action = ebms.Service{Value: ebms.TestService}, ebms.TestAction
		}, true, "", "", ""},
		{"nobody", func(u *ebms.UserMessage) { u.From.IDs[0].Value = "Northwind" }, false, "", "", ""},
		{"to nobody", func(u *ebms.UserMessage) { u.To.IDs[0].Type = "" }, false, "", "", ""},
		{"another action", func(u *ebms.UserMessage) { u.Action = "deliver" }, true, "EBMS:0001", "Action", "Confirm or Deliver"},
		{"another service", func(u *ebms.UserMessage) { u.Service.Type = "" }, true, "EBMS:0001", "Service", "Invoices (type urn:example:services) or Orders (type urn:example:services) or urn:example:confirmations"},
		{"no agreement", func(u *ebms.UserMessage) { u.Agreement = nil }, true, "EBMS:0010", "AgreementRef", "https://agreements.example/1 (type urn:example:agreements)"},
		{"an empty agreement is not none", func(u *ebms.UserMessage) { u.Service.Value, u.Agreement = "Invoices", &ebms.AgreementRef{} }, true, "EBMS:0001", "AgreementRef", " or https://agreements.example/1 (type urn:example:agreements) or https://agreements.example/2 (type urn:example:agreements)"},
		{"another P-Mode", func(u *ebms.UserMessage) { u.Agreement.PMode = "invoices" }, true, "EBMS:0001", "AgreementRef", ""},
		{"each known, not together", func(u *ebms.UserMessage) { u.Action = "Confirm" }, true, "EBMS:0010", "Action", "Deliver"},
		{"test service under another agreement", func(u *ebms.UserMessage) {
			u.Service, u.Action, u.Agreement.Value = ebms.Service{Value: ebms.TestService}, ebms.TestAction, "https://agreements.example/9"
		}, true, "EBMS:0001", "AgreementRef", ""},
		{"test service under no agreement", func(u *ebms.UserMessage) {
			u.Service, u.Action, u.Agreement = ebms.Service{Value: ebms.TestService}, ebms.TestAction, nil
		}, true, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, id, err := s.ByMessage(fromNorthwind(test.edit), today)
			if !test.known {
				if !errors.Is(err, as4.ErrNoPMode) || id != "" {
					t.Errorf("got %q, %v", id, err)
				}
				return
			}
			if id != "every-key" || m.URL != "https://as4.northwind.example/msh" || len(m.Decrypt) == 0 {
				t.Errorf("the P-Mode is that of %q", id)
			}
			var mismatch *as4.MismatchError
			switch got := errors.As(err, &mismatch); {
			case got != (test.code != ""), !got && err != nil:
				t.Errorf("got %v", err)
			case got && (mismatch.Code != test.code || mismatch.Field != test.field || test.want != "" && mismatch.Want != test.want):
				t.Errorf("got %s %v, want %s %s %q", mismatch.Code, mismatch, test.code, test.field, test.want)
			}
		})
	}
}

// TestAnyCollaborationTakesEverything that comes from the partner.
func TestAnyCollaborationTakesEverything(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	u := &ebms.UserMessage{
		From:    ebms.Party{IDs: []ebms.PartyID{{Value: "sti-taxud", Type: "urn:oasis:names:tc:ebcore:partyid-type:unregistered:eu-customs:auth"}}},
		To:      ebms.Party{IDs: []ebms.PartyID{{Value: "EU0000000000123", Type: "urn:oasis:names:tc:ebcore:partyid-type:unregistered:eu-customs:EORI"}}},
		Service: ebms.Service{Value: "whatever"}, Action: "IE3R01",
	}
	if _, id, err := s.ByMessage(u, today); err != nil || id != "customs" {
		t.Errorf("%q, %v", id, err)
	}
}

// TestPartnersMayShareTheirParties if they differ in what they send; each finds
// his own.
func TestPartnersMayShareTheirParties(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	twin := strings.Replace(read(t, dir, "good", "minimal.yaml"), "  to:", "  service: {value: \"urn:example:invoices\"}\n  to:", 1)
	write(t, filepath.Join(dir, "good", "minimal-invoices.yaml"), twin)
	s := mustLoad(t, dir)
	for service, want := range map[string]string{ebms.DefaultService: "minimal", "urn:example:invoices": "minimal-invoices"} {
		u := &ebms.UserMessage{
			From:    ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:contoso"}}},
			To:      ebms.Party{IDs: []ebms.PartyID{{Value: "9990098765432", Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}}},
			Service: ebms.Service{Value: service}, Action: ebms.DefaultAction,
		}
		if _, id, err := s.ByMessage(u, today); err != nil || id != want {
			t.Errorf("%s is that of %q, %v", service, id, err)
		}
	}
}

// TestAnAgreementTellsPartnersApart, also one from none.
func TestAnAgreementTellsPartnersApart(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	text := read(t, dir, "good", "minimal.yaml")
	for i, value := range []string{"https://agreements.example/1", "https://agreements.example/2"} {
		write(t, filepath.Join(dir, "good", fmt.Sprintf("minimal-%d.yaml", i)), strings.Replace(text, "  to:", "  agreement: {value: \""+value+"\"}\n  to:", 1))
	}
	s := mustLoad(t, dir)
	for _, id := range []string{"minimal", "minimal-0", "minimal-1"} {
		if p, _ := s.Partner(id); p.Misconfigured {
			t.Errorf("%s: %s", id, lines(p.Problems))
		}
	}
	u := fromNorthwind(func(u *ebms.UserMessage) {
		u.From.IDs, u.To.IDs = []ebms.PartyID{{Value: "urn:example:contoso"}}, []ebms.PartyID{{Value: "9990098765432", Type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}}
		u.Service, u.Action, u.Agreement = ebms.Service{Value: ebms.DefaultService}, ebms.DefaultAction, &ebms.AgreementRef{Value: "https://agreements.example/2"}
	})
	if _, id, err := s.ByMessage(u, today); err != nil || id != "minimal-1" {
		t.Errorf("%q, %v", id, err)
	}
}

// TestPartnersOfTheSameMessagesAreRefused: both, each problem names the other
// file; with good settings from before they go on with those.
func TestPartnersOfTheSameMessagesAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ from, to, want string }{
		"the same":           {"  to:", "  fresh_id: true\n  to:", "has the same parties (ours 9990098765432 (type urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088), theirs urn:example:contoso), service, action and agreement: messages could not be told apart"},
		"among others":       {"  to:", "  service: {value: \"urn:example:invoices\"}\n  receive: {also: {action: http://docs.oasis-open.org/ebxml-msg/as4/200902/action}}\n  to:", ", service, action and agreement"},
		"one takes anything": {"  to:", "  service: {value: \"urn:example:invoices\"}\n  receive: {collaboration: any}\n  to:", "takes every service and action"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := installationAS4(t)
			twin := filepath.Join(dir, "good", "zwilling.yaml")
			write(t, twin, strings.Replace(read(t, dir, "good", "minimal.yaml"), change.from, change.to, 1))
			r := open(t, dir)
			for id, other := range map[string]string{"minimal": "zwilling", "zwilling": "minimal"} {
				p := mustPartner(t, r, id)
				text := lines(p.Problems)
				if !p.Misconfigured || !strings.Contains(text, "good/"+id+".yaml:") || !strings.Contains(text, "as4.to: good/"+other+".yaml has the same parties") || id == "zwilling" && !strings.Contains(text, change.want) {
					t.Errorf("%s: misconfigured: %v, problems:\n%s", id, p.Misconfigured, text)
				}
			}
			mended := strings.Replace(read(t, dir, "good", "minimal.yaml"), "urn:example:contoso", "urn:example:zwilling", 1)
			write(t, twin, mended)
			r.Reload()
			for _, id := range []string{"minimal", "zwilling"} {
				if p := mustPartner(t, r, id); p.Misconfigured || p.Stale {
					t.Errorf("mended: %s: %s", id, lines(p.Problems))
				}
			}
			write(t, twin, strings.Replace(mended, "zwilling", "contoso", 1))
			r.Reload()
			for _, id := range []string{"minimal", "zwilling"} {
				if p := mustPartner(t, r, id); p.Misconfigured || !p.Stale {
					t.Errorf("on reload %s: misconfigured: %v, stale: %v", id, p.Misconfigured, p.Stale)
				}
			}
		})
	}
}

// TestByMPC: who may pull from a channel, with his login.
func TestByMPC(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	write(t, filepath.Join(dir, "good", "default.yaml"), strings.ReplaceAll(strings.Replace(read(t, dir, "good", "contoso-pull.yaml"), "  mpc: urn:example:mpc:contoso\n", "", 1), "contoso", "default"))
	s := mustLoad(t, dir)
	for mpc, want := range map[string]string{
		"urn:example:mpc:contoso/invoices": "contoso-pull /", "urn:example:mpc:contoso:a?b#c": "contoso-pull /", "urn:example:mpc:contoso-2": "",
		ebms.DefaultMPC + "/invoices": "", "urn:example:mpc:contoso/" + strings.Repeat("x/", longestMPC): "",
		"urn:example:mpc:northwind": "every-key northwind/erp-test", "urn:example:mpc:contoso": "contoso-pull /", "urn:example:mpc:acme": "",
		"": "default /", ebms.DefaultMPC: "default /", "urn:example:mpc": "",
	} {
		var got []string
		for _, p := range s.ByMPC(mpc, today) {
			got = append(got, p.Partner+" "+p.PMode.PullUser+"/"+p.PMode.PullPassword)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", mpc, got, want)
		}
	}
}

// TestAChannelHasItsBound, and nobody in it the login of another.
func TestAChannelHasItsBound(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	text := read(t, dir, "good", "contoso-pull.yaml")
	for i := range as4.MaxPullers + 1 {
		one := strings.Replace(text, "urn:example:contoso-pull", fmt.Sprintf("urn:example:contoso-%d", i), 1)
		write(t, filepath.Join(dir, "good", fmt.Sprintf("p%02d.yaml", i)), strings.Replace(one, "mpc:contoso", "mpc:crowd", 1))
	}
	same := strings.Replace(text, "  mep:", "  pull: {user: contoso, password_file: ../../secrets/northwind}\n  mep:", 1)
	for _, id := range []string{"same-a", "same-b"} {
		write(t, filepath.Join(dir, "good", id+".yaml"), strings.Replace(same, "urn:example:contoso-pull", "urn:example:"+id, 1))
	}
	s := mustLoad(t, dir)
	if n := len(s.ByMPC("urn:example:mpc:crowd", today)); n != as4.MaxPullers {
		t.Errorf("%d may pull", n)
	}
	text = lines(s.Problems())
	for _, want := range []string{"good/p50.yaml:10: as4.mpc: 50 partners pull from urn:example:mpc:crowd already", "good/same-a.yaml:9: as4.pull.user: contoso pulls from the same channel as same-b", "good/same-b.yaml:9: as4.pull.user: contoso pulls from the same channel as same-a"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
