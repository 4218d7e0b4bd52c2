package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"edigw/queue"
)

// messageColumns are what scanMessage reads, of messages AS m. A message that
// is still going on is overtaken as soon as its lane delivered a later one;
// nobody has to mark it.
const messageColumns = `m.seq, m.id, m.version, m.partner, m.lane, m.kind, m.direction, m.protocol, m.key, m.key_given, m.edition, m.previous, m.message_id,
	m.correlation, m.actor, m.source, m.sha256, m.size, m.file_name, m.content_type, m.business, m.properties, m.accepted,
	m.state, m.why, m.detail, m.next_at, m.round, m.attempts, m.limited, m.credential, m.total, m.crashes, m.resent, m.asked, m.uncertain, m.parked, m.refusal,
	m.overtaken OR (m.state <> 'refused' AND m.state <> 'delivered' AND m.state <> 'superseded' AND m.state <> 'discarded' AND m.seq < (SELECT delivered FROM lane_counts AS c WHERE c.lane = m.lane)),
	m.overdue, m.warned, m.proof, m.incarnation, m.build, m.letter, m.ack_asked, m.first_failure, m.finished, m.warn_by, m.deliver_by, m.deadline_given`

func scanMessage(r scanner) (queue.Message, error) {
	var m queue.Message
	var d damage
	err := r.Scan(&m.Seq, &m.ID, &m.Version, &m.Partner, &m.Lane, &m.Kind, &m.Direction, &m.Protocol, &m.Key, &m.KeyGiven, &m.Edition, &m.Previous, &m.MessageID,
		&m.CorrelationID, d.object("actor", &m.Actor), &m.Source, &m.Payload.SHA256, &m.Payload.Size, &m.Payload.FileName, &m.Payload.ContentType, d.object("business", &m.Business), d.object("properties", &m.Properties), moment{&m.Accepted},
		&m.State, &m.Why, &m.Detail, moment{&m.NextAt}, &m.Round, &m.Attempts, &m.Limited, &m.Credential, &m.Total, &m.Crashes, &m.Resent, &m.Asked, &m.Uncertain, &m.Parked, &m.Refusal,
		&m.Overtaken,
		&m.Overdue, &m.Warned, &m.Proof, &m.Incarnation, &m.Build, &m.Letter, &m.AckAsked, moment{&m.FirstFailure}, moment{&m.Finished}, moment{&m.WarnBy}, moment{&m.DeliverBy}, &m.DeadlineGiven)
	m.Damaged = d.text
	return m, err
}

