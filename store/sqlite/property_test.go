package sqlite

import (
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// TestAMessageOfBeforePropertiesIsRead: the database of a release that knew none
// is upgraded, and what lies in it goes on as it was.
func TestAMessageOfBeforePropertiesIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Accept(t.Context(), testArrival(1))
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), func(t *tx) error {
		if _, err := t.exec("ALTER TABLE messages DROP COLUMN properties"); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM migrations WHERE number = 46")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Message(t.Context(), before.Message.ID)
	if d := cmp.Diff(before.Message, got); err != nil || d != "" {
		t.Errorf("%v, -before +after\n%s", err, d)
	}
	if again, err := s.Accept(t.Context(), testArrival(1)); err != nil || again.Outcome != queue.AdmitReplayed {
		t.Errorf("a repeat: %s, %v", again.Outcome, err)
	}
	next := testArrival(2)
	next.Message.Properties.Part = []queue.Property{{Name: "type", Value: "order"}}
	after, err := s.Accept(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = s.Message(t.Context(), after.Message.ID); err != nil || len(got.Properties.Part) != 1 || got.Properties.Part[0] != next.Message.Properties.Part[0] {
		t.Errorf("%v, %+v", err, got.Properties)
	}
}
