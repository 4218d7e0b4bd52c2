package main

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"edigw/internal/testfixture"
	"edigw/internal/testpki"
	"edigw/testdata/documents"
)

// gallery is an installation in which something of every kind happened.
type gallery struct {
	*site
	partner                             *counterpart
	delivered, refused, broken, hostile messageView
	unsure, buried                      messageView
	outage, incident, bulk              string
	slack                               *httptest.Server
	as4                                 galleryAS4
}

// hostileName is a file name that wants to be more than text: markup, a script,
// letters that turn the line around.
const hostileName = `<script>hacked=1<script><img src=x onerror=hacked=1>` + "\u202egnp.edi"

// hostileDocument is an interchange whose fields do.
const hostileDocument = "ISA*00*          *00*          *ZZ*ACMESUPPLY     *ZZ*NORTHWIND      *261130*0429*U*00401*000020999*0*P*>~\n" +
	"GS*IN*ACMESUPPLY*NORTHWIND*20261130*0429*20999*X*004010~\nST*810*0001~\nBIG*20261130*<b>INV-20999</b>*20261102*\"onmouseover=hacked=1~\n" +
	"N1*ST*</pre><script>hacked=1</script>\u202e*92*0007~\nSE*4*0001~\nGE*1*20999~\nIEA*1*000020999~\n"

// newGallery makes it and lets it come to rest.
func newGallery(t testing.TB) *gallery {
	t.Helper()
	s := newSite(t, "alerts:\n  slack: {webhook_file: secrets/slack}\n  group_wait: 10ms\n")
	g := &gallery{site: s, slack: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); fmt.Fprint(w, "ok") }))}
	t.Cleanup(g.slack.Close)
	s.write("secrets/slack", g.slack.URL)
	g.partner = newCounterpart(s, "", "owner: {team: EDI wholesale, phone: \"+1 206 555 0102\", note: 24/7}\ncheck: envelope\n")
	ending := testpki.SelfSigned(s, testpki.RSA(s, 2), "CONTOSO", testpki.Valid())
	s.write("keys/contoso.crt", string(ending.CertPEM()))
	for id, rest := range map[string]string{
		"contoso":  "name: Contoso\nbreaker: {failures: 2, consecutive: 2, cooldown: 30m, max_cooldown: 30m, on_open: dead-letter}\n",
		"fabrikam": "name: Fabrikam\n",
		"wingtip":  "name: Wingtip\nlane: {concurency: 4}\n",
	} {
		s.write("partners/"+id+".yaml", fmt.Sprintf("protocol: as2\nas2: {id: %s, url: \"http://%s/as2\"}\ncertificates: {verify: ../keys/contoso.crt, encrypt: ../keys/contoso.crt}\n%s", strings.ToUpper(id), freeAddress(t), rest))
	}
	g.partnersAS4()
	s.start()
	for name, role := range map[string]string{"ada": "admin", "kim": "operator", "lee": "viewer"} {
		s.person(name, role)
	}
	g.happen()
	g.happenAS4()
	return g
}

