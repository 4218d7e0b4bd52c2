-- Sessions of the console, of which only the hash of the secret is kept. One
-- whose changed is not that of its user is void: it began with another
-- password.

CREATE TABLE sessions (
	n       INTEGER PRIMARY KEY, -- in the order in which they began
	hash    TEXT NOT NULL UNIQUE CHECK (length(hash) = 64), -- SHA-256, lower-case hex
	user    TEXT NOT NULL COLLATE NOCASE REFERENCES users (name) ON DELETE CASCADE,
	changed INTEGER NOT NULL, -- users.changed when it began
	created INTEGER NOT NULL,
	seen    INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	origin  TEXT NOT NULL, -- address
	agent   TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_user ON sessions (user);
CREATE INDEX sessions_seen ON sessions (seen);
