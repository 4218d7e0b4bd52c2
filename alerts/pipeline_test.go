package alerts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

func TestOneOutageIsOneIncidentFromPageToEnd(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		var letters []queue.Letter
		for range 1000 {
			letters = append(letters, b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1"))
		}
		b.pass(29 * time.Second)
		b.want(b.mail)
		b.pass(2 * time.Second)
		page := "[PAGE] A down since 00:00, refused [OUT-1]"
		b.want(b.mail, page)
		b.want(b.slack, page)

		o.Recovered = time.Now().Add(9 * time.Minute)
		b.pass(9 * time.Minute)
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Minute)
		answers := "[PAGE] A answers again, 1,000 NOT delivered [OUT-1]"
		b.want(b.mail, page, answers)

		b.pass(4 * time.Hour)
		still := "[PAGE] A answers again, still, 1,000 NOT delivered [OUT-1]"
		b.want(b.mail, page, answers, still)

		for _, l := range letters {
			b.settle(l)
		}
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		end := "[OK] A: all 1,000 settled, 0 lost [OUT-1]"
		b.want(b.mail, page, answers, still, end)
		b.want(b.slack, page, answers, still, end)
		b.pass(5 * time.Hour)
		b.want(b.mail, page, answers, still, end)

		notes, err := b.store.Notifications(b.Context(), "OUT-1")
		b.must(err)
		first := notes[0].Name
		for _, n := range notes[2:] {
			if n.Thread != first || n.Name == first {
				b.Errorf("%s: name %q in thread %q, want that of %q", n.ID, n.Name, n.Thread, first)
			}
		}
		if in, err := b.store.Incident(b.Context(), "OUT-1"); err != nil || in.Active() || in.Told != 4 {
			b.Errorf("incident %+v, %v", in, err)
		}
	}, "a", "b")
}

// The document that opened the breaker and used up its attempts is one of the
// outage: no ticket of its own, counted among what is not delivered, and nothing
// is settled before it is.
func TestWhatTheOutageUsedUpIsTheOutages(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now(), Cause: fault.CauseRefused}
		b.outage(o, queue.EventBreakerOpened)
		used := b.bury(b.accept("a"), fault.ReasonMaxAttempts, "", "OUT-1")
		buried := b.bury(b.accept("a"), fault.ReasonCircuitOpen, "", "OUT-1")
		b.pass(time.Minute)
		o.Recovered = time.Now()
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Minute)
		all := []string{"[PAGE] A down since 00:00, refused [OUT-1]", "[PAGE] A answers again, 2 NOT delivered [OUT-1]"}
		b.want(b.mail, all...)
		b.settle(buried)
		b.pass(4*time.Hour + time.Minute)
		all = append(all, "[PAGE] A answers again, still, 1 NOT delivered [OUT-1]")
		b.want(b.mail, all...)
		b.settle(used)
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		b.want(b.mail, append(all, "[OK] A: all 2 settled, 0 lost [OUT-1]")...)
	}, "a", "b")
}

func TestRow35LettersOfACauseAreOneTicket(t *testing.T) {
	within(t, func(b *bench) {
		var letters []queue.Letter
		for range 1000 {
			letters = append(letters, b.bury(b.accept("a"), fault.ReasonRejected, "", ""))
		}
		b.bury(b.accept("b"), fault.ReasonFormat, "", "")
		b.pass(time.Minute)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]")
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(3 * time.Hour)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]")
		b.pass(2 * time.Hour)
		b.want(b.mail, "[TICKET] A: 1,000 rejected [INC-1]", "[TICKET] B: 1 malformed [INC-2]", "[TICKET] A: 1,001 rejected [INC-1]")
		for _, l := range letters {
			b.settle(l)
		}
		b.pass(time.Minute)
		if got := b.mail.subjects(); len(got) != 3 {
			b.Errorf("told while a letter is open: %q", got)
		}
	}, "a", "b")
}