// happen fills the gallery.
func (g *gallery) happen() {
	g.Helper()
	g.post("/partners/fabrikam/stop", map[string]string{"reason": "their maintenance"}, nil)
	for n := range 3 {
		g.sent("fabrikam", fmt.Sprint("PO-", n), sampleDocument(g, "edifact-orders.edi"))
		g.sent("contoso", fmt.Sprint("INV-8", n), invoice(800+n))
	}
	g.delivered = g.end(g.named("x12-810-invoice.edi", sampleDocument(g, "x12-810-invoice.edi")).ID)
	g.named("ubl-invoice.xml", sampleDocument(g, "ubl-invoice.xml"))
	broken := strings.Replace(string(sampleDocument(g, "x12-810-invoice.edi")), "SE*24*", "SE*23*", 1)
	g.broken = g.end(g.named("broken.edi", []byte(strings.ReplaceAll(broken, "20931", "20932"))).ID)
	g.partner.play(func(v *visit) { v.read(); http.Error(v.w, "<b>we</b> cannot take this\u202e", http.StatusBadRequest) })
	g.refused = g.end(g.sent("northwind", "INV-7", invoice(7)).ID)
	g.hostile = g.end(g.named(hostileName, []byte(hostileDocument)).ID)
	g.partner.play(func(v *visit) { v.read(); v.reply(wrongMIC(v.process()), whole) })
	g.unsure = g.end(g.sent("northwind", "INV-9", invoice(9)).ID)
	g.partner.play(nil)
	again := g.end(g.sent("northwind", "INV-10", invoice(10)).ID)
	if again.State != "delivered" || g.broken.State != "dead" || g.refused.State != "dead" || g.unsure.State != "dead" {
		g.Fatalf("%s, %s, %s, %s", again.State, g.broken.State, g.refused.State, g.unsure.State)
	}
	g.await("contoso's outage has letters", func() bool {
		list := everything[messageView](g.site, "/messages", query("partner", "contoso", "state", "dead"))
		if len(list) > 0 {
			g.buried = list[0]
		}
		return len(list) >= 2
	})
	g.outage = everything[outageView](g.site, "/outages", nil)[0].ID
	g.await("somebody is told of the letters", func() bool {
		for _, a := range everything[alertView](g.site, "/alerts", nil) {
			if strings.HasPrefix(a.ID, "INC-") {
				g.incident = a.ID
			}
		}
		return g.incident != ""
	})
	var job struct{ ID string }
	g.post("/letters/replays", map[string]any{"outage": g.outage, "confirm": []string{"breaker-wait"}}, &job)
	g.bulk = job.ID
	g.post("/letters/replays/"+g.bulk+"/cancel", nil, nil)
}

// outageView and alertView are what the API says of them.
type (
	outageView struct{ ID string }
	alertView  struct{ ID string }
)

// named hands a document in under a file name.
func (g *gallery) named(name string, document []byte) (m messageView) {
	g.Helper()
	header := http.Header{"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": name})}}
	if _, err := g.api.Send(g.Context(), "/partners/northwind/messages", header, strings.NewReader(string(document)), &m); err != nil {
		g.Fatal(err)
	}
	return m
}

func sampleDocument(t testing.TB, name string) []byte {
	t.Helper()
	text, err := documents.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// picture is a page in some state.
type picture struct {
	name, path string
	click      string // what opens a question on it
}

func (g *gallery) pictures() []picture {
	m := func(of messageView) string { return "/messages/" + of.ID }
	return []picture{
		{"board", "/", ""}, {"partner-well", "/partners/northwind", ""}, {"partner-down", "/partners/contoso", ""}, {"partner-stopped", "/partners/fabrikam", ""}, {"partner-misconfigured", "/partners/wingtip", ""},
		{"settings", "/partners/northwind/settings", ""}, {"messages", "/messages", ""}, {"nothing-found", "/messages?q=nothing+has+this", ""},
		{"delivered", m(g.delivered), ""}, {"refused", m(g.refused), ""}, {"unsure", m(g.unsure), ""}, {"hostile", m(g.hostile), ""}, {"document", m(g.hostile) + "/document", ""}, {"edit", "/letters/" + g.broken.Letter + "/edit", ""},
		{"letters", "/letters", ""}, {"letters-all", "/letters?status=all", ""}, {"letters-none", "/letters?reason=credential", ""}, {"outage", "/outages/" + g.outage, ""}, {"incident", "/outages/" + g.incident, ""}, {"bulk", "/letters/replays/" + g.bulk, ""},
		{"alerts", "/alerts?show=all", ""}, {"certificates", "/certificates", ""}, {"audit", "/audit", ""}, {"users", "/users", ""}, {"failure", "/messages/none", ""},
		{"ask-discard", m(g.refused), "form[action$='/discard'] button"}, {"ask-stop", "/partners/northwind", "form[action$='/stop'] button"}, {"ask-many", "/letters", "form[action='/letters/replays'].act button"},
	}
}

// Every page, light and dark, at three widths: no wider than the window, and
// without a complaint of axe-core or of the browser. Pictures are kept in a
// folder that git ignores.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	script := axeScript(t)
	b := openBrowser(g.site)
	b.visit("/sign-in")
	b.inspect(picture{name: "sign-in"}, script, "light", "dark")
	b.signIn("ada")
	if os.Getenv("EDIGW_PICTURE") != "" {
		b.picture("../../docs/board.png")
	}
	for _, p := range g.pictures() {
		b.visit(p.path)
		if p.click != "" {
			b.click(p.click)
			b.reads("dialog", "Cancel")
		}
		b.inspect(p, script, "light", "dark")
	}
	g.hostileIsText(b)
	b.scripts(false)
	for _, p := range g.pictures() {
		b.visit(p.path)
		if b.text("h1") == "" {
			t.Errorf("%s says nothing without scripts", p.name)
		}
	}
	if script == "" {
		testfixture.Missing(t, "axe-core (EDIGW_AXE=…/axe.min.js)")
	}
}

