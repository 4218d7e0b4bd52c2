-- API tokens and users. Neither secrets nor passwords are kept, only what
-- proves them.

CREATE TABLE tokens (
	name    TEXT PRIMARY KEY CHECK (name <> ''),
	hash    TEXT NOT NULL UNIQUE CHECK (length(hash) = 64), -- SHA-256, lower-case hex
	scopes  TEXT NOT NULL, -- JSON
	created INTEGER NOT NULL,
	actor   TEXT NOT NULL, -- JSON
	used    INTEGER NOT NULL -- 0: never
) STRICT;

CREATE TABLE users (
	name     TEXT PRIMARY KEY COLLATE NOCASE CHECK (name <> ''),
	role     TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
	payloads INTEGER NOT NULL,
	password TEXT NOT NULL, -- argon2id, encoded
	created  INTEGER NOT NULL,
	changed  INTEGER NOT NULL
) STRICT;
