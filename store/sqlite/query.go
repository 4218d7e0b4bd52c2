package sqlite

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/queue"
)

// where gathers the conditions of a query.
type where struct {
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// equal adds a condition unless the value is empty.
func (w *where) equal(column, value string) {
	if value != "" {
		w.add(column+" = ?", value)
	}
}

// between adds from ≤ column < to; a zero bound does not bind.
func (w *where) between(column string, from, to time.Time) {
	if !from.IsZero() {
		w.add(column+" >= ?", micros(from))
	}
	if !to.IsZero() {
		w.add(column+" < ?", micros(to))
	}
}

func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

// table is what a paged list reads: it is sorted by number, newest first, and
// the cursor is the number of the last row that was given.
type table struct{ list, columns, from, number string }

// by is the table read by one of its indices; an empty name leaves the choice to
// SQLite.
func (in table) by(index string) table {
	if index != "" {
		in.from += " INDEXED BY " + index
	}
	return in
}

func (in table) query(w where) string {
	return "SELECT " + in.number + ", " + in.columns + " FROM " + in.from + w.String() + " ORDER BY " + in.number + " DESC LIMIT ?"
}

// page reads one page. Rows that are added meanwhile are newer than the
// cursor, so later pages neither repeat nor miss one.
func page[T any](ctx context.Context, s *Store, in table, w where, p queue.Page, scan func(scanner) (T, error)) ([]T, string, error) {
	before, err := readCursor(in.list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	if before > 0 {
		w.add(in.number+" < ?", before)
	}
	limit := p.Limit
	if limit <= 0 || limit > 500 {
		limit = 500
	}
	var rows []numbered[T]
	err = s.read(ctx, func(t *tx) error {
		rows, err = collectOnce(t, func(r scanner) (numbered[T], error) {
			var n numbered[T]
			n.value, err = scan(prefixed{r, &n.number})
			return n, err
		}, in.query(w), append(w.args, limit+1)...)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = writeCursor(in.list, rows[limit-1].number)
	}
	var all []T
	for _, r := range rows {
		all = append(all, r.value)
	}
	return all, next, nil
}

type numbered[T any] struct {
	number int64
	value  T
}

// prefixed reads the number before what the list's own scan reads.
type prefixed struct {
	row    scanner
	number *int64
}

func (p prefixed) Scan(dst ...any) error { return p.row.Scan(append([]any{p.number}, dst...)...) }

// A cursor is opaque to its user and tied to its list.
func writeCursor(list string, n int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + strconv.FormatInt(n, 10)))
}

func readCursor(list, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	number, ok := strings.CutPrefix(string(raw), list+":")
	n, bad := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || bad != nil || n <= 0 {
		return 0, fmt.Errorf("cursor %.80q: %w", cursor, queue.ErrBadCursor)
	}
	return n, nil
}

var (
	messageTable = table{"messages", messageColumns, "messages AS m", "m.seq"}
	letterTable  = table{"letters", letterColumns, "letters AS l", "l.n"}
	auditTable   = table{"audit", eventColumns, "events", "events.id"}
	outageTable  = table{"outages", outageColumns, "outages AS o", "o.number"}
)

// Messages lists messages, newest first.
func (s *Store) Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error) {
	common, err := s.common(ctx, f.Reference)
	if err != nil {
		return nil, "", err
	}
	var w where
	w.messages(f, common)
	if !common {
		return page(ctx, s, messageTable.by(messageIndex(f)), w, p, scanMessage)
	}
	return s.stretch(ctx, w, p)
}

// lookedAt is how many messages a page of a common beginning looks at.
const lookedAt = 5000

