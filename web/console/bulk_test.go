package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"edigw/edi"
	"edigw/fault"
	"edigw/queue"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// repeated are the fields with which a question repeats what was asked.
func (a answer) repeated() (fields []string) {
	_, form, _ := strings.Cut(a.body, `class="card question"`)
	for _, m := range hiddenField.FindAllStringSubmatch(form, -1) {
		fields = append(fields, m[1], strings.ReplaceAll(m[2], "&#43;", "+"))
	}
	return fields
}

// replayed counts the letters that are on their way.
func (d *desk) replaying() int {
	d.t.Helper()
	jobs, err := d.store.ReplayJobs(d.t.Context(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, j := range jobs {
		n += j.Counts.Total
	}
	return n
}

// What dies after a question was asked does not join its answer, and an answer
// that is given again finds nothing to do.
func TestABulkReplayIsWhatWasCounted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for range 2 {
		d.bury("northwind", "an invoice")
	}
	d.now = d.now.Add(time.Second)
	asked := d.post(operator, "/letters/replays", "outage", "OUT-231").want(http.StatusOK).says("Replay 2")
	d.now = d.now.Add(time.Second)
	for range 5 {
		d.bury("northwind", "another invoice")
	}
	d.post(operator, "/letters/replays", asked.repeated()...).want(http.StatusSeeOther)
	if n := d.replaying(); n != 2 {
		t.Errorf("%d letters are replayed, want the 2 of the question", n)
	}
	for name, until := range map[string]string{"none": "", "later than now": d.now.Add(time.Hour).Format(time.RFC3339Nano), "nonsense": "soon"} {
		t.Run(name, func(t *testing.T) {
			d.post(operator, "/letters/replays", "outage", "OUT-231", "sure", "yes", "until", until).want(http.StatusBadRequest)
		})
	}
}

// A new Message-ID that was asked for survives the question before it.
func TestAFreshIDSurvivesTheQuestion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.accept("northwind", "an invoice", func(m *queue.Message) { m.DeliverBy, m.DeadlineGiven = start.Add(time.Minute), true })
	m = d.exchange(m, fault.Outcome{Phase: fault.PhaseDone, Status: http.StatusBadRequest})
	d.now = d.now.Add(time.Hour) // its deadline has passed
	asked := d.post(operator, "/letters/"+m.Letter+"/replay", "fresh_id", "true").want(http.StatusOK).says("new Message-ID")
	d.post(operator, "/letters/"+m.Letter+"/replay", asked.repeated()...).want(http.StatusSeeOther)
	editions, err := d.store.Editions(t.Context(), "northwind", m.Key)
	if err != nil {
		t.Fatal(err)
	}
	if len(editions) != 2 || editions[0].Message.MessageID == editions[1].Message.MessageID {
		t.Errorf("%d editions after a replay under a new Message-ID, want 2 with their own", len(editions))
	}
}

// What reached the partner meanwhile is told, and how much of it is about the
// same purchase orders.
func TestABulkReplayTellsWhatWasDeliveredMeanwhile(t *testing.T) {
	t.Parallel()
	order := func(number string) func(*queue.Message) {
		return func(m *queue.Message) {
			m.Business.References = append(m.Business.References, edi.Reference{Name: "order", Value: number})
		}
	}
	d := newDesk(t)
	d.exchange(d.accept("northwind", "before", order("PO-1")), fault.Outcome{Phase: fault.PhaseDone, Status: http.StatusOK, AckAsked: fault.AckNotAsked})
	d.now = d.now.Add(time.Minute)
	d.bury("northwind", "dead", order("PO-1"))
	d.bury("northwind", "dead, too", order("PO-2"))
	d.now = d.now.Add(time.Minute)
	for _, number := range []string{"PO-2", "PO-3", "PO-4"} {
		d.exchange(d.accept("northwind", "after "+number, order(number)), fault.Outcome{Phase: fault.PhaseDone, Status: http.StatusOK, AckAsked: fault.AckNotAsked})
	}
	d.exchange(d.accept("contoso", "another's", order("PO-1")), fault.Outcome{Phase: fault.PhaseDone, Status: http.StatusOK, AckAsked: fault.AckNotAsked})
	d.post(operator, "/letters/replays", "outage", "OUT-231").want(http.StatusOK).
		says("Replay 2 to Northwind Retail DE?", "3 newer documents were delivered meanwhile; 1 shares a purchase order with this set.")
}
