package sqlite

import (
	"context"
	"fmt"

	"edigw/fault"
	"edigw/queue"
)

// letterColumns are what scanLetter reads, of letters AS l. An open letter is
// overtaken as soon as its lane delivered a later message.
const letterColumns = `l.id, l.version, l.message, l.seq, l.partner, l.lane, l.protocol, l.direction, l.reason, l.class, l.status, l.closed_as, l.detail, l.cause, l.last,
	l.attempts, l.uncertain,
	l.overtaken OR (l.status = 'open' AND l.seq < coalesce((SELECT delivered FROM lane_counts AS c WHERE c.lane = l.lane), 0)),
	l.overdue, l.again, l.outage, l.created, l.first, l.replayed, l.closed, l.actor, l.note, l.before`

func scanLetter(r scanner) (queue.Letter, error) {
	var l queue.Letter
	var d damage
	err := r.Scan(&l.ID, &l.Version, &l.Message, &l.Seq, &l.Partner, &l.Lane, &l.Protocol, &l.Direction, &l.Reason, &l.Class, &l.Status, &l.ClosedAs, &l.Detail, &l.Cause, d.object("last", &l.Last),
		&l.Attempts, &l.Uncertain,
		&l.Overtaken,
		&l.Overdue, &l.Again, &l.Outage, moment{&l.Created}, moment{&l.First}, moment{&l.Replayed}, moment{&l.Closed}, d.object("actor", &l.Actor), &l.Note, d.object("before", &l.Before))
	if d.text != "" {
		l.Detail += " (what is stored of this letter is damaged: " + d.text + ")"
	}
	return l, err
}

// openLetter adds a letter and gives its message's place in line, which the
// letter takes over: the message may be as new as the letter.
func (t *tx) openLetter(l *queue.Letter) (seq int64, err error) {
	if l.Version != 0 {
		return 0, fmt.Errorf("letter %s, version %d, is not new: %w", l.ID, l.Version, queue.ErrConflict)
	}
	if err := t.row("SELECT seq FROM messages WHERE id = ?", l.Message).Scan(&seq); err != nil {
		return 0, missing(err, "message of a letter", l.Message)
	}
	_, err = t.exec(`INSERT INTO letters (id, version, message, seq, partner, lane, protocol, direction, reason, class, status, closed_as, detail, cause, last,
		attempts, uncertain, overtaken, overdue, again, outage, created, first, replayed, closed, actor, note, before)
		VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, l.Message, seq, l.Partner, l.Lane, l.Protocol, string(l.Direction), string(l.Reason), string(l.Class), string(l.Status), string(l.ClosedAs), l.Detail, l.Cause, object{l.Last},
		l.Attempts, l.Uncertain, l.Overtaken, l.Overdue, l.Again, l.Outage, micros(l.Created), micros(l.First), micros(l.Replayed), micros(l.Closed), object{l.Actor}, l.Note, object{l.Before})
	if err != nil {
		return 0, fmt.Errorf("letter %q: %w", l.ID, err)
	}
	return seq, nil
}

// changeLetter writes what became of a letter.
func (t *tx) changeLetter(l *queue.Letter) error {
	n, err := t.exec(`UPDATE letters SET version = version + 1, reason = ?, class = ?, status = ?, closed_as = ?, detail = ?, cause = ?, last = ?,
		attempts = ?, uncertain = ?, overtaken = ?, overdue = ?, again = ?, outage = ?, first = ?, replayed = ?, closed = ?, actor = ?, note = ?, before = ?
		WHERE id = ? AND version = ?`,
		string(l.Reason), string(l.Class), string(l.Status), string(l.ClosedAs), l.Detail, l.Cause, object{l.Last},
		l.Attempts, l.Uncertain, l.Overtaken, l.Overdue, l.Again, l.Outage, micros(l.First), micros(l.Replayed), micros(l.Closed), object{l.Actor}, l.Note, object{l.Before},
		l.ID, l.Version)
	if err != nil {
		return fmt.Errorf("letter %s: %w", l.ID, err)
	}
	if n > 0 {
		return nil
	}
	var version int64
	if err := t.row("SELECT version FROM letters WHERE id = ?", l.ID).Scan(&version); err != nil {
		return missing(err, "letter", l.ID)
	}
	return fmt.Errorf("letter %s, version %d, stored is %d: %w", l.ID, l.Version, version, queue.ErrConflict)
}

// Letter gives a letter by its id.
func (s *Store) Letter(ctx context.Context, id string) (l queue.Letter, err error) {
	err = s.read(ctx, func(t *tx) error {
		l, err = scanLetter(t.row("SELECT "+letterColumns+" FROM letters AS l WHERE l.id = ?", id))
		return missing(err, "letter", id)
	})
	return l, err
}

// LettersOf gives the letters of a message, oldest first.
func (s *Store) LettersOf(ctx context.Context, message string) (all []queue.Letter, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanLetter, "SELECT "+letterColumns+" FROM letters AS l WHERE l.message = ? ORDER BY l.n", message)
		return err
	})
	return all, err
}

// oldestLetterOf reads a lane's open letters in their order, up to the first
// that fits.
const oldestLetterOf = "SELECT " + letterColumns + ` FROM letters AS l INDEXED BY letters_age
	WHERE l.lane = ?1||'' AND l.status = 'open' AND l.reason NOT IN (SELECT value FROM json_each(?2)) ORDER BY l.created, l.n LIMIT 1`

// OldestLetter gives the open letter of a lane that was made first.
func (s *Store) OldestLetter(ctx context.Context, lane string, except ...fault.Reason) (l queue.Letter, err error) {
	err = s.read(ctx, func(t *tx) error {
		l, err = scanLetter(t.row(oldestLetterOf, lane, list[fault.Reason](except)))
		return missing(err, "open letter of lane", lane)
	})
	return l, err
}

const outageLetters = "SELECT " + letterColumns + ` FROM letters AS l INDEXED BY letters_outage_status
	WHERE l.outage = ?1||'' AND l.outage <> '' AND l.status = ?2||'' ORDER BY l.seq, l.n LIMIT ?3+0`

// OutageLetters gives the letters of an outage, oldest message first.
func (s *Store) OutageLetters(ctx context.Context, outage string, status queue.LetterStatus, limit int) (all []queue.Letter, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanLetter, outageLetters, outage, string(status), limit)
		return err
	})
	return all, err
}