// picture takes what stands in the window now into a file of the documentation.
func (t *tab) picture(file string) {
	t.Helper()
	t.scheme("light")
	t.do(chromedp.EmulateViewport(1200, 640))
	t.visit("/")
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// inspect looks at the page that is open. axe-core looks once in each scheme,
// on a wide and on a narrow window.
func (t *tab) inspect(p picture, script string, schemes ...string) {
	t.Helper()
	for i, scheme := range schemes {
		t.scheme(scheme)
		for _, width := range []int64{400, 1024, 1440} {
			t.width(width)
			if over := asks[float64](t, "document.scrollingElement.scrollWidth - window.innerWidth"); over > 0 {
				t.Errorf("%s at %d pixels is %v too wide", p.name, width, over)
			}
			t.shoot(fmt.Sprintf("%s-%s-%d", p.name, scheme, width))
			if (width == 400) == (i == 1) && width != 1024 {
				t.audit(p.name, script)
			}
		}
	}
}

// axeScript is axe-core, which EDIGW_AXE names; empty without.
func axeScript(t testing.TB) string {
	t.Helper()
	file := os.Getenv("EDIGW_AXE")
	if file == "" {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// audit has axe-core judge the page by WCAG 2.2 AA.
func (t *tab) audit(name, script string) {
	t.Helper()
	if script == "" {
		return
	}
	if !asks[bool](t, "typeof axe !== 'undefined'") {
		asks[bool](t, script+";true")
	}
	found := asks[[]string](t, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
		r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + " " + n.target.join(" ") + " " + (n.failureSummary || ""))))`)
	for _, f := range found {
		t.Errorf("%s: %.600s", name, f)
	}
}

// hostileIsText looks at what strangers wrote, wherever it is shown.
func (g *gallery) hostileIsText(b *tab) {
	g.Helper()
	own := "/messages/" + g.hostile.ID
	for path, text := range map[string]string{
		own: "<img src=x onerror=hacked=1>", own + "/document": "</pre><script>hacked=1</script>", "/letters/" + g.hostile.Letter + "/edit": "", "/audit": "",
		"/letters": "<b>INV-20999</b>", "/messages?show=failed": "<b>INV-20999</b>",
	} {
		b.visit(path)
		b.reads("main", text)
		if asks[bool](b, "typeof hacked !== 'undefined' || document.querySelector('main script, main img, main b') !== null") {
			g.Errorf("%s: what a stranger wrote became part of the page", path)
		}
		if strings.Contains(b.text("main"), "\u202e") {
			g.Errorf("%s: letters turn the line around", path)
		}
	}
}
