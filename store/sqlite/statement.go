package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

// statement is one that its connection has prepared. It speaks to the driver
// itself: what database/sql does in between (locks, copies, conversions by
// reflection) costs more than most statements here do. The driver binds and
// steps a query in one call of C, and takes one for each parameter of an Exec:
// so everything runs as a query.
type statement struct {
	stmt *sqlite3.SQLiteStmt
	args []driver.NamedValue // used again
	row  []driver.Value      // the same; what is read of it is copied
}

func newStatement(ctx context.Context, conn *sql.Conn, query string) (st *statement, err error) {
	err = conn.Raw(func(c any) error {
		s, err := c.(*sqlite3.SQLiteConn).PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		st = &statement{stmt: s.(*sqlite3.SQLiteStmt)}
		return nil
	})
	return st, err
}

// bind puts the arguments down as the driver takes them.
func (st *statement) bind(args []any) error {
	st.args = st.args[:0]
	for i, a := range args {
		v, err := argument(a)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		st.args = append(st.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return nil
}

func argument(a any) (driver.Value, error) {
	switch a := a.(type) {
	case nil, int64, string, []byte, bool:
		return a, nil
	case int:
		return int64(a), nil
	case driver.Valuer:
		return a.Value()
	}
	return driver.DefaultParameterConverter.ConvertValue(a)
}

// start binds, and takes the first step: a statement that changes something has
// done so when it returns. The caller closes what it gets.
func (st *statement) start(ctx context.Context, args []any) (driver.Rows, error) {
	if err := st.bind(args); err != nil {
		return nil, err
	}
	rows, err := st.stmt.QueryContext(ctx, st.args)
	clear(st.args) // a body is not kept for it
	return rows, err
}

// run is for a statement without rows; those that come are passed over.
func (st *statement) run(ctx context.Context, args []any) error {
	rows, err := st.start(ctx, args)
	if err != nil {
		return err
	}
	for err == nil {
		err = rows.Next(nil)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// each calls fn with every row until it fails; the row is good until fn
// returns.
func (st *statement) each(ctx context.Context, args []any, fn func(scanner) error) error {
	rows, err := st.start(ctx, args)
	if err != nil {
		return err
	}
	if n := len(rows.Columns()); len(st.row) != n {
		st.row = make([]driver.Value, n)
	}
	for err == nil {
		if err = rows.Next(st.row); err == nil {
			err = fn(values(st.row))
		} else if errors.Is(err, io.EOF) {
			err = nil
			break
		}
	}
	return errors.Join(err, rows.Close())
}

// one is the first row, sql.ErrNoRows if there is none.
func (st *statement) one(ctx context.Context, args []any) scanner {
	var first scanner
	err := st.each(ctx, args, func(r scanner) error {
		if first == nil {
			first = r
			return io.EOF // no more are wanted
		}
		return nil
	})
	switch {
	case first != nil:
		return first
	case err == nil:
		err = sql.ErrNoRows
	}
	return failed{err}
}

// scanner is a row that can be read.
type scanner interface{ Scan(dst ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// values is a row as the driver gives it.
type values []driver.Value

// Scan reads the columns into pointers: of a string, a number, a bool, bytes, or
// what is made of these, or a sql.Scanner. NULL is for the latter two alone.
func (v values) Scan(dst ...any) error {
	if len(dst) != len(v) {
		return fmt.Errorf("sqlite: a row has %d columns, %d are read", len(v), len(dst))
	}
	for i, src := range v {
		if !assign(dst[i], src) {
			if s, ok := dst[i].(sql.Scanner); !ok {
				return fmt.Errorf("sqlite: column %d is stored as %T, not as what %T takes", i+1, src, dst[i])
			} else if err := s.Scan(src); err != nil {
				return fmt.Errorf("sqlite: column %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// assign reports whether src is of the kind that dst points at.
func assign(dst any, src driver.Value) bool {
	switch src := src.(type) {
	case string:
		if d, ok := dst.(*string); ok {
			*d = src
			return true
		}
		if d, ok := pointed(dst, reflect.String); ok {
			d.SetString(src)
			return true
		}
	case int64:
		return assignNumber(dst, src)
	case []byte:
		if d, ok := dst.(*[]byte); ok {
			*d = src
			return true
		}
	case nil:
		if d, ok := dst.(*[]byte); ok {
			*d = nil
			return true
		}
	}
	return false
}

func assignNumber(dst any, src int64) bool {
	switch d := dst.(type) {
	case *int64:
		*d = src
	case *int:
		*d = int(src)
	case *bool:
		*d = src != 0
	case *string:
		*d = strconv.FormatInt(src, 10)
	default:
		d2, ok := pointed(dst, reflect.Int, reflect.Int64)
		if ok {
			d2.SetInt(src)
		}
		return ok
	}
	return true
}

// pointed gives what dst points at, if it is of a kind.
func pointed(dst any, kinds ...reflect.Kind) (reflect.Value, bool) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer {
		return v, false
	}
	v = v.Elem()
	for _, k := range kinds {
		if v.Kind() == k {
			return v, true
		}
	}
	return v, false
}
