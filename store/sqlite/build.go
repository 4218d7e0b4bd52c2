package sqlite

import (
	"context"
	"fmt"

	"edigw/queue"
)

// putBuild adds a build, or changes one of the same number.
func (t *tx) putBuild(b *queue.Build) error {
	err := t.run(`INSERT INTO builds (message, n, message_id, sha256, size, kept, ack_asked, token, agreement, record, why, sent, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (message, n) DO UPDATE SET message_id = excluded.message_id, sha256 = excluded.sha256, size = excluded.size, ack_asked = excluded.ack_asked,
		token = excluded.token, agreement = excluded.agreement, record = excluded.record, why = excluded.why, sent = excluded.sent, created = excluded.created`,
		b.Message, b.N, b.MessageID, b.SHA256, b.Size, b.SHA256 != "", string(b.AckAsked), b.Token, b.Agreement, b.Record, b.Why, b.Sent, micros(b.Created))
	if err != nil {
		return fmt.Errorf("build %d of message %s: %w", b.N, b.Message, err)
	}
	return nil
}

// Builds gives the builds of a message, oldest first.
func (s *Store) Builds(ctx context.Context, message string) (all []queue.Build, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		all, err = collect(t, scanBuild, `SELECT message, n, message_id, sha256, size, ack_asked, token, agreement, record, why, sent, created
			FROM builds WHERE message = ? ORDER BY n`, message)
		return err
	})
	return all, err
}

func scanBuild(r scanner) (queue.Build, error) {
	var b queue.Build
	err := r.Scan(&b.Message, &b.N, &b.MessageID, &b.SHA256, &b.Size, &b.AckAsked, &b.Token, &b.Agreement, &b.Record, &b.Why, &b.Sent, moment{&b.Created})
	return b, err
}
