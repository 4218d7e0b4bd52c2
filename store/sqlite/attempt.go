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
	err := t.run("INSERT INTO attempts (message, n, started, raw, facts) VALUES (?, ?, ?, ?, ?)", a.Message, a.N, micros(a.Started), a.Raw, object{facts})
	if err != nil {
		return fmt.Errorf("attempt %d of message %s: %w", a.N, a.Message, err)
	}
	return nil
}

// Attempts gives the attempts of a message, oldest first.
func (s *Store) Attempts(ctx context.Context, message string) (all []queue.Attempt, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanAttempt, "SELECT message, n, started, raw, facts FROM attempts WHERE message = ? ORDER BY n", message)
		return err
	})
	return all, err
}

func scanAttempt(r scanner) (queue.Attempt, error) {
	var a queue.Attempt
	var d damage
	var message, raw string
	var n int
	var started int64
	err := r.Scan(&message, &n, &started, &raw, d.object("facts", &a))
	a.Message, a.N, a.Raw, a.Started = message, n, raw, instant(started)
	if d.text != "" {
		a.Detail = "what is stored of this attempt is damaged: " + d.text
	}
	return a, err
}
