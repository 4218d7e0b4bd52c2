package sqlite

import (
	"database/sql"
	"errors"
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

func TestRowsAreReadIntoWhatTheyAreStoredAs(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	type row struct {
		Text    string
		State   queue.State
		Number  int64
		Count   int
		Yes, No bool
		Body    []byte
		None    []byte
		Object  map[string]int
		Absent  map[string]int
	}
	var got row
	err := s.read(t.Context(), func(t *tx) error {
		return t.row("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL", "text", string(queue.Dead), int64(1)<<40, 7, true, false, []byte{0, 1}, nil, object{map[string]int{"a": 1}}).
			Scan(&got.Text, &got.State, &got.Number, &got.Count, &got.Yes, &got.No, &got.Body, &got.None, object{&got.Object}, object{&got.Absent})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := row{Text: "text", State: queue.Dead, Number: 1 << 40, Count: 7, Yes: true, Body: []byte{0, 1}, Object: map[string]int{"a": 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestRowsThatDoNotFitAreErrors(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var text string
	var n int
	for name, c := range map[string]struct {
		query string
		dst   []any
	}{
		"NULL for a text":      {"SELECT NULL", []any{&text}},
		"NULL for a number":    {"SELECT NULL", []any{&n}},
		"a text for a number":  {"SELECT 'x'", []any{&n}},
		"bytes for a text":     {"SELECT x'00'", []any{&text}},
		"fewer than there are": {"SELECT 1, 2", []any{&n}},
		"no pointer":           {"SELECT 1", []any{n}},
	} {
		if err := s.read(t.Context(), func(t *tx) error { return t.row(c.query).Scan(c.dst...) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	err := s.read(t.Context(), func(t *tx) error { return t.row("SELECT 1 WHERE 0").Scan(&n) })
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
}

// A list after IN is a table that SQLite makes for each row it writes; one is
// left, in a rule of the table that no migration can change.
func TestStepsMakeNoTables(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for name, query := range map[string]string{"insert": insertMessage, "update": updateMessage} {
		var tables int
		err := s.write(t.Context(), func(t *tx) error {
			ops, err := collectOnce(t, func(r scanner) (op string, err error) {
				var rest [7]any
				err = r.Scan(&rest[0], &op, &rest[1], &rest[2], &rest[3], &rest[4], &rest[5], &rest[6])
				return op, err
			}, "EXPLAIN "+query, make([]any, 60)[:parameters(query)]...)
			for _, op := range ops {
				if op == "OpenEphemeral" {
					tables++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if tables > 1 {
			t.Errorf("%s makes %d tables for each message", name, tables)
		}
	}
}

func parameters(query string) (n int) {
	for _, c := range query {
		if c == '?' {
			n++
		}
	}
	return n
}
