package console

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/as2/smime"
	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/queue"
)

// tell puts events into the ledger.
func (d *desk) tell(events ...queue.Event) {
	d.t.Helper()
	for i := range events {
		if events[i].At.IsZero() {
			events[i].At = d.now
		}
	}
	if err := d.store.AddEvents(d.t.Context(), events...); err != nil {
		d.t.Fatal(err)
	}
}

// down makes northwind an outage with two letters and one document in line.
func (d *desk) down() {
	d.t.Helper()
	d.lanes.view["northwind"] = queue.LaneView{Partner: "northwind", Lane: "northwind", State: queue.LaneOpen, Since: start.Add(-10 * time.Minute), Next: start.Add(5 * time.Minute), Outage: "OUT-231",
		Breaker: breaker.State{Phase: breaker.Open}}
	o := queue.Outage{ID: "OUT-231", Number: 231, Partner: "northwind", Lane: "northwind", Cause: fault.CauseRefused, Since: start.Add(-10 * time.Minute)}
	if err := d.store.Record(d.t.Context(), &queue.Result{Outage: &o, Events: []queue.Event{{At: o.Since, Type: queue.EventBreakerOpened, Partner: "northwind", Lane: "northwind", Outage: "OUT-231", Text: "5 failures"}}}); err != nil {
		d.t.Fatal(err)
	}
	d.bury("northwind", "a")
	d.bury("northwind", "b")
	d.accept("northwind", "c", func(m *queue.Message) { m.DeliverBy = start.Add(time.Hour) })
}

func TestAPartnersPageSaysHowItStands(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.lanes.show["m000003"] = queue.Shown{State: queue.Waiting, Why: queue.WhyBreaker, Next: start.Add(5 * time.Minute)}
	d.tell(
		queue.Event{Type: queue.EventSettings, Partner: "northwind", Actor: fault.Actor{Name: "ada"}, Text: "lane.rate: 5/s → 10/s"},
		queue.Event{Type: queue.EventSettings, Partner: "contoso", Text: "not shown here"},
		queue.Event{Type: queue.EventBreakerReopened, Partner: "northwind", Outage: "OUT-231", Text: "connection refused"},
	)
	page := d.get(kim, "/partners/northwind").want(200)
	page.says("Northwind Retail DE", "Stopped: partner not answering. Next test 03:15", "10 min ago", "in 5 min", "First deadline 04:10",
		"In line", "INV-3", "Dead letters 2", "EDI DACH", "+49 30 0000", "lane.rate: 5/s → 10/s", "by ada", "Test failed, stopped again : connection refused", "5 failures",
		"7 attempts, waits of", "Stops after 5 failures", "One at a time, first in, first out", "Connection test", "Stop until …", "Replay 2", "Send at once …")
	page.holds(`href="tel:&#43;49300000"`, `class="primary">Connection test`, `data-topic="partner:northwind"`, `href="/outages/OUT-231"`)
	page.hides("not shown here")
	if n := strings.Count(page.body, `class="primary"`); n != 1 {
		t.Errorf("%d primary buttons, want one", n)
	}
	calm := d.get(viewer, "/partners/northwind").want(200).says("Stopped: partner not answering")
	calm.hides("Connection test</button>", `method="post" action="/partners/`, `action="/letters/replays"`)
	d.get(kim, "/partners/contoso").want(200).says("No document yet. Run the connection test.", "test", "It was never stopped.", "Nobody is named")
}

func TestTheLineSaysWhyEachWaits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range linePage + 3 {
		d.accept("northwind", fmt.Sprint(i))
	}
	d.lanes.show["m000002"] = queue.Shown{State: queue.Waiting, Why: queue.WhyBackoff, Next: start.Add(time.Minute)}
	page := d.get(kim, "/partners/northwind").want(200)
	page.says("In line (1st)", "Next try 03:11:00", "Behind 810 INV-1", "3 more behind these")
	if got := strings.Count(page.body, `data-label="Place"`); got != linePage {
		t.Errorf("%d documents of the line, want %d", got, linePage)
	}
}

func TestAStrangersTextIsOnlyText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	evil := "<script>alert(1)</script>\u202egnp.exe\n\x00"
	d.lanes.view["northwind"] = queue.LaneView{State: queue.LaneNeedsFix, Fix: &queue.Fix{Cause: "x", Detail: evil}, Charged: []queue.Charge{{At: start, Message: "m1", Detail: evil}}}
	d.tell(queue.Event{Type: queue.EventSettings, Partner: "northwind", Actor: fault.Actor{Name: "ada"}, Text: evil},
		queue.Event{Type: queue.EventBreakerOpened, Partner: "northwind", Text: evil})
	d.accept("northwind", "x", func(m *queue.Message) { m.Business.References, m.Payload.FileName = nil, evil })
	d.lanes.outcome = fault.Outcome{Phase: fault.PhaseConnect, Detail: evil}
	for _, page := range []answer{d.get(kim, "/partners/northwind"), d.get(kim, "/audit"), d.post(kim, "/partners/northwind/test")} {
		page.want(200).lacks("<script>alert", "\u202e", "\x00")
	}
}

func TestUnknownPartnersAndParametersAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.get(kim, "/partners/northwnd").want(404).says("Did you mean northwind?")
	d.get(kim, "/partners/northwnd/settings").want(404)
	for _, path := range []string{"/partners/northwind?tab=x", "/partners/northwind/settings?x=1", "/certificates?show=all", "/certificates?x=1", "/alerts?active=true", "/alerts?show=x", "/alerts?cursor=x",
		"/audit?who=kim", "/audit?from=yesterday", "/audit?partner=NOPE", "/audit.csv?cursor=x", "/letters.csv?cursor=x", "/outages/OUT-1?x=1"} {
		d.get(kim, path).want(400)
	}
	d.get(admin, "/users?x=1").want(400)
	d.get("", "/partners/northwind").want(http.StatusSeeOther)
}

func TestAPartnerWithoutAFileIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.accept("fabrikam", "a")
	d.lanes.view["fabrikam"] = queue.LaneView{State: queue.LaneOrphaned}
	d.get(kim, "/partners/fabrikam").want(200).says("its settings file is gone, 1 document waits").hides("/partners/fabrikam/stop")
	d.get(kim, "/partners/fabrikam/settings").want(200).says("is gone. Put it back and reload")
	d.post(kim, "/partners/fabrikam/stop").want(404)
}