func TestOurOwnNetworkIsOneAlert(t *testing.T) {
	within(t, func(b *bench) {
		iso := queue.Isolation{Since: time.Now(), Partners: 5, Of: 5}
		b.must(b.store.Record(b.Context(), &queue.Result{Isolation: &iso, Events: []queue.Event{{At: time.Now(), Type: queue.EventIsolated, Text: "isolated"}}}))
		var outages []queue.Outage
		for i, id := range []string{"a", "b", "c"} {
			o := queue.Outage{ID: fmt.Sprintf("OUT-%d", i+1), Number: int64(i + 1), Partner: id, Since: time.Now()}
			outages = append(outages, o)
			b.outage(o, queue.EventBreakerOpened)
		}
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] Our own network: 5 of 5 partners unreachable since 00:00 [INC-1]")
		b.must(b.store.Record(b.Context(), &queue.Result{Isolation: &queue.Isolation{}, Events: []queue.Event{{At: time.Now(), Type: queue.EventReconnected, Partner: "a", Text: "works"}}}))
		b.pass(25 * time.Second) // lanes take back what was blamed on partners
		for _, o := range outages[:2] {
			o.Withdrawn, o.Recovered = true, time.Now()
			b.outage(o, queue.EventBreakerClosed)
		}
		b.pass(10 * time.Minute)
		b.want(b.mail, "[PAGE] Our own network: 5 of 5 partners unreachable since 00:00 [INC-1]", "[OK] Our own network works again, after 10 min [INC-1]",
			"[PAGE] C down since 00:00 [OUT-3]")
	}, "a", "b", "c")
}

func TestTestPartnersNeverPage(t *testing.T) {
	within(t, func(b *bench) {
		b.set.partner("a", func(p *partner.Partner) { p.Stage = partner.StageTest })
		b.set.partner("b", func(p *partner.Partner) { p.Notify.Tier = 2 })
		for i, id := range []string{"a", "b"} {
			b.outage(queue.Outage{ID: fmt.Sprintf("OUT-%d", i+1), Number: int64(i + 1), Partner: id, Since: time.Now()}, queue.EventBreakerOpened)
		}
		b.pass(time.Minute)
		b.want(b.mail, "[TICKET] A down since 00:00 [OUT-1]", "[TICKET] B down since 00:00 [OUT-2]")
	}, "a", "b", "c", "d", "e")
}

func TestFirstDeadlineWithinTheHourPages(t *testing.T) {
	within(t, func(b *bench) {
		b.must(b.store.Record(b.Context(), &queue.Result{Lane: &queue.Lane{Key: "a", Partner: "a", Breaker: breaker.State{Phase: breaker.Open}}}))
		for _, id := range []string{"a", "b"} {
			b.n++
			_, err := b.store.Accept(b.Context(), queue.Arrival{Message: queue.Message{ID: fmt.Sprintf("m%05d", b.n), Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out,
				Key: fmt.Sprint(b.n), DeliverBy: time.Now().Add(3 * time.Hour)}, Now: time.Now()})
			b.must(err)
		}
		b.pass(2*time.Hour - time.Minute)
		b.want(b.mail)
		b.pass(3 * time.Minute)
		b.want(b.mail, "[PAGE] A: first deadline 03:00, lane not sending [INC-1]")
	}, "a", "b")
}

func TestCertificateIsToldUntilASuccessorIsStaged(t *testing.T) {
	within(t, func(b *bench) {
		certs := []partner.CertificateInfo{{Owner: "a", Use: partner.UseEncrypt, Serial: "4F:22", SHA256: "9A", Ends: time.Now().Add(14*24*time.Hour + 2*time.Hour)}}
		b.set.change(func(s *settings) { s.certs = slices.Clone(certs) })
		b.pass(2 * time.Hour)
		b.pass(2 * time.Hour)
		want := []string{"[TICKET] A encryption certificate ends in 14 days (15 Jan 01:59 UTC) [INC-1]"}
		b.want(b.mail, want...)
		certs[0].Successor = "5A:01"
		b.set.change(func(s *settings) { s.certs = certs })
		b.pass(2 * time.Minute)
		b.want(b.mail, append(want, "[OK] A: the certificate is settled [INC-1]")...)
	}, "a")
}

