package sqlite

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/fault"
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
	var w where
	w.messages(f)
	return page(ctx, s, messageTable, w, p, scanMessage)
}

// messages adds the conditions of a filter. One leads: the reference, else the
// partner, else a single state; the others only filter (the + keeps their
// indices out of it), so that rows come in order and reading stops with the
// page.
func (w *where) messages(f queue.MessageFilter) {
	byReference := w.reference(f.Reference)
	w.equal(unless(byReference, "m.partner"), f.Partner)
	if n := len(f.States); n > 0 {
		states := make([]any, n)
		for i, st := range f.States {
			states[i] = string(st)
		}
		w.add(unless(byReference || f.Partner != "" || n > 1, "m.state")+" IN (?"+strings.Repeat(", ?", n-1)+")", states...)
	}
	w.equal("m.direction", string(f.Direction))
	if f.Uncertain {
		w.add("m.uncertain = 1")
	}
	if f.Overdue {
		w.add("m.overdue = 1")
	}
	w.between("m.accepted", f.From, f.To)
}

// unless takes a column out of the choice of indices.
func unless(taken bool, column string) string {
	if taken {
		return "+" + column
	}
	return column
}

// reference adds the search for a business reference, key, Message-ID,
// correlation id or file name, by its beginning if it ends in *.
func (w *where) reference(reference string) bool {
	if reference == "" || reference == "*" {
		return false
	}
	want, prefix := strings.CutSuffix(bare(reference), "*")
	if prefix {
		w.add("m.seq IN (SELECT seq FROM refs WHERE value >= ? AND value < ?)", want, want+"\U0010FFFF")
	} else {
		w.add("m.seq IN (SELECT seq FROM refs WHERE value = ?)", want)
	}
	return true
}

// letters adds the conditions of a filter.
func (w *where) letters(f queue.LetterFilter) {
	w.equal("l.partner", f.Partner)
	w.equal("l.reason", string(f.Reason))
	switch f.Status { // a literal, so that the indices of open letters fit
	case queue.LetterOpen:
		w.add("l.status = 'open'")
	case queue.LetterReplaying:
		w.add("l.status = 'replaying'")
	case "":
	default:
		w.equal("l.status", string(f.Status))
	}
	if f.Outage != "" {
		w.add("l.outage = ? AND l.outage <> ''", f.Outage)
	}
	w.equal("l.cause", f.Cause)
	w.between("l.created", f.From, f.To)
}

// Letters lists letters, newest first.
func (s *Store) Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error) {
	var w where
	w.letters(f)
	return page(ctx, s, letterTable, w, p, scanLetter)
}

// LetterGroups counts the open and replaying letters by partner, reason,
// cause and outage, out of one index.
func (s *Store) LetterGroups(ctx context.Context, f queue.LetterFilter) (all []queue.LetterGroup, err error) {
	var w where
	w.add("l.status <> 'closed'")
	w.letters(f)
	err = s.read(ctx, func(t *tx) error {
		all, err = collectOnce(t, scanGroup, `SELECT l.partner, l.reason, l.cause, l.outage, sum(l.status = 'open'), sum(l.status = 'replaying'), sum(l.uncertain), min(l.created), max(l.created)
			FROM letters AS l INDEXED BY letters_groups`+w.String()+" GROUP BY l.partner, l.reason, l.cause, l.outage ORDER BY l.partner, l.reason, l.cause, l.outage", w.args...)
		return err
	})
	return all, err
}

func scanGroup(r scanner) (queue.LetterGroup, error) {
	var g queue.LetterGroup
	err := r.Scan(&g.Partner, &g.Reason, &g.Cause, &g.Outage, &g.Open, &g.Replaying, &g.Uncertain, moment{&g.Oldest}, moment{&g.Newest})
	return g, err
}

// Audit lists the events with an actor, newest first.
func (s *Store) Audit(ctx context.Context, f queue.AuditFilter, p queue.Page) ([]queue.Event, string, error) {
	var w where
	w.add("actor <> ''")
	w.equal("actor", f.Actor)
	w.equal("partner", f.Partner)
	w.between("at", f.From, f.To)
	return page(ctx, s, auditTable, w, p, scanEvent)
}

// Depths gives the lanes with anything waiting or dead, by lane, out of the
// counters.
func (s *Store) Depths(ctx context.Context) (all []queue.Depth, err error) {
	err = s.read(ctx, func(t *tx) error {
		all, err = collect(t, scanDepth, `SELECT c.lane, c.partner, c.depth, c.bytes, c.acks, `+oldestColumn+`,
			coalesce((SELECT min(created) FROM letters INDEXED BY letters_age WHERE lane = c.lane AND status = 'open'), 0),
			coalesce((SELECT min(deliver_by) FROM messages INDEXED BY messages_deadline WHERE lane = c.lane AND state IN ('queued', 'waiting') AND overdue = 0 AND deliver_by > 0), 0)
			FROM lane_counts AS c WHERE c.depth > 0 OR c.acks > 0 OR c.dead > 0 ORDER BY c.lane`)
		if err != nil {
			return err
		}
		return t.reasons(all)
	})
	return all, err
}

func scanDepth(r scanner) (queue.Depth, error) {
	var d queue.Depth
	err := r.Scan(&d.Lane, &d.Partner, &d.Lined, &d.Bytes, &d.Acks, moment{&d.Oldest}, moment{&d.OldestL}, moment{&d.First})
	return d, err
}

// reasons adds the counts of open letters to depths that are sorted by lane.
func (t *tx) reasons(depths []queue.Depth) error {
	type count struct {
		lane   string
		reason fault.Reason
		open   int
	}
	counts, err := collect(t, func(r scanner) (c count, err error) {
		err = r.Scan(&c.lane, &c.reason, &c.open)
		return c, err
	}, "SELECT lane, reason, open FROM letter_counts WHERE open > 0")
	for _, c := range counts {
		i, found := slices.BinarySearchFunc(depths, c.lane, func(d queue.Depth, lane string) int { return strings.Compare(d.Lane, lane) })
		if !found {
			continue
		}
		if depths[i].Letters == nil {
			depths[i].Letters = map[fault.Reason]int{}
		}
		depths[i].Letters[c.reason] = c.open
	}
	return err
}
