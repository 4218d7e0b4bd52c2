package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// migrations are the steps of the schema: NNNN_name.sql, each applied once, in
// order of their numbers, in a transaction of its own. Numbers need not follow
// each other; a file that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// SchemaError says that the database has a migration that this program does
// not know: a newer edigw wrote it.
type SchemaError struct{ Number int }

// Error says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("sqlite: the database was written by a newer edigw (migration %d): use that version, or restore a backup of this one", e.Number)
}

// migration is one file.
type migration struct {
	number int
	name   string
	sql    string
}

// readMigrations gives the migrations of a folder by their numbers.
func readMigrations(folder fs.FS) ([]migration, error) {
	names, err := fs.Glob(folder, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		base := strings.TrimPrefix(name, "migrations/")
		digits, _, _ := strings.Cut(base, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number < 1 {
			return nil, fmt.Errorf("sqlite: migration %s has no number", base)
		}
		all = append(all, migration{number, base, string(text)})
	}
	slices.SortFunc(all, func(a, b migration) int { return a.number - b.number })
	for i := 1; i < len(all); i++ {
		if all[i].number == all[i-1].number {
			return nil, fmt.Errorf("sqlite: migrations %s and %s have one number", all[i-1].name, all[i].name)
		}
	}
	return all, nil
}

// apply applies what is missing.
func (t *tx) apply(all []migration) error {
	if _, err := t.exec("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"); err != nil {
		return err
	}
	applied, err := collect(t, scanValue[int], "SELECT number FROM migrations ORDER BY number")
	if err != nil {
		return err
	}
	for _, n := range applied {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.number == n }) {
			return &SchemaError{Number: n}
		}
	}
	for _, m := range all {
		if slices.Contains(applied, m.number) {
			continue
		}
		if err := t.applyOne(m); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}

func (t *tx) applyOne(m migration) error {
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err := t.conn.ExecContext(t.ctx, m.sql)
	if err == nil {
		_, err = t.exec("INSERT INTO migrations (number, name) VALUES (?, ?)", m.number, m.name)
	}
	if err == nil {
		_, err = t.exec("COMMIT")
	}
	if err != nil {
		_, _ = t.exec("ROLLBACK")
	}
	return err
}
