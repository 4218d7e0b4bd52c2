package alerts

import (
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// The webhook that takes a partner's documents is down: nobody calls the partner.
func TestOutageOfAWebhookIsOnOurSide(t *testing.T) {
	t.Parallel()
	c := outageTelling(t)
	c.in.Lane = queue.LaneKey("northwind", queue.KindWebhook)
	c.s.Outage.Open, c.s.Letters, c.s.Depth = 0, Letters{}, queue.Depth{Lined: 14}
	c.s.Outage.Detail = "erp.acme.example:443"
	want := Text{
		Subject: "[PAGE] webhook of Northwind Retai… down since 02:10, refused [OUT-231]",
		Body: `webhook of Northwind Retail DE does not answer since 02:10:04 CET (5 failures in 8 s).
Cause: connection refused (erp.acme.example:443)
Likely side: ours: the system that inbox.webhook names.
Now: 14 documents not sent.
New ones wait. Next test 02:15, then 10, 20, 30 min.
Do: 1 see whether the system behind the webhook runs  2 wait for the test
Owner: EDI DACH, +49 89 5550100, edi-dach@acme.example (24/7).  https://edigw.acme.example/outages/OUT-231
`,
		Lead: "webhook of Northwind Retail DE", Line: "down 02:10, refused, our side · 14 not sent · next test 02:15", Link: "https://edigw.acme.example/outages/OUT-231",
	}
	if d := cmp.Diff(want, compose(c)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
