-- Letters, outages, lanes, events, replays, and counters that triggers keep.

CREATE TABLE letters (
	n         INTEGER PRIMARY KEY AUTOINCREMENT,
	id        TEXT NOT NULL UNIQUE CHECK (id <> ''),
	version   INTEGER NOT NULL,
	message   TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	seq       INTEGER NOT NULL,
	partner   TEXT NOT NULL,
	lane      TEXT NOT NULL,
	protocol  TEXT NOT NULL,
	direction TEXT NOT NULL,
	reason    TEXT NOT NULL,
	class     TEXT NOT NULL,
	status    TEXT NOT NULL CHECK (status IN ('open', 'replaying', 'closed')),
	closed_as TEXT NOT NULL CHECK (closed_as IN ('', 'delivered', 'delivered-late', 'confirmed', 'superseded', 'discarded', 'withdrawn', 'failed-again')),
	detail    TEXT NOT NULL,
	cause     TEXT NOT NULL,
	last      TEXT, -- JSON
	attempts  INTEGER NOT NULL,
	uncertain INTEGER NOT NULL,
	overtaken INTEGER NOT NULL,
	overdue   INTEGER NOT NULL,
	again     INTEGER NOT NULL,
	outage    TEXT NOT NULL,
	created   INTEGER NOT NULL,
	first     INTEGER NOT NULL,
	replayed  INTEGER NOT NULL,
	closed    INTEGER NOT NULL,
	actor     TEXT NOT NULL, -- JSON
	note      TEXT NOT NULL,
	CHECK ((status = 'closed') = (closed_as <> ''))
) STRICT;

CREATE INDEX letters_message ON letters (message);
CREATE INDEX letters_partner ON letters (partner, n);
CREATE INDEX letters_open ON letters (n) WHERE status = 'open';
CREATE INDEX letters_replaying ON letters (n) WHERE status = 'replaying';
CREATE INDEX letters_reason ON letters (reason, n) WHERE status = 'open';
CREATE INDEX letters_partner_reason ON letters (partner, reason, n) WHERE status = 'open';
CREATE INDEX letters_line ON letters (seq) WHERE status = 'open';
CREATE INDEX letters_groups ON letters (partner, reason, cause, outage, status, uncertain, created) WHERE status <> 'closed';
CREATE INDEX letters_age ON letters (lane, created) WHERE status = 'open';
CREATE INDEX letters_outage ON letters (outage, n) WHERE outage <> '';
CREATE INDEX letters_outage_line ON letters (outage, seq, n) WHERE outage <> '';

CREATE TABLE outages (
	number    INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	partner   TEXT NOT NULL,
	lane      TEXT NOT NULL,
	cause     TEXT NOT NULL,
	status    INTEGER NOT NULL,
	detail    TEXT NOT NULL,
	since     INTEGER NOT NULL,
	answering INTEGER NOT NULL,
	recovered INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	withdrawn INTEGER NOT NULL
) STRICT;
CREATE INDEX outages_partner ON outages (partner, number);
CREATE INDEX outages_running ON outages (number) WHERE ended = 0;

CREATE TABLE lanes (
	key        TEXT PRIMARY KEY,
	version    INTEGER NOT NULL,
	partner    TEXT NOT NULL,
	kind       TEXT NOT NULL,
	breaker    TEXT NOT NULL, -- JSON
	outage     TEXT NOT NULL,
	not_before INTEGER NOT NULL,
	ramp       INTEGER NOT NULL,
	stop       TEXT, -- JSON
	fix        TEXT, -- JSON
	streak     TEXT NOT NULL, -- JSON
	blocked    TEXT NOT NULL,
	orphaned   INTEGER NOT NULL,
	charged    TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	at         INTEGER NOT NULL,
	type       TEXT NOT NULL,
	partner    TEXT NOT NULL,
	lane       TEXT NOT NULL,
	message    TEXT NOT NULL,
	letter     TEXT NOT NULL,
	outage     TEXT NOT NULL,
	actor      TEXT NOT NULL, -- name, '' for the gateway itself
	actor_role TEXT NOT NULL,
	actor_from TEXT NOT NULL,
	text       TEXT NOT NULL,
	facts      TEXT -- JSON
) STRICT;
CREATE INDEX events_message ON events (message, id) WHERE message <> '';
CREATE INDEX events_audit ON events (id) WHERE actor <> '';
CREATE INDEX events_actor ON events (actor, id) WHERE actor <> '';