// stretch is a page of what is found among the next lookedAt messages: it may
// be short though more follow.
func (s *Store) stretch(ctx context.Context, w where, p queue.Page) ([]queue.Message, string, error) {
	before, err := readCursor(messageTable.list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var end []int64
	if err := s.borrow(ctx, func(t *tx) error {
		end, err = collect(t, scanValue[int64], "SELECT seq FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?+0", before, lookedAt-1)
		return err
	}); err != nil {
		return nil, "", err
	}
	if len(end) > 0 {
		w.add("m.seq >= ?", end[0])
	}
	found, next, err := page(ctx, s, messageTable, w, p, scanMessage)
	if err == nil && next == "" && len(end) > 0 {
		next = writeCursor(messageTable.list, end[0])
	}
	return found, next, err
}

// messageIndex is the index for what is rare among much else; empty if any will
// do.
func messageIndex(f queue.MessageFilter) string {
	one := func(s queue.State) bool { return len(f.States) == 1 && f.States[0] == s }
	switch {
	case f.Reference != "" && f.Reference != "*" || len(f.States) > 1:
		return ""
	case f.Partner == "" && f.Direction == queue.In && len(f.States) == 0:
		return "messages_in"
	case f.Partner == "":
		return ""
	case one(queue.Dead):
		return "messages_dead"
	case one(queue.Refused):
		return "messages_refused"
	case f.Uncertain:
		return "messages_unsure"
	case f.Direction == queue.In:
		return "messages_received"
	}
	return ""
}

// messages adds the conditions of a filter. One leads: the reference, else
// states of what is still going on, else the partner, else a single state; the
// others only filter (the + keeps their indices out of it), so that rows come
// in order and reading stops with the page. A state that is rare among much
// else is a literal, so that its own index of partners fits.
func (w *where) messages(f queue.MessageFilter, common bool) {
	byReference := w.reference(f.Reference, common) && !common
	few := !byReference && len(f.States) > 1 && !slices.ContainsFunc(f.States, settled)
	w.equal(unless(byReference || few, "m.partner"), f.Partner)
	switch n := len(f.States); {
	case n == 0:
	case n == 1 && !byReference && f.Partner != "" && (f.States[0] == queue.Dead || f.States[0] == queue.Refused):
		w.add("m.state = '" + string(f.States[0]) + "'")
	default:
		states := make([]any, n)
		for i, st := range f.States {
			states[i] = string(st)
		}
		in := " IN (?" + strings.Repeat(", ?", n-1) + ")"
		if few { // far below what is settled, which is not to be read through
			w.add("m.seq IN (SELECT seq FROM messages WHERE state"+in+")", states...)
		} else {
			w.add(unless(byReference || f.Partner != "" || n > 1, "m.state")+in, states...)
		}
	}
	if f.Direction == queue.In { // a literal, for the index of what we received
		w.add("m.direction = 'in'")
	} else {
		w.equal("m.direction", string(f.Direction))
	}
	if f.Uncertain {
		w.add("m.uncertain = 1")
	}
	if f.Overdue {
		w.add("m.overdue = 1")
	}
	w.arrived(f.From, f.To)
}

// Bounds of how far the order of arrival and the times of it may differ: by a
// clock that was set back, and by arrivals that were stored together.
const (
	clockSlack = time.Hour
	together   = 128
)

// arrived adds from ≤ accepted < to, and where that lies in the order of
// arrival: what is newer is not to be read through.
func (w *where) arrived(from, to time.Time) {
	w.between("m.accepted", from, to)
	if !from.IsZero() {
		w.add("m.seq >= coalesce((SELECT min(seq) FROM (SELECT seq FROM messages INDEXED BY messages_accepted WHERE accepted >= ? ORDER BY accepted LIMIT ?)), 0)", micros(from.Add(-clockSlack)), together)
	}
	if !to.IsZero() {
		w.add("m.seq <= coalesce((SELECT max(seq) FROM (SELECT seq FROM messages INDEXED BY messages_accepted WHERE accepted < ? ORDER BY accepted DESC LIMIT ?)), 0)", micros(to.Add(clockSlack)), together)
	}
}

// settled reports whether messages pile up in a state.
func settled(s queue.State) bool { return s.Terminal() || s == queue.Dead }

// unless takes a column out of the choice of indices.
func unless(taken bool, column string) string {
	if taken {
		return "+" + column
	}
	return column
}

// manyMatches is from how many matches on the beginning of a reference is
// common: the newest with it are found by looking at the newest messages.
const manyMatches = 10_000

// common reports whether very many references begin so.
func (s *Store) common(ctx context.Context, reference string) (many bool, err error) {
	from, prefix := strings.CutSuffix(bare(reference), "*")
	if !prefix || from == "" {
		return false, nil
	}
	err = s.borrow(ctx, func(t *tx) error {
		var n int
		err := t.row("SELECT count(*) FROM (SELECT 1 FROM refs WHERE value >= ?||'' AND value < ?||'' LIMIT ?+0)", from, beyond(from), manyMatches).Scan(&n)
		many = n == manyMatches
		return err
	})
	return many, err
}

// beyond is what sorts after everything that begins so.
func beyond(prefix string) string { return prefix + "\U0010FFFF" }

// reference adds the search for a business reference, key, Message-ID,
// correlation id or file name, by its beginning if it ends in *.
func (w *where) reference(reference string, common bool) bool {
	if reference == "" || reference == "*" {
		return false
	}
	switch want, prefix := strings.CutSuffix(bare(reference), "*"); {
	case common:
		w.add("EXISTS (SELECT 1 FROM refs INDEXED BY refs_message WHERE refs.seq = m.seq AND value >= ? AND value < ?)", want, beyond(want))
	case prefix:
		w.add("m.seq IN (SELECT seq FROM refs WHERE value >= ? AND value < ?)", want, beyond(want))
	default:
		w.add("m.seq IN (SELECT seq FROM refs WHERE value = ?)", want)
	}
	return true
}

// letters adds the conditions of a filter.
func (w *where) letters(f queue.LetterFilter) {
	w.equal("l.partner", f.Partner)
	w.equal("l.reason", string(f.Reason))
	switch f.Status { // a literal, so that the indices of one status fit
	case queue.LetterOpen:
		w.add("l.status = 'open'")
	case queue.LetterReplaying:
		w.add("l.status = 'replaying'")
	case queue.LetterClosed:
		w.add("l.status = 'closed'")
	case "":
	default:
		w.equal("l.status", string(f.Status))
	}
	if f.Outage != "" {
		w.add("l.outage = ? AND l.outage <> ''", f.Outage)
	}
	if f.Cause != "" {
		w.add("l.cause = ? AND l.cause <> ''", f.Cause)
	}
	if f.Direction == queue.In { // a literal, for the index of what we received
		w.add("l.direction = 'in'")
	} else {
		w.equal("l.direction", string(f.Direction))
	}
	w.between("l.created", f.From, f.To)
}

// Letters lists letters, newest first.
func (s *Store) Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error) {
	var w where
	w.letters(f)
	return page(ctx, s, letterTable.by(letterIndex(f)), w, p, scanLetter)
}

// letterIndex is the index for settled letters, which may be few among the open
// ones or the other way round; empty if any will do.
func letterIndex(f queue.LetterFilter) string {
	switch {
	case f.Status != queue.LetterClosed || f.Outage != "":
		return ""
	case f.Partner != "":
		return "letters_settled"
	}
	return "letters_closed"
}

// Audit lists the events with an actor, newest first.
func (s *Store) Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error) {
	var w where
	w.add("actor <> ''")
	w.equal("actor", f.Actor)
	w.equal("partner", f.Partner)
	w.between("at", f.From, f.To)
	if !f.To.IsZero() { // what is newer is not to be read through
		w.add("events.id <= coalesce((SELECT max(id) FROM (SELECT id FROM events INDEXED BY events_audit_age WHERE actor <> '' AND at < ? ORDER BY at DESC LIMIT ?)), 0)", micros(f.To.Add(clockSlack)), together)
	}
	return page(ctx, s, auditTable, w, p, scanEvent)
}
