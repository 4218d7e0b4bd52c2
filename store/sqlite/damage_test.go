package sqlite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/fault"
	"edigw/queue"
)

// One bad row is told of and hides no other: a gateway that cannot read it
// goes on with all the rest.
func TestOneBadRowHidesNoOther(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	at := time.Unix(1_800_000_000, 0).UTC()
	for _, id := range []string{"m1", "m2"} {
		m := queue.Message{ID: id, Partner: id, Lane: id, Kind: queue.KindDocument, Direction: queue.Out, Key: id, State: queue.Sending, Incarnation: "gw1", Accepted: at, Detail: "kept"}
		l := queue.Letter{ID: "l-" + id, Message: id, Partner: id, Lane: id, Status: queue.LetterOpen, Created: at, Detail: "refused", Last: &queue.Attempt{N: 1}}
		lane := queue.Lane{Key: id, Partner: id, Kind: queue.KindDocument, Ramp: 2}
		e := queue.Event{At: at, Type: queue.EventSending, Message: id, Partner: id, Text: "sending", Facts: map[string]string{"a": "b"}, Actor: fault.Actor{Name: "kim"}}
		if err := s.Record(t.Context(), &queue.Result{Message: &m, Opened: &l, Lane: &lane, Events: []queue.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.write(t.Context(), func(x *tx) error {
		for _, q := range []string{
			"UPDATE messages SET business = '{\"kind\": 7', actor = '[]' WHERE id = 'm1'",
			"UPDATE letters SET last = 'nothing' WHERE message = 'm1'",
			"UPDATE lanes SET breaker = '', stop = '7' WHERE key = 'm1'",
			"UPDATE events SET facts = '[1]' WHERE message = 'm1'",
		} {
			if _, err := x.exec(q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := s.Unfinished(t.Context(), "gw2", 10)
	if err != nil || len(cut) != 2 || cut[1].Damaged != "" {
		t.Fatalf("unfinished: %+v, %v", cut, err)
	}
	if m := cut[0]; !strings.HasPrefix(m.Damaged, "actor: ") || !strings.Contains(m.Damaged, "; business: ") || m.ID != "m1" || m.Detail != "kept" || m.Version != 1 {
		t.Errorf("damaged message %+v", m)
	}
	lanes, err := s.Lanes(t.Context())
	if err != nil || len(lanes) != 2 || lanes[1].Damaged != "" {
		t.Fatalf("lanes: %+v, %v", lanes, err)
	}
	if l := lanes[0]; !strings.HasPrefix(l.Damaged, "breaker: ") || !strings.Contains(l.Damaged, "; stop: ") || l.Version != 1 || l.Ramp != 2 {
		t.Errorf("damaged lane %+v", l)
	}
	letters, _, err := s.Letters(t.Context(), queue.LetterFilter{}, queue.Page{Limit: 10})
	if err != nil || len(letters) != 2 || letters[0].Detail != "refused" {
		t.Fatalf("letters: %+v, %v", letters, err)
	}
	if l := letters[1]; !strings.HasPrefix(l.Detail, "refused (what is stored of this letter is damaged: last: ") || l.Last != nil {
		t.Errorf("damaged letter %+v", l)
	}
	events, err := s.Events(t.Context(), 0, 10)
	if err != nil || len(events) != 2 || events[1].Facts["a"] != "b" {
		t.Fatalf("events: %+v, %v", events, err)
	}
	if e := events[0]; e.Facts["damaged"] == "" || e.Text != "sending" {
		t.Errorf("damaged event %+v", e)
	}
	lanes[0].Damaged, lanes[0].Stop = "", nil // written anew it is good
	if err := s.Record(t.Context(), &queue.Result{Lane: &lanes[0]}); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Lane(t.Context(), "m1"); err != nil || l.Damaged != "" {
		t.Errorf("lane %+v, %v", l, err)
	}
}

// The same for what operators are shown beside messages, and for alerts: what
// cannot be read is still told of.
func TestOneBadRowHidesNoOtherOfItsList(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	at := time.Unix(1_800_000_000, 0).UTC()
	m := queue.Message{ID: "m1", Partner: "p", Lane: "p", Kind: queue.KindDocument, Direction: queue.Out, Key: "k", State: queue.Sending, Accepted: at}
	for n := range 2 {
		a := queue.Attempt{Message: "m1", N: n + 1, Started: at, Raw: "receipt", Detail: "refused"}
		res := &queue.Result{Attempt: &a}
		if n == 0 {
			res.Message = &m
		}
		if err := s.Record(t.Context(), res); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"j1", "j2"} {
		if _, err := s.FreezeReplay(t.Context(), queue.ReplayJob{ID: id, Created: at, Status: queue.ReplayRunning}, nil); err != nil {
			t.Fatal(err)
		}
	}
	step := alerts.Step{}
	for _, id := range []string{"INC-1", "INC-2"} {
		step.Incidents = append(step.Incidents, alerts.Incident{ID: id, Key: id, Kind: alerts.KindLetters, Stage: alerts.Running})
		step.Notifications = append(step.Notifications, alerts.Notification{ID: id + ".1.mail", Incident: "INC-1", Channel: "mail", Severity: alerts.Page, NextAt: at})
	}
	if err := s.SaveAlerts(t.Context(), &step); err != nil {
		t.Fatal(err)
	}
	err := s.write(t.Context(), func(x *tx) error {
		for _, q := range []string{
			"UPDATE attempts SET facts = '{\"Round\": \"one' WHERE n = 1",
			"UPDATE replay_jobs SET counts = '[1]' WHERE id = 'j1'",
			"UPDATE incidents SET value = '[]' WHERE id = 'INC-1'",
			"UPDATE notifications SET value = '' WHERE id = 'INC-1.1.mail'",
		} {
			if n, err := x.exec(q); err != nil || n != 1 {
				return fmt.Errorf("%s: %d rows, %w", q, n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := s.Attempts(t.Context(), "m1")
	if err != nil || len(attempts) != 2 || attempts[1].Detail != "refused" {
		t.Fatalf("attempts: %+v, %v", attempts, err)
	}
	if a := attempts[0]; a.N != 1 || a.Message != "m1" || a.Raw != "receipt" || !a.Started.Equal(at) || !strings.Contains(a.Detail, "damaged") {
		t.Errorf("damaged attempt %+v", a)
	}
	jobs, err := s.ReplayJobs(t.Context(), "")
	if err != nil || len(jobs) != 2 || jobs[0].Damaged != "" || !strings.HasPrefix(jobs[1].Damaged, "counts: ") || jobs[1].ID != "j1" {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
	active, err := s.ActiveIncidents(t.Context())
	if err != nil || len(active) != 2 || active[1].Kind != alerts.KindLetters {
		t.Fatalf("incidents: %+v, %v", active, err)
	}
	if in := active[0]; in.ID != "INC-1" || in.Version != 1 || in.Kind != alerts.KindDefect || in.News != alerts.NewsOpened || !strings.Contains(in.Detail, "damaged") {
		t.Errorf("damaged incident %+v", in)
	}
	due, _, err := s.DueNotifications(t.Context(), "mail", at, 10)
	if err != nil || len(due) != 2 {
		t.Fatalf("due: %+v, %v", due, err)
	}
	if n := due[0]; n.ID != "INC-1.1.mail" || n.Incident != "INC-1" || n.Channel != "mail" || n.Severity != alerts.Page || n.Name == "" || !strings.Contains(n.Text.Body, "INC-1") {
		t.Errorf("damaged notification %+v", n)
	}
	due[0].Sent = at // written anew it is good
	if err := s.SaveNotification(t.Context(), due[0]); err != nil {
		t.Fatal(err)
	}
}
