-- Incidents and notifications of alerts. What is asked for stands in columns,
-- the rest in one JSON object.

CREATE TABLE alert_state (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL,
	value   TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE incidents (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE CHECK (id <> ''),
	version INTEGER NOT NULL,
	closed  INTEGER NOT NULL, -- 0: active
	value   TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX incidents_active ON incidents (n) WHERE closed = 0;

CREATE TABLE notifications (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	id       TEXT NOT NULL UNIQUE CHECK (id <> ''),
	incident TEXT NOT NULL,
	channel  TEXT NOT NULL,
	page     INTEGER NOT NULL,
	next_at  INTEGER NOT NULL,
	sent     INTEGER NOT NULL, -- 0: not yet
	value    TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX notifications_due ON notifications (channel, next_at) WHERE sent = 0;
CREATE INDEX notifications_incident ON notifications (incident, n);
