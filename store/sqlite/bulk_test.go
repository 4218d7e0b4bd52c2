package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/dlq"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// letters makes n open letters of as many dead messages, spread over partners
// p0 to p9: one is written as the lane would, the others are its copies.
func letters(t *testing.T, s *Store, n int) {
	t.Helper()
	m := queue.Message{ID: "m0", Partner: "p0", Lane: "p0", Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: "K0", MessageID: "<id0@edi.acme.example>",
		Payload: queue.Payload{SHA256: strings.Repeat("a", 64), Size: 100}, State: queue.Dead, Letter: "l0", Round: 1, Accepted: time.Unix(1_800_000_000, 0)}
	l := queue.Letter{ID: "l0", Message: "m0", Partner: "p0", Lane: "p0", Protocol: "as2", Direction: queue.Out, Reason: fault.ReasonCircuitOpen, Status: queue.LetterOpen,
		Outage: "OUT-1", Created: m.Accepted}
	if err := s.Record(t.Context(), &queue.Result{Message: &m, Opened: &l}); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"id": "'m'||value", "key": "'K'||value", "message_id": "'<id'||value||'@edi.acme.example>'", "letter": "'l'||value",
		"partner": "'p'||(value % 10)", "lane": "'p'||(value % 10)"}
	err := s.write(t.Context(), func(x *tx) error {
		for _, c := range []struct {
			table, number string
			own           map[string]string
		}{
			{"messages", "seq", own},
			{"letters", "n", map[string]string{"id": "'l'||value", "message": "'m'||value", "seq": "(SELECT seq FROM messages WHERE id = 'm'||value)", "partner": own["partner"], "lane": own["lane"]}},
		} {
			columns, err := collectOnce(x, scanValue[string], "SELECT name FROM pragma_table_info(?) WHERE name <> ?", c.table, c.number)
			if err != nil {
				return err
			}
			values := make([]string, len(columns))
			for i, name := range columns {
				if values[i] = c.own[name]; values[i] == "" {
					values[i] = "first." + name
				}
			}
			_, err = x.conn.ExecContext(x.ctx, fmt.Sprintf(`WITH RECURSIVE numbers (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < ?)
				INSERT INTO %s (%s) SELECT %s FROM numbers CROSS JOIN (SELECT * FROM %s) AS first ORDER BY value`,
				c.table, strings.Join(columns, ", "), strings.Join(values, ", "), c.table), n-1)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// counting counts the rows that a bulk replay reads.
type counting struct {
	*Store
	mu          sync.Mutex
	lines, most int // rows of lines; most of any one call
}

func (c *counting) read(n, lines int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines += lines
	c.most = max(c.most, n)
}

func (c *counting) Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error) {
	all, next, err := c.Store.Letters(ctx, f, p)
	c.read(len(all), 0)
	return all, next, err
}

func (c *counting) ReplayPartners(ctx context.Context, job, after string, limit int) ([]string, error) {
	all, err := c.Store.ReplayPartners(ctx, job, after, limit)
	c.read(len(all), 0)
	return all, err
}

func (c *counting) ReplayLine(ctx context.Context, job, partner string, after, limit int) ([]queue.ReplayItem, error) {
	all, err := c.Store.ReplayLine(ctx, job, partner, after, limit)
	c.read(len(all), len(all))
	return all, err
}

func (c *counting) ReplayUnderWay(ctx context.Context, job string, after, limit int) ([]queue.ReplayItem, error) {
	all, err := c.Store.ReplayUnderWay(ctx, job, after, limit)
	c.read(len(all), 0)
	return all, err
}

// open is everything around letters while nothing is wrong.
type open struct{}

func (open) Breaker(string) breaker.State                         { return breaker.State{} }
func (open) Running(string, string) bool                          { return false }
func (open) UseAsTest(context.Context, string, fault.Actor) error { return nil }
func (open) Wake(string)                                          {}
func (open) LettersChanged(string)                                {}
func (open) Partner(id string) (*partner.Partner, bool) {
	return &partner.Partner{ID: id, Protocol: "as2"}, true
}
func (open) Identity(string) (queue.Identity, bool) { return queue.Identity{}, true }
func (open) Judge(context.Context, queue.Message, []queue.Build, string) fault.Outcome {
	return fault.Outcome{}
}

// A bulk replay of 100,000 letters reads pages, however much of it is done: an
// item once to replay it, and none of those that came to an end.
func TestABulkOfAHundredThousandIsReadOnce(t *testing.T) {
	t.Parallel()
	const n, partners, enough = 100_000, 10, 3000
	s := &counting{Store: openTest(t)}
	letters(t, s.Store, n)
	b, err := dlq.New(dlq.Options{Store: s, Partners: open{}, Lanes: open{}, Judge: open{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	all := dlq.Selection{Filter: queue.LetterFilter{Outage: "OUT-1"}}
	dry, err := b.Bulk(t.Context(), all, dlq.BulkAsk{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	plan, err := b.Bulk(t.Context(), all, dlq.BulkAsk{Actor: fault.Actor{Name: "kim"}, Confirm: dlq.Codes})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("frozen in %v", time.Since(began))
	if plan.Job.Counts != dry.Job.Counts || plan.Job.Counts.NeverTried != n {
		t.Errorf("frozen %+v, the dry run said %+v", plan.Job.Counts, dry.Job.Counts)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { b.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	j := plan.Job
	for deadline := time.Now().Add(time.Minute); j.Counts.Replayed < enough; {
		if j, err = s.ReplayJob(t.Context(), j.ID); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", j.Counts, err)
		}
	}
	stop()
	<-ended
	if j, err = s.ReplayJob(t.Context(), j.ID); err != nil {
		t.Fatal(err)
	}
	const ahead = 20 // of each partner
	if most := j.Counts.Replayed + partners*ahead + 100; s.lines > most {
		t.Errorf("%d rows read to replay %d letters, want at most %d", s.lines, j.Counts.Replayed, most)
	}
	if s.most > 500 {
		t.Errorf("%d rows read at once", s.most)
	}
}
