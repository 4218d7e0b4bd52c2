-- Small bodies of the spool. Each is named by the SHA-256 of its bytes, so the
-- index takes new ones in random order; the rows themselves are appended.
-- What is looked at often stands before the body: SQLite then reads none of the
-- pages that the body fills.

CREATE TABLE bodies (
	n    INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	name BLOB NOT NULL CHECK (length(name) = 32),
	at   INTEGER NOT NULL, -- when it was last put, in microseconds since 1970
	body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX bodies_name ON bodies (kind, name);
