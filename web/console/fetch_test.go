package console

import (
	"testing"
	"time"

	"edigw/queue"
)

// failing are partners from whom fetching fails.
type failing map[string]*queue.FetchTrouble

func (f failing) Failing(id string) *queue.FetchTrouble { return f[id] }

// Nobody notices that nothing comes: board and partner page say that and why, and
// one failure alone calls nobody.
func TestFetchingThatFailsNeedsSomeone(t *testing.T) {
	t.Parallel()
	trouble := &queue.FetchTrouble{Since: start.Add(-time.Hour), Failures: 1, Why: "they answered 401 <b>", Do: "compare the login", Next: start.Add(time.Minute)}
	d := newDesk(t, func(o *Options) { o.Fetching = failing{"northwind": trouble} })
	d.get(viewer, "/").want(200).hides("cannot be fetched").lacks("<h2>Need you")
	d.get(viewer, "/partners/northwind").says("cannot be fetched since 02:10 (1 failure, probably their side)")

	trouble.Failures, trouble.Lasting = 7, true
	d.now = d.now.Add(2 * time.Second)
	const says = "Their messages cannot be fetched since 02:10 (7 failures, probably their side): they answered 401 <b>. Next request 03:11"
	d.get(viewer, "/").want(200).says(says, "See why").holds("<h2>Need you").lacks("<b>").hides("compare the login")
	d.get(viewer, "/?show=trouble").says("Northwind Retail DE").hides("CONTOSO")
	d.get(viewer, "/partners/northwind").says(says + ". Do: compare the login").lacks("<b>")

	d.lanes.view["northwind"] = queue.LaneView{State: queue.LaneStopped, Stop: &queue.Stop{Since: start, Until: start.Add(time.Hour)}}
	d.now = d.now.Add(2 * time.Second)
	d.get(viewer, "/").want(200).hides("cannot be fetched").lacks("<h2>Need you") // nobody asks them now
}

// What was told of it stands among what happened with the partner.
func TestFetchingStandsInThePastOfAPartner(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tell(queue.Event{Type: queue.EventFetchFailed, Partner: "northwind", Text: "3 failures in a row: they answered 401"}, queue.Event{Type: queue.EventFetchWorks, Partner: "northwind", Text: "they can again"})
	d.get(viewer, "/partners/northwind").want(200).says("Their messages cannot be fetched : 3 failures in a row: they answered 401", "Fetching their messages is settled")
}
