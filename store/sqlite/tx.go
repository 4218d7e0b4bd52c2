package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"edigw/queue"
)

// tx is a connection inside a transaction, with the statements that it has
// prepared. It is used by one goroutine at a time; rows must be read to their
// end before the next statement.
type tx struct {
	ctx   context.Context // of the running call; the writer's is never cancelled
	conn  *sql.Conn
	stmts map[string]*statement
}

func connection(ctx context.Context, db *sql.DB) (*tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{ctx: context.Background(), conn: conn, stmts: map[string]*statement{}}, nil
}

func (t *tx) close() error {
	for _, st := range t.stmts {
		_ = st.stmt.Close()
	}
	return t.conn.Close()
}

// open reports whether a transaction is open: SQLite ends one by itself after an
// error that it cannot take back.
func (t *tx) open() (is bool) {
	err := t.conn.Raw(func(c any) error {
		is = !c.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	return is && err == nil
}

// prepare gives the statement for a query, which must be one of the program's
// constants; queries that are put together use collectOnce.
//
// QUIRK(SQLite): a parameter that the planner looked at while it chose a
// partial index, or that stands alone in LIMIT, makes SQLite compile the
// statement anew with every binding: 50 µs in place of 5. Statements that run
// often hide theirs as ?||” and ?+0.
func (t *tx) prepare(query string) (*statement, error) {
	if st := t.stmts[query]; st != nil {
		return st, nil
	}
	st, err := newStatement(context.Background(), t.conn, query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = st
	return st, nil
}

// run runs a statement. A row that is there already is queue.ErrConflict, one
// that refers to nothing queue.ErrNotFound, one that breaks a rule of the schema
// queue.ErrForbidden, a full disk queue.ErrNoSpace.
func (t *tx) run(query string, args ...any) error {
	st, err := t.prepare(query)
	if err != nil {
		return err
	}
	return meaning(st.run(t.ctx, args))
}

// exec is run, and gives the number of rows that the statement changed.
func (t *tx) exec(query string, args ...any) (n int64, err error) {
	if err := t.run(query, args...); err != nil {
		return 0, err
	}
	err = t.row("SELECT changes()").Scan(&n)
	return n, err
}

// insert runs an INSERT and gives the number of the new row; errors as run.
func (t *tx) insert(query string, args ...any) (n int64, err error) {
	if err := t.run(query, args...); err != nil {
		return 0, err
	}
	err = t.row("SELECT last_insert_rowid()").Scan(&n)
	return n, err
}

// row asks for one row; Scan gives sql.ErrNoRows if there is none. It is read
// before the next statement.
func (t *tx) row(query string, args ...any) scanner {
	st, err := t.prepare(query)
	if err != nil {
		return failed{err}
	}
	return st.one(t.ctx, args)
}

// collect runs a query and reads all its rows.
func collect[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
	st, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	err = st.each(t.ctx, args, func(r scanner) error {
		v, err := scan(r)
		if err == nil {
			all = append(all, v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// collectOnce is collect for a query that was put together.
func collectOnce[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.conn.QueryContext(t.ctx, query, args...)
	return drain(rows, err, scan)
}

func drain[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// scanValue reads a row of one column.
func scanValue[T any](r scanner) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// missing turns sql.ErrNoRows into queue.ErrNotFound of something named.
func missing(err error, what, name string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %.200q: %w", what, name, queue.ErrNotFound)
	}
	return err
}

// meaning adds the contract's kind to an error of SQLite, told by its code.
func meaning(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.ExtendedCode == sqlite3.ErrConstraintUnique, e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey, e.ExtendedCode == sqlite3.ErrConstraintRowID:
		return fmt.Errorf("%w (%w)", queue.ErrConflict, err)
	case e.ExtendedCode == sqlite3.ErrConstraintForeignKey:
		return fmt.Errorf("%w (%w)", queue.ErrNotFound, err)
	case e.ExtendedCode == sqlite3.ErrConstraintTrigger, e.ExtendedCode == sqlite3.ErrConstraintCheck, e.ExtendedCode == sqlite3.ErrConstraintNotNull:
		return fmt.Errorf("%w (%w)", queue.ErrForbidden, err)
	case e.Code == sqlite3.ErrFull, e.SystemErrno == syscall.ENOSPC, e.SystemErrno == syscall.EDQUOT, e.SystemErrno == syscall.EFBIG:
		return fmt.Errorf("%w (%w)", queue.ErrNoSpace, err)
	}
	return err
}

// read runs fn in a transaction that sees one state of the database and
// changes nothing. It waits for no writer. It fails with the context's error,
// with queue.ErrUnavailable after Close and if SQLite cannot read now, or with
// what fn returns.
func (d *database) read(ctx context.Context, fn func(t *tx) error) error {
	return d.borrow(ctx, func(t *tx) error {
		asked := t.ctx
		t.ctx = context.Background()
		if err := t.run("BEGIN"); err != nil {
			return fmt.Errorf("sqlite: %w (%w)", queue.ErrUnavailable, err)
		}
		t.ctx = asked
		err := fn(t)
		t.ctx = context.Background()
		_ = t.run("ROLLBACK")
		return err
	})
}

// borrow is read for a single statement, which needs no transaction.
func (d *database) borrow(ctx context.Context, fn func(t *tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return fmt.Errorf("sqlite: closed: %w", queue.ErrUnavailable)
	}
	t, err := d.reader(ctx)
	if err != nil {
		return err
	}
	defer d.giveBack(t)
	t.ctx = ctx
	err = fn(t)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // an interrupted query says so in its own words
	}
	return passing(err)
}

// reader waits for a connection that reads: the one that read last if it is
// free. A commit makes SQLite drop the pages that a connection holds, so of
// several that take turns none would hold any.
func (d *database) reader(ctx context.Context) (t *tx, err error) {
	select {
	case t = <-d.warm:
		return t, nil
	default:
	}
	select {
	case t = <-d.warm:
	case t = <-d.pool:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return t, err
}

func (d *database) giveBack(t *tx) {
	t.ctx = context.Background()
	select {
	case d.warm <- t:
	default:
		d.pool <- t
	}
}

// passing adds queue.ErrUnavailable to an error of SQLite that says that it
// could not read or write now: what is stored may be as good as ever.
func passing(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) || errors.Is(err, queue.ErrUnavailable) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrIoErr, sqlite3.ErrNomem, sqlite3.ErrCantOpen, sqlite3.ErrProtocol, sqlite3.ErrInterrupt, sqlite3.ErrReadonly:
		return fmt.Errorf("sqlite: %w: %w", queue.ErrUnavailable, err)
	}
	return err
}
