package sqlite

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// listed gives the quoted listed of the first match of a pattern in the schema.
func listed(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := readMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(m.sql); found != nil {
			var listed []string
			for _, w := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(found[1], -1) {
				listed = append(listed, w[1])
			}
			slices.Sort(listed)
			return listed
		}
	}
	t.Fatalf("no migration has %s", pattern)
	return nil
}

func sorted[T ~string](all ...T) []string {
	var listed []string
	for _, w := range all {
		listed = append(listed, string(w))
	}
	slices.Sort(listed)
	return listed
}

func TestSchemaHasTheStatesOfQueue(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(sorted(queue.States...), listed(t, `CHECK \(state IN \(([^)]*)\)`)); d != "" {
		t.Errorf("states: -queue +schema\n%s", d)
	}
	var terminal []queue.State
	for _, s := range queue.States {
		if s.Terminal() {
			terminal = append(terminal, s)
		}
	}
	if d := cmp.Diff(sorted(terminal...), listed(t, `messages_ended .*WHERE state IN \(([^)]*)\)`)); d != "" {
		t.Errorf("terminal states: -queue +schema\n%s", d)
	}
	for _, s := range terminal {
		if !strings.Contains(ended, "'"+string(s)+"'") || !strings.Contains(messageColumns, "'"+string(s)+"'") {
			t.Errorf("a query forgets the terminal state %s", s)
		}
	}
}

func TestSchemaHasTheTransitionsOfQueue(t *testing.T) {
	t.Parallel()
	var want []string
	for _, from := range queue.States {
		for _, to := range queue.States {
			if from != to && queue.Possible(from, to) {
				want = append(want, string(from)+">"+string(to))
			}
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, listed(t, `NOT IN \(([^)]*)\)\s+BEGIN SELECT RAISE`)); d != "" {
		t.Errorf("transitions: -queue +schema\n%s", d)
	}
}

func TestSchemaHasTheStatusesOfQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want    []string
		pattern string
	}{
		"letters": {sorted(queue.LetterOpen, queue.LetterReplaying, queue.LetterClosed), `CHECK \(status IN \(('open'[^)]*)\)`},
		"closed as": {sorted("", queue.ClosedDelivered, queue.ClosedDeliveredLate, queue.ClosedConfirmed, queue.ClosedSuperseded, queue.ClosedDiscarded,
			queue.ClosedWithdrawn, queue.ClosedFailedAgain), `CHECK \(closed_as IN \(([^)]*)\)`},
		"replays":    {sorted(queue.ReplayRunning, queue.ReplayPaused, queue.ReplayCancelled, queue.ReplayDone), `CHECK \(status IN \(('running'[^)]*)\)`},
		"directions": {sorted(queue.Out, queue.In), `CHECK \(direction IN \(([^)]*)\)`},
	} {
		if d := cmp.Diff(c.want, listed(t, c.pattern)); d != "" {
			t.Errorf("%s: -queue +schema\n%s", name, d)
		}
	}
}

// Lists come in the order of an index: reading a page never sorts or scans
// what is not on it.
func TestListsReadNoMoreThanAPage(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	messages := func(f queue.MessageFilter) (w where) { w.messages(f); return w }
	letters := func(f queue.LetterFilter) (w where) { w.letters(f); return w }
	for name, c := range map[string]struct {
		in   table
		w    where
		want string
	}{
		"messages":               {messageTable, messages(queue.MessageFilter{}), "SCAN m"},
		"messages of a partner":  {messageTable, messages(queue.MessageFilter{Partner: "p", States: []queue.State{queue.Dead}}), "SEARCH m USING INDEX messages_partner (partner=?"},
		"dead messages":          {messageTable, messages(queue.MessageFilter{States: []queue.State{queue.Dead}}), "SEARCH m USING INDEX messages_state (state=?"},
		"messages in two states": {messageTable, messages(queue.MessageFilter{States: []queue.State{queue.Dead, queue.Queued}}), "SCAN m"},
		"uncertain messages":     {messageTable, messages(queue.MessageFilter{Uncertain: true}), "m USING INDEX messages_uncertain"},
		"by reference":           {messageTable, messages(queue.MessageFilter{Reference: "INV", Partner: "p"}), "SEARCH m USING INTEGER PRIMARY KEY (rowid=?"},
		"by a beginning":         {messageTable, messages(queue.MessageFilter{Reference: "INV*", Partner: "p"}), "SEARCH m USING INTEGER PRIMARY KEY (rowid=?"},
		"letters":                {letterTable, letters(queue.LetterFilter{}), "SCAN l"},
		"open letters":           {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen}), "l USING INDEX letters_open"},
		"open by partner":        {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Partner: "p"}), "SEARCH l USING INDEX letters_partner (partner=?"},
		"open by reason":         {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Reason: "r"}), "SEARCH l USING INDEX letters_reason (reason=?"},
		"open by both":           {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Reason: "r", Partner: "p"}), "SEARCH l USING INDEX letters_partner_reason (partner=? AND reason=?"},
		"letters of an outage":   {letterTable, letters(queue.LetterFilter{Outage: "o"}), "SEARCH l USING INDEX letters_outage (outage=?"},
		"outages":                {outageTable, where{}, "SCAN o"},
	} {
		var plan []string
		err := s.read(t.Context(), func(t *tx) (err error) {
			plan, err = collectOnce(t, func(r scanner) (line string, err error) {
				var a, b, c int
				err = r.Scan(&a, &b, &c, &line)
				return line, err
			}, "EXPLAIN QUERY PLAN "+c.in.query(c.w), append(c.w.args, 100)...)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.Join(plan, "\n")
		if !strings.Contains(text, c.want) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: plan is\n%s\nwant %s and no sorting", name, text, c.want)
		}
	}
}
