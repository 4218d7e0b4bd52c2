package console

import (
	"errors"
	"strings"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/partner"
	"edigw/queue"
)

func TestTheBoardOffersAViewerNothingToDo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.bury("northwind", "a")
	d.lanes.view["northwind"] = queue.LaneView{State: queue.LaneStopped, Stop: &queue.Stop{Since: start, Until: start.Add(time.Hour)}}
	d.get(kim, "/").want(200).holds(`action="/partners/northwind/start"`)
	d.get(viewer, "/").want(200).lacks(`action="/partners/`).says("See 1 dead letter")
}

func TestTheBoardSaysWhatAilsTheGateway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.get(viewer, "/").want(200).says("Store fine", "Alert channels fine")
	d.incident(alerts.Incident{ID: "INC-3", Kind: alerts.KindChannel, Cause: "mail", Severity: alerts.Page, Stage: alerts.Running, Opened: start})
	d.ready = errors.New("closed")
	d.now = d.now.Add(2 * time.Second)
	d.get(viewer, "/").want(200).says("Store does not answer", "Alert channels mail fails")
}

func TestTheBoardCountsCertificatesToActOn(t *testing.T) {
	t.Parallel()
	at := func(days int) time.Time { return start.AddDate(0, 0, days) }
	info := func(owner, use, serial string, ends int, successor string, inForce bool) partner.CertificateInfo {
		return partner.CertificateInfo{Owner: owner, Use: use, Serial: serial, SHA256: serial, Ends: at(ends), Successor: successor, InForce: inForce}
	}
	all := []partner.CertificateInfo{
		info("edigw", "sign", "1", 400, "", true),
		info("a", "verify", "2", 13, "", true),   // to act on
		info("a", "encrypt", "3", 13, "4", true), // taken over
		info("a", "encrypt", "4", 300, "", false),
		info("b", "encrypt", "5", -40, "", false), // ended long ago, and replaced after a gap
		info("b", "encrypt", "6", 200, "", true),
		info("b", "verify", "7", -3, "", false), // ended, nothing followed
		info("c", "verify", "8", 30, "", true),
		info("d", "sign", "9", 5, "", true), // the next begins after a gap
		info("d", "sign", "10", 300, "", false),
	}
	var got []string
	for _, i := range acting(all, start) {
		got = append(got, i.Serial)
	}
	if strings.Join(got, ",") != "7,9,2" {
		t.Errorf("to act on: %q, want 7, 9 and 2", got)
	}
}