// TestCertificateIsToldOnceAtEachStep moves the end nearer by days: a mail at
// 60, 30, 14, 7 and 1 days, one when it has ended, and nothing in between.
func TestCertificateIsToldOnceAtEachStep(t *testing.T) {
	within(t, func(b *bench) {
		for _, left := range []int{61, 60, 59, 31, 30, 29, 15, 14, 13, 8, 7, 2, 1, 0, -1, -2, -30} {
			ends := time.Now().AddDate(0, 0, left).Add(6 * time.Hour)
			b.set.change(func(s *settings) {
				s.certs = []partner.CertificateInfo{
					{Owner: "a", Use: partner.UseEncrypt, Serial: "4F:22", SHA256: "9A", Ends: ends},
					{Owner: "a", Use: partner.UseVerify, Serial: "4F:23", SHA256: "9B", Ends: ends, Successor: "5A:01", Covered: true},
					{Owner: "a", Use: partner.UseTLSTrust, Serial: "4F:24", SHA256: "9C", Ends: time.Now().Add(-time.Hour), Covered: true},
				}
			})
			b.pass(5 * time.Hour) // longer than a repeat is held back
		}
		var days []string
		for _, m := range b.mail.subjects() {
			news, _, _ := strings.Cut(strings.TrimPrefix(m, "[TICKET] A encryption certificate "), " (")
			days = append(days, news)
		}
		want := []string{"ends in 60 days", "ends in 30 days", "ends in 14 days", "ends in 7 days", "ends in 1 day", "has ended"}
		if diff := cmp.Diff(want, days); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, "a")
}

func TestHeartbeatAndDigestCome(t *testing.T) {
	within(t, func(b *bench) {
		b.set.change(func(s *settings) {
			a := *s.gateway.Alerts
			a.Heartbeat = conf.Duration(24 * time.Hour)
			b.must(a.Digest.UnmarshalText([]byte("0 7 * * *")))
			s.gateway.Alerts = &a
		})
		b.pass(time.Minute)
		b.accept("a")
		b.pass(25 * time.Hour)
		b.want(b.mail, "[INFO] edigw gw1 digest: 0 delivered, 0 dead, 0 letters open", "[INFO] edigw gw1 heartbeat: alerts work, 1 partner, 0 incidents running")
	}, "a")
}

func TestAcknowledgedIncidentsSendNoReminders(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(time.Minute)
		kim := fault.Actor{Name: "kim", Role: "operator"}
		b.must(b.service.Acknowledge(b.Context(), "OUT-1", kim, "on it"))
		if err := b.service.Acknowledge(b.Context(), "OUT-1", kim, ""); !errors.Is(err, queue.ErrConflict) {
			b.Errorf("twice: %v, want ErrConflict", err)
		}
		if err := b.service.Acknowledge(b.Context(), "OUT-9", kim, ""); !errors.Is(err, queue.ErrNotFound) {
			b.Errorf("unknown: %v, want ErrNotFound", err)
		}
		b.pass(12 * time.Hour)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]")
		o.Ended = time.Now()
		b.outage(o, queue.EventOutageEnded)
		b.pass(time.Minute)
		b.want(b.mail, "[PAGE] A down since 00:00 [OUT-1]", "[OK] A delivers again, 0 lost [OUT-1]")
	}, "a")
}

func TestWithoutAlertsIncidentsAreKeptAndNothingIsSent(t *testing.T) {
	within(t, func(b *bench) {
		b.set.change(func(s *settings) { s.gateway.Alerts = nil })
		b.bury(b.accept("a"), fault.ReasonRejected, "", "")
		b.pass(time.Hour)
		all, err := b.store.ActiveIncidents(b.Context())
		b.must(err)
		if len(all) != 1 || len(b.mail.got)+len(b.slack.got) != 0 {
			b.Errorf("%d incidents, %d sent", len(all), len(b.mail.got)+len(b.slack.got))
		}
	}, "a")
}

func TestAnOutageThatIsOverSoonIsToldOnce(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		b.pass(10 * time.Second)
		o.Recovered, o.Ended = time.Now(), time.Now()
		b.outage(o, queue.EventBreakerClosed)
		b.pass(time.Hour)
		b.want(b.mail, "[OK] A delivers again, 0 lost [OUT-1]")
	}, "a")
}

func TestAPartnerThatComesAndGoesIsTold(t *testing.T) {
	within(t, func(b *bench) {
		o := queue.Outage{ID: "OUT-1", Number: 1, Partner: "a", Since: time.Now()}
		b.outage(o, queue.EventBreakerOpened)
		for range 100 {
			b.pass(20 * time.Second)
			o.Answering = time.Now()
			b.outage(o, queue.EventAnswering)
			b.pass(20 * time.Second)
			o.Answering = time.Time{}
			b.outage(o, queue.EventBreakerReopened)
		}
		if n := len(b.mail.subjects()); n < 1 || n > 3 {
			b.Errorf("%d mails in an hour of flapping: %q", n, b.mail.subjects())
		}
	}, "a")
}