func TestSettingsAreShownWithTheirOrigin(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page := d.get(viewer, "/partners/northwind/settings").want(200)
	page.says("as2.id", "NORTHWIND partner", "retry.attempts 7", "built in", "partners/northwind.yaml").hides(`type="file"`)
	d.get(kim, "/partners/northwind/settings").want(200).holds(`type="file"`, `enctype="multipart/form-data"`)
	file := filepath.Join(d.settings.Current().Dir(), "partners", "northwind.yaml")
	if err := os.WriteFile(file, []byte(northwind+"stage: nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.settings.Reload()
	for _, path := range []string{"/partners/northwind", "/partners/northwind/settings"} {
		d.get(viewer, path).want(200).says("the last good settings stay in force", "partners/northwind.yaml:6", "stage")
	}
}

func TestLanesAreActedUpon(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	ask := d.post(kim, "/partners/northwind/stop").want(200)
	ask.says("Stop Northwind Retail DE?", "Documents wait in line; nothing is lost.", "Earliest deadline: 04:10", "Reason (required)", "Cancel").holds(`<option value="4h" selected>4 h`)
	d.post(kim, "/partners/northwind/trip").want(200).says("Hold back Northwind Retail DE until a test?", "Nothing is sent for 5 min", "no dead letters are made")
	d.post(kim, "/partners/northwind/reset").want(200).says("without a test?", "1 document that waits may start now", "2 dead letters stay")
	if len(d.lanes.done) != 0 {
		t.Fatalf("done before the question was answered: %q", d.lanes.done)
	}
	d.post(kim, "/partners/northwind/stop", "until", "8h", "reason", "their maintenance").want(http.StatusSeeOther)
	d.get(kim, "/partners/northwind").says("Northwind Retail DE is stopped until 11:10 CET. Documents wait in line.")
	d.post(kim, "/partners/northwind/start").want(http.StatusSeeOther)
	d.post(kim, "/partners/northwind/trip", "sure", "yes").want(http.StatusSeeOther)
	d.post(kim, "/partners/northwind/reset", "sure", "yes", "back", "/outages/OUT-231").want(http.StatusSeeOther)
	want := []string{"stop northwind by kim: their maintenance until 2026-12-01T10:10:00Z", "start northwind by kim", "trip northwind by kim", "reset northwind by kim"}
	if !slices.Equal(d.lanes.done, want) {
		t.Errorf("done %q, want %q", d.lanes.done, want)
	}
	for _, until := range []string{"soon", "-4h", "0s", "91d", "2026-12-01T08:00:00Z"} {
		d.post(kim, "/partners/northwind/stop", "until", until, "reason", "x").want(400)
	}
	d.post(kim, "/partners/northwind/stop", "until", "4h", "reason", strings.Repeat("a", 301)).want(400)
	for _, name := range []string{"stop", "start", "trip", "reset", "test", "certificates"} {
		d.post(viewer, "/partners/northwind/"+name, "sure", "yes", "until", "4h", "reason", "x").want(403)
		d.post("", "/partners/northwind/"+name, "sure", "yes").want(401)
	}
	if !slices.Equal(d.lanes.done, want) {
		t.Errorf("a refused action was done: %q", d.lanes.done)
	}
}

func TestAConnectionTestShowsEachStep(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.lanes.outcome = fault.Outcome{Phase: fault.PhaseDone, Status: 405, Timings: fault.Timings{Resolve: 5 * time.Millisecond, Connect: 20 * time.Millisecond, TLS: 30 * time.Millisecond, Wait: 8 * time.Millisecond}}
	d.post(kim, "/partners/northwind/test", "back", "/outages/OUT-231").want(200).
		says("Northwind Retail DE answers", "No document was sent.", "DNS", "name found", "TCP", "20 ms", "TLS", "HTTP", "answered 405 Method Not Allowed", "Lane: Sending.").
		holds(`class="card question"`, `href="/outages/OUT-231"`)
	d.lanes.view["northwind"] = queue.LaneView{State: queue.LaneAnswering}
	d.accept("northwind", "a")
	d.post(kim, "/partners/northwind/test").want(200).says("The oldest document that waits goes out now, as the test")
	d.lanes.outcome = fault.Outcome{Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Detail: "connection refused"}
	d.post(kim, "/partners/northwind/test").want(200).says("does not answer", "failed TCP connection refused").hides("answered")
}

func TestTheOneButtonFitsTheState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state queue.LaneState
		open  bool
		want  string
	}{
		"sending":          {queue.LaneSending, false, "Connection test"},
		"stopped":          {queue.LaneStopped, false, "Start"},
		"needs a fix":      {queue.LaneNeedsFix, false, "Start"},
		"not answering":    {queue.LaneOpen, true, "Connection test"},
		"answers again":    {queue.LaneAnswering, true, "Replay 2"},
		"sending, letters": {queue.LaneSending, true, "Replay 2"},
	} {
		d := newDesk(t)
		if c.open {
			d.down()
		}
		v := d.lanes.View("northwind")
		v.State = c.state
		d.lanes.view["northwind"] = v
		d.get(kim, "/partners/northwind").want(200).holds(`<button class="primary">` + c.want + "</button>")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// upload sends a certificate's file as a browser does.
func (d *desk) upload(user, path string, file []byte, fields ...string) answer {
	d.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if part, err := w.CreateFormFile("certificate", "new.pem"); err != nil {
		d.t.Fatal(err)
	} else if _, err := part.Write(file); err != nil {
		d.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, path, &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return d.ask(user, r)
}

// hidden are the hidden fields of a page's forms, names and values in turn.
func (a answer) hidden() (fields []string) {
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(a.body, -1) {
		fields = append(fields, m[1], strings.ReplaceAll(m[2], "&#43;", "+"))
	}
	return fields
}

func TestACertificateIsComparedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	k := testpki.SelfSigned(t, testpki.RSA(t, 0), "as2.northwind.example", testpki.Span{NotBefore: start.AddDate(0, -1, 0), NotAfter: start.AddDate(2, 0, 0)})
	file := k.CertPEM()
	path := "/partners/northwind/certificates"
	asked := d.upload(kim, path, file, "use", "verify", "use", "encrypt", "from", "2027-01-01").want(200)
	asked.says("Use this certificate of Northwind Retail DE?", "SHA-256 "+strings.Join(inGroups(smime.Fingerprint(k.Cert)), " "), "Valid 1 Nov 2026 to 1 Dec 2028", "by phone", "on our side: EDI DACH +49 30 0000.", "Their signature, Their encryption, from 2027-01-01", "Their signature, in use now none").
		hides("tick the box")
	if len(d.lanes.imports) != 0 {
		t.Fatal("used before it was compared")
	}
	d.post(kim, path, asked.hidden()...).want(200).says("Use this certificate", "Not used: tick the box once you compared the fingerprint")
	if len(d.lanes.imports) != 0 {
		t.Fatal("used without the tick")
	}
	d.post(kim, path, append(asked.hidden(), "checked", "yes")...).want(http.StatusSeeOther)
	if n := len(d.lanes.imports); n != 1 {
		t.Fatalf("%d imports", n)
	}
	if i := d.lanes.imports[0]; i.Partner != "northwind" || i.From != "2027-01-01" || !slices.Equal(i.Uses, []string{"verify", "encrypt"}) || !bytes.Equal(i.Certificate, file) || i.By.Name != kim {
		t.Errorf("import %+v", i)
	}
	for name, a := range map[string]answer{
		"no file":        d.upload(kim, path, nil, "use", "verify"),
		"not one":        d.upload(kim, path, []byte("hello"), "use", "verify"),
		"no use":         d.upload(kim, path, file),
		"strange use":    d.upload(kim, path, file, "use", "sign"),
		"strange day":    d.upload(kim, path, file, "use", "verify", "from", "soon"),
		"strange base64": d.post(kim, path, "content", "%%", "use", "verify"),
		"too large":      d.upload(kim, path, make([]byte, 300<<10), "use", "verify"),
	} {
		if a.status != 400 {
			t.Errorf("%s: status %d", name, a.status)
		}
	}
	d.upload(kim, path, []byte("hello"), "use", "verify", "from", "2027-01-01").says("Take a new certificate into use", "Ask the partner for the certificate itself", "Nothing was changed.").
		holds(`name="use" value="verify" checked`, `name="use" value="encrypt">`, `name="from" value="2027-01-01"`)
	d.upload(kim, path, file).says("Tick what it is for")
	d.upload(viewer, path, file, "use", "verify").want(403)
	d.upload(kim, "/partners/nobody/certificates", file, "use", "verify").want(404)
	if len(d.lanes.imports) != 1 {
		t.Error("a refused certificate was used")
	}
}