CREATE TABLE settings (
	name  TEXT PRIMARY KEY, -- isolation
	value TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
	name TEXT PRIMARY KEY,
	last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE replay_jobs (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	id       TEXT NOT NULL UNIQUE CHECK (id <> ''),
	actor    TEXT NOT NULL, -- JSON
	created  INTEGER NOT NULL,
	status   TEXT NOT NULL CHECK (status IN ('running', 'paused', 'cancelled', 'done')),
	confirm  TEXT NOT NULL, -- JSON
	skip     TEXT NOT NULL, -- JSON
	filter   TEXT NOT NULL, -- JSON
	counts   TEXT NOT NULL, -- JSON
	finished INTEGER NOT NULL
) STRICT;

CREATE TABLE replay_items (
	job     TEXT NOT NULL REFERENCES replay_jobs (id) ON DELETE CASCADE,
	n       INTEGER NOT NULL,
	letter  TEXT NOT NULL,
	message TEXT NOT NULL,
	partner TEXT NOT NULL,
	status  TEXT NOT NULL CHECK (status IN ('pending', 'replayed', 'skipped', 'failed')),
	detail  TEXT NOT NULL,
	PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX replay_items_status ON replay_items (job, status, n);

-- Counters: nothing that is asked often counts rows.

CREATE TABLE lane_counts (
	lane      TEXT PRIMARY KEY,
	partner   TEXT NOT NULL,
	kind      TEXT NOT NULL,
	depth     INTEGER NOT NULL, -- queued, waiting and sending
	bytes     INTEGER NOT NULL, -- of these
	acks      INTEGER NOT NULL, -- awaiting-ack
	dead      INTEGER NOT NULL, -- open letters
	delivered INTEGER NOT NULL DEFAULT 0 -- highest seq whose delivery overtook what is older
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_counts_busy ON lane_counts (lane) WHERE depth > 0 OR acks > 0 OR dead > 0;

CREATE TABLE letter_counts (
	lane   TEXT NOT NULL,
	reason TEXT NOT NULL,
	open   INTEGER NOT NULL,
	PRIMARY KEY (lane, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE outage_counts (
	outage  TEXT PRIMARY KEY,
	letters INTEGER NOT NULL,
	open    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
	INSERT INTO lane_counts (lane, partner, kind, depth, bytes, acks, dead)
	VALUES (new.lane, new.partner, new.kind,
		new.state IN ('queued', 'waiting', 'sending'),
		(new.state IN ('queued', 'waiting', 'sending')) * new.size,
		new.state = 'awaiting-ack', 0)
	ON CONFLICT (lane) DO UPDATE SET depth = depth + excluded.depth, bytes = bytes + excluded.bytes, acks = acks + excluded.acks;
END;

CREATE TRIGGER messages_recounted AFTER UPDATE OF state ON messages WHEN old.state <> new.state BEGIN
	UPDATE lane_counts SET
		depth = depth + (new.state IN ('queued', 'waiting', 'sending')) - (old.state IN ('queued', 'waiting', 'sending')),
		bytes = bytes + ((new.state IN ('queued', 'waiting', 'sending')) - (old.state IN ('queued', 'waiting', 'sending'))) * new.size,
		acks = acks + (new.state = 'awaiting-ack') - (old.state = 'awaiting-ack')
	WHERE lane = new.lane;
END;

CREATE TRIGGER letters_counted AFTER INSERT ON letters BEGIN
	UPDATE lane_counts SET dead = dead + (new.status = 'open') WHERE lane = new.lane;
	INSERT INTO letter_counts (lane, reason, open) VALUES (new.lane, new.reason, new.status = 'open')
	ON CONFLICT (lane, reason) DO UPDATE SET open = open + excluded.open;
	INSERT INTO outage_counts (outage, letters, open) SELECT new.outage, 1, new.status = 'open' WHERE new.outage <> ''
	ON CONFLICT (outage) DO UPDATE SET letters = letters + 1, open = open + excluded.open;
END;

CREATE TRIGGER letters_recounted AFTER UPDATE OF status, reason, outage ON letters
WHEN old.status <> new.status OR old.reason <> new.reason OR old.outage <> new.outage BEGIN
	UPDATE lane_counts SET dead = dead + (new.status = 'open') - (old.status = 'open') WHERE lane = new.lane;
	UPDATE letter_counts SET open = open - (old.status = 'open') WHERE lane = old.lane AND reason = old.reason;
	INSERT INTO letter_counts (lane, reason, open) VALUES (new.lane, new.reason, new.status = 'open')
	ON CONFLICT (lane, reason) DO UPDATE SET open = open + excluded.open;
	UPDATE outage_counts SET letters = letters - 1, open = open - (old.status = 'open') WHERE outage = old.outage;
	INSERT INTO outage_counts (outage, letters, open) SELECT new.outage, 1, new.status = 'open' WHERE new.outage <> ''
	ON CONFLICT (outage) DO UPDATE SET letters = letters + 1, open = open + excluded.open;
END;

CREATE TRIGGER letters_uncounted AFTER DELETE ON letters BEGIN
	UPDATE lane_counts SET dead = dead - (old.status = 'open') WHERE lane = old.lane;
	UPDATE letter_counts SET open = open - (old.status = 'open') WHERE lane = old.lane AND reason = old.reason;
	UPDATE outage_counts SET letters = letters - 1, open = open - (old.status = 'open') WHERE outage = old.outage;
END;