const insertMessage = `INSERT INTO messages (id, version, partner, lane, kind, direction, protocol, key, key_given, edition, previous, message_id, bare_id,
	correlation, actor, source, sha256, size, file_name, content_type, payload_kept, business, properties, accepted,
	state, why, detail, next_at, timer, round, attempts, limited, credential, total, crashes, resent, asked, uncertain, parked, refusal,
	overtaken, overdue, warned, proof, incarnation, build, letter, ack_asked, first_failure, finished, warn_by, deliver_by, deadline_given)
	VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const updateMessage = `UPDATE messages SET version = version + 1,
	state = ?, why = ?, detail = ?, next_at = ?, timer = ?, round = ?, attempts = ?, limited = ?, credential = ?, total = ?, crashes = ?, resent = ?, asked = ?, uncertain = ?, parked = ?, refusal = ?,
	overtaken = ?, overdue = ?, warned = ?, proof = ?, incarnation = ?, build = ?, letter = ?, ack_asked = ?, first_failure = ?, finished = ?, warn_by = ?, deliver_by = ?, deadline_given = ?
	WHERE id = ? AND version = ?`

// fate is what becomes of a message: the columns that change, in the order of
// insertMessage and updateMessage.
func fate(m *queue.Message) []any {
	return []any{string(m.State), string(m.Why), m.Detail, micros(m.NextAt), micros(m.Timer()), m.Round, m.Attempts, m.Limited, m.Credential, m.Total, m.Crashes, m.Resent, m.Asked, m.Uncertain, m.Parked, m.Refusal,
		m.Overtaken, m.Overdue, m.Warned, string(m.Proof), m.Incarnation, m.Build, m.Letter, string(m.AckAsked), micros(m.FirstFailure), micros(m.Finished), micros(m.WarnBy), micros(m.DeliverBy), m.DeadlineGiven}
}

// putMessage writes a message and gives its place in line.
func (t *tx) putMessage(m *queue.Message) (seq int64, err error) {
	if m.Version == 0 {
		return t.addMessage(m)
	}
	n, err := t.exec(updateMessage, append(fate(m), m.ID, m.Version)...)
	if err != nil {
		return 0, fmt.Errorf("message %s, to %s: %w", m.ID, m.State, err)
	}
	if n == 0 {
		return 0, fmt.Errorf("message %s, version %d: %w", m.ID, m.Version, queue.ErrConflict)
	}
	if m.Seq > 0 { // it was read from here
		return m.Seq, nil
	}
	err = t.row("SELECT seq FROM messages WHERE id = ?", m.ID).Scan(&seq)
	return seq, err
}

func (t *tx) addMessage(m *queue.Message) (seq int64, err error) {
	args := append([]any{m.ID, m.Partner, m.Lane, string(m.Kind), string(m.Direction), m.Protocol, m.Key, m.KeyGiven, m.Edition, m.Previous, m.MessageID, bare(m.MessageID),
		m.CorrelationID, object{m.Actor}, m.Source, m.Payload.SHA256, m.Payload.Size, m.Payload.FileName, m.Payload.ContentType, m.Payload.SHA256 != "", object{m.Business}, given(m.Properties), micros(m.Accepted)},
		fate(m)...)
	if seq, err = t.insert(insertMessage, args...); err != nil {
		return 0, fmt.Errorf("message %s, key %.200q, edition %d: %w", m.ID, m.Key, m.Edition, err)
	}
	for _, v := range names(m) {
		if err := t.run("INSERT INTO refs (value, seq) VALUES (?, ?)", v, seq); err != nil {
			return 0, fmt.Errorf("message %s, reference: %w", m.ID, err)
		}
	}
	return seq, nil
}

// given is how properties are stored: most documents have none.
func given(p queue.Properties) object {
	if p.None() {
		return object{nil}
	}
	return object{p}
}

// names are the words that a message is found by, each once.
func names(m *queue.Message) []string {
	all := []string{m.Key, bare(m.MessageID), m.CorrelationID, m.Payload.FileName}
	for _, r := range m.Business.References {
		all = append(all, r.Value)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if all[0] == "" {
		all = all[1:]
	}
	return all
}

// bare is a Message-ID without brackets.
func bare(id string) string { return strings.Trim(id, "<>") }

// Message gives a message by its id.
func (s *Store) Message(ctx context.Context, id string) (m queue.Message, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		m, err = scanMessage(t.row("SELECT "+messageColumns+" FROM messages AS m WHERE m.id = ?", id))
		return missing(err, "message", id)
	})
	return m, err
}

// Carried finds the newest outbound message of a Message-ID.
func (s *Store) Carried(ctx context.Context, messageID string) (m queue.Message, err error) {
	err = s.borrow(ctx, func(t *tx) error {
		m, err = scanMessage(t.row("SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_carried
			WHERE m.bare_id = ?||'' AND m.bare_id <> '' AND m.direction = 'out' AND m.state <> 'refused' ORDER BY m.seq DESC LIMIT 1`, bare(messageID)))
		return missing(err, "Message-ID", messageID)
	})
	return m, err
}

// Editions gives the messages of a key, oldest first, without the refused.
func (s *Store) Editions(ctx context.Context, partner, key string) (all []queue.Edition, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = t.editions(partner, key)
		return err
	})
	return all, err
}

func (t *tx) editions(partner, key string) ([]queue.Edition, error) {
	messages, err := collect(t, scanMessage, "SELECT "+messageColumns+` FROM messages AS m INDEXED BY messages_key
		WHERE m.partner = ?||'' AND m.key = ?||'' AND m.key <> '' AND m.state <> 'refused' ORDER BY m.edition`, partner, key)
	if err != nil {
		return nil, err
	}
	var all []queue.Edition
	for _, m := range messages {
		e := queue.Edition{Message: m}
		if m.Letter != "" {
			l, err := scanLetter(t.row("SELECT "+letterColumns+" FROM letters AS l WHERE l.id = ? AND l.status <> 'closed'", m.Letter))
			switch {
			case err == nil:
				e.Letter = &l
			case !errors.Is(err, sql.ErrNoRows):
				return nil, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}
