package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"edigw/queue"
)

// BodiesName is the name of the database of small bodies in the data folder.
const BodiesName = "bodies.db"

//go:embed bodies/migrations/*.sql
var bodiesFolder embed.FS

// Bodies keeps the small bodies of the spool, each by its kind and the SHA-256
// of its bytes in lower-case hex. It has a file of its own, so that gigabytes
// of bodies do not make the ledger slow to open, to check and to copy. All
// methods may be called concurrently; they fail as a Store's do.
type Bodies struct{ *database }

// openBodies opens the database of small bodies. A start does not read it for
// damage: it may be large, and the spool compares each body with its name.
func openBodies(ctx context.Context, dir string, o Options) (*Bodies, error) {
	d, err := openDatabase(ctx, filepath.Join(dir, BodiesName), traits{
		schema: func() ([]migration, error) {
			folder, err := fs.Sub(bodiesFolder, "bodies")
			if err != nil {
				return nil, err
			}
			return readMigrations(folder)
		},
		readers: 4, observe: o.Observe,
		probe: probe{
			put:  "INSERT OR REPLACE INTO bodies (kind, name, at, body) VALUES ('probe', zeroblob(32), 0, zeroblob(?))",
			drop: "DELETE FROM bodies WHERE kind = 'probe'",
		},
		writer:  "&_auto_vacuum=incremental",
		pragmas: []string{moveLog, "PRAGMA journal_size_limit = 67108864", "PRAGMA cache_size = -16384"},
	})
	if err != nil {
		return nil, err
	}
	if o.Check {
		if err := d.writer.check(); err != nil {
			return nil, errors.Join(fmt.Errorf("sqlite: %s: %w", d.file, err), d.release())
		}
	}
	return &Bodies{d}, nil
}

// Put keeps a body and returns when it would survive a power cut. One that is
// kept already is written again, so that a damaged one heals, and its age
// begins anew at the given time. The body must not be changed meanwhile.
func (b *Bodies) Put(ctx context.Context, kind, name string, body []byte, at time.Time) error {
	digest, err := digestOf(name)
	if err != nil {
		return err
	}
	if body == nil {
		body = []byte{} // NULL is no body
	}
	return b.writeOne(ctx, func(t *tx) error {
		err := t.run(`INSERT INTO bodies (kind, name, at, body) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at, body = excluded.body`, kind, digest, micros(at), body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
		return nil
	})
}

// Get gives a body, queue.ErrNotFound by errors.Is if there is none.
func (b *Bodies) Get(ctx context.Context, kind, name string) (body []byte, err error) {
	err = b.look(ctx, kind, name, "SELECT body FROM bodies WHERE kind = ? AND name = ?", &body)
	return body, err
}

// Size is the length of a body in bytes; errors as with Get.
func (b *Bodies) Size(ctx context.Context, kind, name string) (n int64, err error) {
	err = b.look(ctx, kind, name, "SELECT length(body) FROM bodies WHERE kind = ? AND name = ?", &n)
	return n, err
}

// look reads one value of a body: one statement sees one state by itself.
func (b *Bodies) look(ctx context.Context, kind, name, query string, value any) error {
	digest, err := digestOf(name)
	if err != nil {
		return err
	}
	return b.borrow(ctx, func(t *tx) error { return missing(t.row(query, kind, digest).Scan(value), kind, name) })
}

// Delete drops bodies that were last put at or before a time, of any age if it
// is zero, and reports how many of the names are not kept now. What it frees is
// used again by later bodies; where much is free, the file becomes smaller.
func (b *Bodies) Delete(ctx context.Context, kind string, before time.Time, names ...string) (gone int, err error) {
	err = b.write(ctx, func(t *tx) error {
		gone = 0
		for _, name := range names {
			digest, err := digestOf(name)
			if err != nil {
				return err
			}
			_, err = t.exec("DELETE FROM bodies WHERE kind = ? AND name = ? AND (at <= ? OR ? = 0)", kind, digest, micros(before), micros(before))
			if err != nil {
				return err
			}
			var at int64
			switch err := t.row("SELECT at FROM bodies WHERE kind = ? AND name = ?", kind, digest).Scan(&at); {
			case errors.Is(err, sql.ErrNoRows):
				gone++
			case err != nil:
				return err
			}
		}
		return t.shrink()
	})
	return gone, err
}

// The file gives back at most slice pages at once, and keeps what is free until
// that is a quarter of it: what goes out today makes room for what comes
// tomorrow. A page has 4 KiB.
const (
	slice      = 2048
	keptFree   = 4
	worthwhile = 4096
)

// shrink cuts free pages off the file.
func (t *tx) shrink() error {
	var free, all int64
	if err := t.row("SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count").Scan(&free, &all); err != nil {
		return err
	}
	if free < worthwhile || free < all/keptFree {
		return nil
	}
	_, err := collectOnce(t, func(r scanner) (struct{}, error) { return struct{}{}, nil }, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", slice)) // a row for each page
	return meaning(err)
}

// Names gives the names of a kind after the given one, in order, that were last
// put at or before a time; none means that there are no more.
func (b *Bodies) Names(ctx context.Context, kind string, before time.Time, after string, limit int) (names []string, err error) {
	from := []byte{}
	if after != "" {
		if from, err = digestOf(after); err != nil {
			return nil, err
		}
	}
	err = b.read(ctx, func(t *tx) error {
		names, err = collect(t, scanValue[string], "SELECT lower(hex(name)) FROM bodies WHERE kind = ? AND name > ? AND at <= ? ORDER BY name LIMIT ?+0",
			kind, from, micros(before), limit)
		return err
	})
	return names, err
}

// digestOf is the stored form of a name.
func digestOf(name string) ([]byte, error) {
	digest, err := hex.DecodeString(name)
	if err != nil || len(digest) != 32 {
		return nil, fmt.Errorf("sqlite: %.80q is no SHA-256: %w", name, queue.ErrNotFound)
	}
	return digest, nil
}
