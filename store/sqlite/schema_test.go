package sqlite

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// listed gives the words of the first match of a pattern in the schema, by the
// second pattern.
func listed(t *testing.T, s *Store, pattern, word string) (words []string) {
	t.Helper()
	var all []string
	err := s.read(t.Context(), func(t *tx) (err error) {
		all, err = collect(t, scanValue[string], "SELECT sql FROM sqlite_schema WHERE sql <> ''")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range all {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
			for _, w := range regexp.MustCompile(word).FindAllStringSubmatch(found[1], -1) {
				words = append(words, w[1])
			}
			slices.Sort(words)
			return words
		}
	}
	t.Fatalf("the schema has no %s", pattern)
	return nil
}

const quoted = `'([^']*)'`

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
	store := openTest(t)
	if d := cmp.Diff(sorted(queue.States...), listed(t, store, `CHECK \(state IN \(([^)]*)\)`, quoted)); d != "" {
		t.Errorf("states: -queue +schema\n%s", d)
	}
	var terminal []queue.State
	for _, s := range queue.States {
		if s.Terminal() {
			terminal = append(terminal, s)
		}
	}
	if d := cmp.Diff(sorted(terminal...), listed(t, store, `messages_ended .*WHERE (.*)`, quoted)); d != "" {
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
	if d := cmp.Diff(want, listed(t, openTest(t), `(?s)messages_move .* instr\((.*), '\|' \|\|`, `([a-z-]+>[a-z-]+)`)); d != "" {
		t.Errorf("transitions: -queue +schema\n%s", d)
	}
}

func TestSchemaHasTheStatusesOfQueue(t *testing.T) {
	t.Parallel()
	store := openTest(t)
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
		if d := cmp.Diff(c.want, listed(t, store, c.pattern, quoted)); d != "" {
			t.Errorf("%s: -queue +schema\n%s", name, d)
		}
	}
}

// plan says how SQLite answers a query.
func plan(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	var lines []string
	err := s.read(t.Context(), func(t *tx) (err error) {
		lines, err = collectOnce(t, func(r scanner) (line string, err error) {
			var a, b, c int
			err = r.Scan(&a, &b, &c, &line)
			return line, err
		}, "EXPLAIN QUERY PLAN "+query, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

// What every step of a bulk replay, of a burial and of trimming asks is one
// stretch of an index: what is done already is never read again.
func TestStepsReadNoMoreThanTheyTake(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for name, c := range map[string]struct {
		query string
		args  []any
		want  string
	}{
		"burial":                         {buriable, []any{"p", "[]", 100}, "SEARCH m USING INDEX messages_buriable (lane=?"},
		"a partner's part of a replay":   {lineOfReplay, []any{"j", "p", 10, 20}, "SEARCH replay_items USING INDEX replay_items_line (job=? AND status=? AND partner=? AND n>?"},
		"replayed letters on their way":  {underWay, []any{"j", 10, 200}, "SEARCH replay_items USING INDEX replay_items_underway (job=? AND n>?"},
		"partners of a replay":           {partnersOfReplay, []any{"j", "p", 500}, "SEARCH replay_items USING COVERING INDEX replay_items_line (job=? AND status=? AND partner>?"},
		"audit entries, oldest first":    {trimmed[4], []any{1, 500}, "SEARCH e USING INDEX events_audit_age (at<?"},
		"old notifications of incidents": {forgotten[0], []any{1, 500}, "SEARCH i USING INDEX incidents_closed (closed>? AND closed<?"},
		"old notifications of none":      {forgotten[1], []any{1, 500}, "USING COVERING INDEX notifications_alone (sent>? AND sent<?"},
		"old incidents":                  {forgotten[2], []any{1, 500}, "SEARCH i USING INDEX incidents_closed (closed>? AND closed<?"},
		"other events, oldest first":     {trimmed[3], []any{1, 500}, "SEARCH e USING INDEX events_idle (at<?"},
		"letters of an outage, in order": {outageLetters, []any{"o", "open", 100}, "SEARCH l USING INDEX letters_outage_status (outage=? AND status=?"},
	} {
		if text := plan(t, s, c.query, c.args...); !strings.Contains(text, c.want) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: plan is\n%s\nwant %s and no sorting", name, text, c.want)
		}
	}
}

// Lists come in the order of an index: reading a page never sorts or scans
// what is not on it.
func TestListsReadNoMoreThanAPage(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	messages := func(f queue.MessageFilter) (w where) { w.messages(f, false); return w }
	letters := func(f queue.LetterFilter) (w where) { w.letters(f); return w }
	for name, c := range map[string]struct {
		in   table
		w    where
		want string
	}{
		"messages":               {messageTable, messages(queue.MessageFilter{}), "SCAN m"},
		"messages of a partner":  {messageTable, messages(queue.MessageFilter{Partner: "p"}), "SEARCH m USING INDEX messages_partner (partner=?"},
		"dead messages":          {messageTable, messages(queue.MessageFilter{States: []queue.State{queue.Dead}}), "SEARCH m USING INDEX messages_state (state=?"},
		"messages in two states": {messageTable, messages(queue.MessageFilter{States: []queue.State{queue.Dead, queue.Queued}}), "SCAN m"},
		"uncertain messages":     {messageTable, messages(queue.MessageFilter{Uncertain: true}), "m USING INDEX messages_uncertain"},
		"messages of a day":      {messageTable, messages(queue.MessageFilter{From: time.Unix(1, 0), To: time.Unix(2, 0)}), "SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?"},
		"by reference":           {messageTable, messages(queue.MessageFilter{Reference: "INV", Partner: "p"}), "SEARCH m USING INTEGER PRIMARY KEY (rowid=?"},
		"by a beginning":         {messageTable, messages(queue.MessageFilter{Reference: "INV*", Partner: "p"}), "SEARCH m USING INTEGER PRIMARY KEY (rowid=?"},
		"letters":                {letterTable, letters(queue.LetterFilter{}), "SCAN l"},
		"open letters":           {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen}), "l USING INDEX letters_open"},
		"open by partner":        {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Partner: "p"}), "SEARCH l USING INDEX letters_partner (partner=?"},
		"open by reason":         {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Reason: "r"}), "SEARCH l USING INDEX letters_reason (reason=?"},
		"open by both":           {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Reason: "r", Partner: "p"}), "SEARCH l USING INDEX letters_partner_reason (partner=? AND reason=?"},
		"open by cause":          {letterTable, letters(queue.LetterFilter{Status: queue.LetterOpen, Partner: "p", Cause: "c"}), "SEARCH l USING INDEX letters_cause (partner=? AND cause=?"},
		"letters of an outage":   {letterTable, letters(queue.LetterFilter{Outage: "o"}), "SEARCH l USING INDEX letters_outage (outage=?"},
		"settled":                {letterTable.by(letterIndex(queue.LetterFilter{Status: queue.LetterClosed})), letters(queue.LetterFilter{Status: queue.LetterClosed}), "l USING INDEX letters_closed"},
		"settled of a partner":   {letterTable.by(letterIndex(queue.LetterFilter{Status: queue.LetterClosed, Partner: "p"})), letters(queue.LetterFilter{Status: queue.LetterClosed, Partner: "p"}), "SEARCH l USING INDEX letters_settled (partner=?"},
		"outages":                {outageTable, where{}, "SCAN o"},
	} {
		text := plan(t, s, c.in.query(c.w), append(c.w.args, 100)...)
		if !strings.Contains(text, c.want) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: plan is\n%s\nwant %s and no sorting", name, text, c.want)
		}
	}
}
