package intake

import (
	"testing"

	"edigw/partner"
	"edigw/queue"
)

// The door and later editions take the Message-ID from here: also of a partner
// whose file does not name both sides, so that no two share one.
func TestIdentityNamesBothSides(t *testing.T) {
	t.Parallel()
	var g partner.Gateway
	g.Identity.AS2, g.Identity.Domain = "ACME", "edi.acme.example"
	named := &partner.Partner{ID: "northwind", Protocol: "as2", AS2: &partner.AS2{}}
	named.AS2.Template.From, named.AS2.Template.To = "ACME-DE", "NORTHWIND"
	half := &partner.Partner{ID: "northwind", AS2: &partner.AS2{}}
	for name, c := range map[string]struct {
		p    *partner.Partner
		want queue.Identity
	}{
		"as the file says":  {named, queue.Identity{From: "ACME-DE", To: "NORTHWIND", Domain: "edi.acme.example", Brackets: true}},
		"without names":     {half, queue.Identity{From: "ACME", To: "northwind", Domain: "edi.acme.example", Brackets: true}},
		"without a section": {&partner.Partner{ID: "globex"}, queue.Identity{From: "ACME", To: "globex", Domain: "edi.acme.example", Brackets: true}},
		"over AS4":          {&partner.Partner{ID: "globex", Protocol: "as4"}, queue.Identity{From: "ACME", To: "globex", Domain: "edi.acme.example"}},
	} {
		if got := Identity(&g, c.p); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
