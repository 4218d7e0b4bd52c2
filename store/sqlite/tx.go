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
	stmts map[string]*sql.Stmt
}

func connection(ctx context.Context, db *sql.DB) (*tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{ctx: context.Background(), conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (t *tx) close() error {
	for _, st := range t.stmts {
		_ = st.Close()
	}
	return t.conn.Close()
}

// prepare gives the statement for a query, which must be one of the program's
// constants; queries that are put together use collectOnce.
//
// QUIRK(SQLite): a parameter that the planner looked at while it chose a
// partial index, or that stands alone in LIMIT, makes SQLite compile the
// statement anew with every binding: 50 µs in place of 5. Statements that run
// often hide theirs as ?||” and ?+0.
func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if st := t.stmts[query]; st != nil {
		return st, nil
	}
	st, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = st
	return st, nil
}

// exec runs a statement and gives the number of rows it changed. A row that is
// there already is queue.ErrConflict, one that refers to nothing
// queue.ErrNotFound, one that breaks a rule of the schema queue.ErrForbidden, a
// full disk queue.ErrNoSpace.
func (t *tx) exec(query string, args ...any) (int64, error) {
	st, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, meaning(err)
	}
	return res.RowsAffected()
}

// insert runs an INSERT and gives the number of the new row; errors as exec.
func (t *tx) insert(query string, args ...any) (int64, error) {
	st, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, meaning(err)
	}
	return res.LastInsertId()
}

// row asks for one row; Scan gives sql.ErrNoRows if there is none.
func (t *tx) row(query string, args ...any) scanner {
	st, err := t.prepare(query)
	if err != nil {
		return failed{err}
	}
	return st.QueryRowContext(t.ctx, args...)
}

// scanner is a row that can be read.
type scanner interface{ Scan(dst ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// collect runs a query and reads all its rows.
func collect[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	st, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(t.ctx, args...)
	return drain(rows, err, scan)
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
		if _, err := t.exec("BEGIN"); err != nil {
			return fmt.Errorf("sqlite: %w (%w)", queue.ErrUnavailable, err)
		}
		t.ctx = asked
		err := fn(t)
		t.ctx = context.Background()
		_, _ = t.exec("ROLLBACK")
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
	var t *tx
	select {
	case t = <-d.pool:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.ctx = context.Background(); d.pool <- t }()
	t.ctx = ctx
	err := fn(t)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // an interrupted query says so in its own words
	}
	return passing(err)
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
