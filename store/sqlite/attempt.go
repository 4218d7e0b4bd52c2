package sqlite

import (
	"context"
	"fmt"

	"edigw/queue"
)

// addAttempt adds an attempt. Nothing asks for its facts by themselves, so
// they are one JSON value.
func (t *tx) addAttempt(a *queue.Attempt) error {
	facts := *a
	facts.Raw = "" // has its own column: retention clears it
	_, err := t.exec("INSERT INTO attempts (message, n, started, raw, facts) VALUES (?, ?, ?, ?, ?)", a.Message, a.N, micros(a.Started), a.Raw, object{facts})
	if err != nil {
		return fmt.Errorf("attempt %d of message %s: %w", a.N, a.Message, err)
	}
	return nil
}

// Attempts gives the attempts of a message, oldest first.
func (s *Store) Attempts(ctx context.Context, message string) (all []queue.Attempt, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanAttempt, "SELECT started, raw, facts FROM attempts WHERE message = ? ORDER BY n", message)
		return err
	})
	return all, err
}

func scanAttempt(r scanner) (queue.Attempt, error) {
	var a queue.Attempt
	var raw string
	var started int64
	err := r.Scan(&started, &raw, object{&a})
	a.Raw, a.Started = raw, instant(started)
	return a, err
}
