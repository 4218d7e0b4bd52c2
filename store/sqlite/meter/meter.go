// Package meter counts what SQLite does in this process: statements, the rows
// that they give and the steps of its machine, which tell also the rows that are
// read and not given. It is for tests that hold a bound; nothing of the gateway
// imports it.
package meter

/*
#include <stdint.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
extern int sqlite3_auto_extension(void (*entry)(void));
extern int sqlite3_trace_v2(sqlite3 *, unsigned, int (*)(unsigned, void *, void *, void *), void *);
extern int sqlite3_stmt_status(sqlite3_stmt *, int, int);

enum { traceProfile = 0x02, traceRow = 0x04, statusSteps = 4 };

static int64_t statements, rows, steps;

// A statement is counted when it ends: its steps are final then.
static int note(unsigned what, void *unused, void *statement, void *x) {
	if (what == traceRow) {
		__atomic_add_fetch(&rows, 1, __ATOMIC_RELAXED);
		return 0;
	}
	__atomic_add_fetch(&statements, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&steps, sqlite3_stmt_status(statement, statusSteps, 1), __ATOMIC_RELAXED);
	return 0;
}

static int watch(sqlite3 *db, char **message, const void *api) {
	return sqlite3_trace_v2(db, traceProfile | traceRow, note, 0);
}

static int begin(void) { return sqlite3_auto_extension((void (*)(void))watch); }

static int64_t get(int64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }
static int64_t getStatements(void) { return get(&statements); }
static int64_t getRows(void) { return get(&rows); }
static int64_t getSteps(void) { return get(&steps); }
*/
import "C"

import (
	"fmt"

	_ "github.com/mattn/go-sqlite3" // the library itself
)

// Work is what was done since Watch.
type Work struct {
	Statements int64
	Rows       int64 // given to whoever asked
	Steps      int64 // of SQLite's machine: a few for each row that is read
}

// Watch has every connection that is opened from now on counted. Calling it
// again does nothing.
func Watch() error {
	if code := C.begin(); code != 0 {
		return fmt.Errorf("meter: SQLite answers %d", int(code))
	}
	return nil
}

// Done gives the work so far, of all connections together.
func Done() Work {
	return Work{int64(C.getStatements()), int64(C.getRows()), int64(C.getSteps())}
}

// Since is the work after an earlier Done.
func (w Work) Since(before Work) Work {
	return Work{w.Statements - before.Statements, w.Rows - before.Rows, w.Steps - before.Steps}
}
