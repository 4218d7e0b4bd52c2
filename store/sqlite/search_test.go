package sqlite

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"edigw/queue"
)

// What people search and filter by is read out of an index, in order: neither
// the whole table nor a sorted copy.
func TestSearchesReadAnIndex(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	lined := []queue.State{queue.Queued, queue.Waiting, queue.Sending, queue.AwaitingAck}
	for name, c := range map[string]struct {
		f    queue.MessageFilter
		want string
	}{
		"a reference":              {queue.MessageFilter{Reference: "INV-1"}, "SEARCH refs USING PRIMARY KEY (value=?)"},
		"a Message-ID":             {queue.MessageFilter{Reference: "<a@b>"}, "SEARCH refs USING PRIMARY KEY (value=?)"},
		"the beginning of one":     {queue.MessageFilter{Reference: "INV-*"}, "SEARCH refs USING PRIMARY KEY (value>? AND value<?)"},
		"a reference of a partner": {queue.MessageFilter{Reference: "INV-1", Partner: "p", States: lined}, "SEARCH refs USING PRIMARY KEY (value=?)"},
		"failed":                   {queue.MessageFilter{States: []queue.State{queue.Dead}}, "SEARCH m USING INDEX messages_state (state=?)"},
		"unknown":                  {queue.MessageFilter{Uncertain: true}, "SCAN m USING INDEX messages_uncertain"},
		"overdue":                  {queue.MessageFilter{Overdue: true}, "SCAN m USING INDEX messages_overdue"},
		"in line":                  {queue.MessageFilter{States: lined}, "SEARCH messages USING COVERING INDEX messages_state (state=?)"},
		"in line for a partner":    {queue.MessageFilter{States: lined, Partner: "p"}, "SEARCH messages USING COVERING INDEX messages_state (state=?)"},
		"failed of a partner":      {queue.MessageFilter{Partner: "p", States: []queue.State{queue.Dead}}, "SEARCH m USING INDEX messages_dead (partner=?)"},
		"refused of a partner":     {queue.MessageFilter{Partner: "p", States: []queue.State{queue.Refused}}, "SEARCH m USING INDEX messages_refused (partner=?)"},
		"unknown of a partner":     {queue.MessageFilter{Partner: "p", Uncertain: true}, "SEARCH m USING INDEX messages_unsure (partner=?)"},
		"received":                 {queue.MessageFilter{Direction: queue.In}, "SCAN m USING INDEX messages_in"},
		"received from a partner":  {queue.MessageFilter{Direction: queue.In, Partner: "p"}, "SEARCH m USING INDEX messages_received (partner=?)"},
		"a partner":                {queue.MessageFilter{Partner: "p"}, "SEARCH m USING INDEX messages_partner (partner=?)"},
	} {
		var w where
		w.messages(c.f, false)
		text := plan(t, s, messageTable.by(messageIndex(c.f)).query(w), append(w.args, 50)...)
		if !strings.Contains(text, c.want) || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN m\n") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// What begins like very many references is found page by page, whole and in
// order, though it lies far below what is newest.
func TestACommonBeginningIsFoundInShortPages(t *testing.T) {
	t.Parallel()
	const n, old = 18_000, manyMatches + 1
	s := openTest(t)
	letters(t, s, n)
	if err := s.write(t.Context(), func(x *tx) error {
		_, err := x.exec("INSERT INTO refs (value, seq) SELECT iif(seq <= ?, 'OLD-', 'NEW-') || seq, seq FROM messages", old)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var found []int64
	pages := 0
	for p := (queue.Page{Limit: 500}); ; pages++ {
		some, next, err := s.Messages(t.Context(), queue.MessageFilter{Reference: "OLD-*"}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range some {
			found = append(found, m.Seq)
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	if len(found) != old || found[0] != old || found[old-1] != 1 || !slices.IsSortedFunc(found, func(a, b int64) int { return cmp.Compare(b, a) }) {
		t.Errorf("%d found in %d pages", len(found), pages)
	}
}
