package console

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/fault"
	"edigw/queue"
)

// incident stores an alert with what was told of it.
func (d *desk) incident(in alerts.Incident, sent ...alerts.Notification) {
	d.t.Helper()
	st, err := d.store.AlertState(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if in.Key == "" {
		in.Key = "k" + in.ID
	}
	if err := d.store.SaveAlerts(d.t.Context(), &alerts.Step{State: st, Incidents: []alerts.Incident{in}, Notifications: sent}); err != nil {
		d.t.Fatal(err)
	}
}

// paged is the alert of the outage that down makes.
func (d *desk) paged() {
	d.incident(alerts.Incident{ID: "OUT-231", Kind: alerts.KindOutage, Partner: "northwind", Lane: "northwind", Severity: alerts.Page, Stage: alerts.Running, Opened: start.Add(-10 * time.Minute), Told: 1, Detail: "it is down"},
		alerts.Notification{ID: "OUT-231.1.mail", Incident: "OUT-231", Channel: "mail", Severity: alerts.Page, Text: alerts.Text{Subject: "[PAGE] Northwind Retail DE down, first deadline 04:10 [OUT-231]"}, Created: start, Sent: start},
		alerts.Notification{ID: "OUT-231.1.slack", Incident: "OUT-231", Channel: "slack", Severity: alerts.Page, Text: alerts.Text{Subject: "[PAGE] Northwind Retail DE down, first deadline 04:10 [OUT-231]"}, Created: start, NextAt: start.Add(time.Minute), Attempts: 3, Problem: "webhook answered 500 <b>"})
}

// lacks fails if any of this is in the page's source; what a person reads may
// say it.
func (a answer) lacks(parts ...string) answer {
	a.t.Helper()
	for _, p := range parts {
		if strings.Contains(a.body, p) {
			a.t.Errorf("the page has %q:\n%s", p, a.body)
		}
	}
	return a
}

func TestAnAlertsLinkLeadsToWhatMustBeKnown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.paged()
	page := d.get(kim, "/outages/OUT-231").want(200)
	page.says("Northwind Retail DE down, first deadline 04:10 OUT-231", "Cause: connection refused", "Likely side: theirs (1 other partner fine)", "3 documents not sent",
		"To decide 2", "Never tried 2", "May be there 0", "Past due 0", "In line 1", "10 min ago", "Next step by itself", "EDI DACH", "call +49 30 0000",
		"Acknowledge", "Connection test", "Replay 2", "Stopped: partner not answering : 5 failures", "mail", "told once, last", "slack", "not told yet", "webhook answered 500 <b> after 3 tries",
		"810 INV-1")
	page.holds(`href="tel:&#43;49300000"`, `href="/letters?outage=OUT-231`).lacks("<b>")
	if n := strings.Count(page.body, `class="primary">Acknowledge`); n != 1 {
		t.Errorf("Acknowledge is primary %d times", n)
	}
	d.get(viewer, "/outages/OUT-231").want(200).hides("Acknowledge</button>", "Connection test</button>", "Replay 2")
	d.get(kim, "/outages/OUT-9").want(404).says("There is no outage or incident OUT-9.")
	d.get(kim, "/outages/INC-9").want(404)
}

func TestAnOutageIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.paged()
	d.post(viewer, "/alerts/OUT-231/acknowledge").want(403)
	d.post(kim, "/alerts/OUT-231/acknowledge", "back", "/outages/OUT-231", "reason", "calling them").want(http.StatusSeeOther)
	d.get(kim, "/outages/OUT-231").says("You have OUT-231", "kim has it", "calling them", "Alert acknowledged by kim").hides("Acknowledge</button>")
	d.post(operator, "/alerts/OUT-231/acknowledge").want(409).says("kim has it already")
	d.post(kim, "/alerts/INC-9/acknowledge").want(404)
	d.post(kim, "/alerts/OUT-231/acknowledge", "reason", strings.Repeat("a", 301)).want(400)
	d.get(kim, "/audit?actor=kim").says("Alert acknowledged : OUT-231 acknowledged: calling them")
}

func TestAnOutageThatIsOverAsksForNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	o := queue.Outage{ID: "OUT-5", Number: 5, Partner: "northwind", Lane: "northwind", Cause: fault.CauseRefused, Since: start.Add(-time.Hour), Recovered: start, Ended: start}
	if err := d.store.Record(t.Context(), &queue.Result{Outage: &o}); err != nil {
		t.Fatal(err)
	}
	d.get(kim, "/outages/OUT-5").want(200).says("delivers again, 0 lost").holds(`class="verdict ok"`).hides("Acknowledge</button>", "Replay")
}

func TestAnIncidentOfLettersListsThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "a")
	d.exchange(m, fault.Outcome{Phase: fault.PhaseDone, Status: 400, Head: []byte("no")})
	d.incident(alerts.Incident{ID: "INC-7", Kind: alerts.KindLetters, Partner: "northwind", Cause: string(fault.ReasonRejected), Severity: alerts.Ticket, Stage: alerts.Running, Opened: start, Detail: "1 rejected"})
	d.tell(queue.Event{Type: queue.EventSettings, Partner: "northwind", Text: "lane.rate"}, queue.Event{At: start.Add(-2 * time.Hour), Type: queue.EventSettings, Partner: "northwind", Text: "long before"})
	page := d.get(kim, "/outages/INC-7").want(200)
	page.says("Northwind Retail DE: 1 rejected INC-7", "Replay 1", "lane.rate").hides("long before").holds("/letters?partner=northwind&amp;reason=rejected&amp;status=open")
}

func TestAlertsSayWhoHasThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.down()
	d.paged()
	d.incident(alerts.Incident{ID: "INC-2", Kind: alerts.KindStore, Severity: alerts.Page, Stage: alerts.Running, Opened: start, Detail: "disk full", Ack: &alerts.Ack{By: fault.Actor{Name: "omar"}, At: start, Note: "on it"}})
	d.incident(alerts.Incident{ID: "INC-1", Kind: alerts.KindDefect, Severity: alerts.Ticket, Stage: alerts.Over, Opened: start, Over: start, Closed: start, Detail: "it was <i>odd</i>"})
	page := d.get(kim, "/alerts").want(200)
	page.says("1 alert that nobody has", "Northwind Retail DE down, first deadline 04:10", "Partner down", "nobody", "omar", "on it", "Store", "disk full", "Send a test", "Not used since the start").hides("INC-1")
	d.get(kim, "/alerts?show=all").want(200).says("INC-1", "it was <i>odd</i>").lacks("<i>odd")
	d.get(viewer, "/alerts").want(200).hides("Acknowledge</button>", "Send a test")
	d.get(kim, "/").want(200).says("Store fails", "Alert channels fine")
}

func TestAnAlertChannelIsTested(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.post(viewer, "/alerts/test?channel=mail").want(403)
	d.post(kim, "/alerts/test?channel=mail").want(http.StatusSeeOther)
	d.get(kim, "/alerts").says("A test was sent over mail.")
	if n := len(d.channel.got); n != 1 || !strings.Contains(d.channel.got[0].Text.Body, "asked for by kim") {
		t.Fatalf("%d tests: %+v", n, d.channel.got)
	}
	d.channel.fail = &alerts.PermanentError{Err: errors.New("550 no <such> user")}
	d.post(kim, "/alerts/test", "channel", "mail").want(http.StatusSeeOther)
	d.get(kim, "/alerts").says("The test over mail failed: 550 no <such> user").lacks("<such>")
	d.get(kim, "/audit").says("Alert channel tested : test over mail sent", "Alert channel tested : test over mail failed: 550 no <such> user")
	d.post(kim, "/alerts/test?channel=pager").want(404)
	d.post(kim, "/alerts/test").want(404)
}
