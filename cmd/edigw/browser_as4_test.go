package main

import (
	"fmt"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"edigw/queue"
)

// galleryAS4 is what happened with partners that speak AS4.
type galleryAS4 struct {
	*duo
	sent, refused, unsure, waiting messageView // by us
	came, stranger                 messageView // from north
}

// hostileValue is a header value that wants to be more than text.
const hostileValue = `<script>hacked=1</script>`

// partnersAS4 are north, a gateway that does what it should until it signs with a
// new key, and south, which fetches and never comes.
func (g *gallery) partnersAS4() {
	g.Helper()
	p := acquaint(g, g.site)
	g.as4.duo = p
	p.settle(g.site, "http://"+p.north.receive, "profile: edelivery-1.15", `service: {value: Orders, type: "urn:example:services"}`, "action: Deliver", `agreement: {value: "https://agreements.example/2026-11"}`,
		`properties: {originalSender: "urn:example:c1", finalRecipient: "`+hostileValue+`"}`, "receive: {collaboration: any}")
	p.settle(p.north, "http://"+g.receive, "receive: {collaboration: any}", "properties: {originalSender: "+fmt.Sprintf("%q", hostileValue)+"}")
	g.write("partners/south.yaml", "name: Southridge\nprotocol: as4\nas4: {to: {party: \"urn:example:ids:south\"}, mep: one-way/pull, mpc: \"urn:example:mpc:south\", url: \"http://"+freeAddress(g)+"/as4\"}\n"+
		"certificates: {verify: ../keys/north.crt, encrypt: ../keys/north.crt}\n")
	p.north.start()
}

// happenAS4 fills in what partnersAS4 are for.
func (g *gallery) happenAS4() {
	g.Helper()
	a := &g.as4
	reload := func() {
		g.Helper()
		if code, text := a.north.run("reload"); code != exitFine {
			g.Fatalf("reload: %d %s", code, text)
		}
	}
	inbound := func(some int) (m messageView) {
		g.Helper()
		g.await("north's message is there", func() bool {
			list := everything[messageView](g.site, "/messages", query("partner", "north", "direction", "in"))
			if len(list) == some {
				m = list[0]
			}
			return len(list) == some
		})
		return m
	}
	a.waiting = g.sent("south", "PO-S", sampleDocument(g, "edifact-orders.edi"))
	a.sent = g.end(g.sent("north", "PO-N", sampleDocument(g, "edifact-orders.edi")).ID)
	a.north.end(a.north.sent("acme", "INV-N", sampleDocument(g, "ubl-invoice.xml")).ID)
	a.came = inbound(1)
	a.settle(a.north, "http://"+g.receive)
	reload()
	a.refused = g.end(g.sent("north", "PO-N2", invoice(21)).ID)
	a.settle(a.north, "http://"+g.receive, "receive: {collaboration: any}")
	a.north.newSigner()
	reload()
	a.unsure = g.end(g.sent("north", "PO-N3", invoice(22)).ID)
	a.north.end(a.north.sent("acme", "INV-N2", invoice(23)).ID)
	a.stranger = inbound(2)
	if a.sent.State != string(queue.Delivered) || a.refused.State != string(queue.Dead) || a.unsure.State != string(queue.Dead) || !strings.Contains(a.unsure.sentence(), "Receipt not trusted") {
		g.Fatalf("%s, %s, %s", a.sent.sentence(), a.refused.sentence(), a.unsure.sentence())
	}
}

// picturesAS4 are pages of AS4, with everything unfolded.
func (g *gallery) picturesAS4() []picture {
	m := func(of messageView) string { return "/messages/" + of.ID }
	a := g.as4
	return []picture{
		{"as4-partner", "/partners/north", ""}, {"as4-partner-pulls", "/partners/south", ""}, {"as4-settings", "/partners/north/settings", ""},
		{"as4-delivered", m(a.sent), ""}, {"as4-refused", m(a.refused), ""}, {"as4-receipt-of-stranger", m(a.unsure), ""}, {"as4-waits-for-pull", m(a.waiting), ""},
		{"as4-received", m(a.came), ""}, {"as4-message-of-stranger", m(a.stranger), ""},
	}
}

// unfold opens all that is folded on a page.
func (t *tab) unfold() {
	t.Helper()
	asks[bool](t, "document.querySelectorAll('main details').forEach(d => d.open = true), true")
}

// TestBrowserPagesOfAS4 is TestBrowserPages for those: everything unfolded, no
// wider than the window, and without a complaint of axe-core or of the browser.
func TestBrowserPagesOfAS4(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	script := axeScript(t)
	b := openBrowser(g.site)
	b.visit("/sign-in")
	b.signIn("ada")
	for _, p := range g.picturesAS4() {
		b.visit(p.path)
		b.unfold()
		b.inspect(p, script, "light", "dark")
		if asks[bool](b, "typeof hacked !== 'undefined'") {
			t.Errorf("%s runs what a partner wrote", p.name)
		}
	}
	b.visit("/messages/" + g.as4.came.ID)
	if text := b.text("main"); !strings.Contains(text, hostileValue) {
		t.Errorf("what a partner wrote is not shown: %.2000s", text)
	}
	if script == "" {
		testfixture.Missing(t, "axe-core (EDIGW_AXE=…/axe.min.js)")
	}
}
