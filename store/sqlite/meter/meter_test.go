package meter_test

import (
	"database/sql"
	"testing"

	"edigw/store/sqlite/meter"
)

// Rows that are read and not given are seen in the steps.
func TestWorkTellsWhatIsRead(t *testing.T) {
	if err := meter.Watch(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	work := func(query string, args ...any) meter.Work {
		t.Helper()
		before := meter.Done()
		var n int
		if err := db.QueryRow(query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return meter.Done().Since(before)
	}
	if _, err := db.Exec("CREATE TABLE t (n INTEGER PRIMARY KEY, other INTEGER); WITH RECURSIVE v (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM v WHERE n < 1000) INSERT INTO t SELECT n, n % 7 FROM v"); err != nil {
		t.Fatal(err)
	}
	one := work("SELECT n FROM t WHERE n = ?", 500)
	all := work("SELECT count(*) FROM t WHERE other = ?", 3)
	if one.Statements != 1 || one.Rows != 1 || one.Steps > 20 {
		t.Errorf("a look-up: %+v", one)
	}
	if all.Statements != 1 || all.Rows != 1 || all.Steps < 1000 {
		t.Errorf("a count over 1,000 rows: %+v", all)
	}
}
