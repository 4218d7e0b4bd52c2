package partner

import (
	"testing"

	"edigw/as4/ebms"
)

// The door and later editions take the Message-ID from here: also of a partner
// whose file does not name both sides, so that no two share one.
func TestNamesOfMessageIDs(t *testing.T) {
	t.Parallel()
	gateway := &Gateway{}
	gateway.Identity.AS2 = "ACME"
	gateway.Identity.AS4 = &AS4Identity{Party: "urn:example:acme"}
	as2 := func(from, to string) *AS2 {
		a := &AS2{}
		a.Template.From, a.Template.To = from, to
		return a
	}
	as4 := func(to string) *AS4 {
		a := &AS4{}
		a.Template.From.IDs = []ebms.PartyID{{Value: "4012345000001", Type: "urn:example:gln"}}
		a.Template.To.IDs = []ebms.PartyID{{Value: to}, {Value: to + ":other"}}
		return a
	}
	s := &Snapshot{gateway: gateway, names: map[pair]string{}, byParties: map[parties][]string{}, sharing: map[parties]int{}, partners: map[string]*Partner{
		"named":    {ID: "named", Protocol: protocolAS2, AS2: as2("ACME-DE", "NORTHWIND")},
		"half":     {ID: "half", Protocol: protocolAS2, AS2: as2("", "")},
		"bad":      {ID: "bad", Misconfigured: true},
		"bad4":     {ID: "bad4", Protocol: protocolAS4, Misconfigured: true},
		"alone":    {ID: "alone", Protocol: protocolAS4, AS4: as4("urn:example:globex")},
		"orders":   {ID: "orders", Protocol: protocolAS4, AS4: as4("urn:example:initech")},
		"invoices": {ID: "invoices", Protocol: protocolAS4, AS4: as4("urn:example:initech")},
		"broken":   {ID: "broken", Protocol: protocolAS4, AS4: as4("urn:example:initech"), Misconfigured: true},
		"vinet":    {ID: "vinet", Protocol: protocolAS4, AS4: as4("urn:example:vinet")},
		"mistake":  {ID: "mistake", Protocol: protocolAS4, AS4: as4("urn:example:vinet"), Misconfigured: true},
	}}
	for id := range s.partners {
		s.ids = append(s.ids, id)
	}
	s.index()
	for id, want := range map[string][2]string{
		"named":    {"ACME-DE", "NORTHWIND"},
		"half":     {"ACME", "half"},
		"bad":      {"ACME", "bad"},
		"gone":     {"ACME", "gone"},
		"bad4":     {"urn:example:acme", "bad4"},
		"alone":    {"4012345000001", "urn:example:globex"},
		"orders":   {"4012345000001", "urn:example:initech\norders"},
		"invoices": {"4012345000001", "urn:example:initech\ninvoices"},
		"broken":   {"4012345000001", "urn:example:initech\nbroken"},
		"vinet":    {"4012345000001", "urn:example:vinet\nvinet"},
		"mistake":  {"4012345000001", "urn:example:vinet\nmistake"},
	} {
		if ours, theirs := s.Names(id); ours != want[0] || theirs != want[1] {
			t.Errorf("%s: %q and %q, want %q", id, ours, theirs, want)
		}
	}
}
