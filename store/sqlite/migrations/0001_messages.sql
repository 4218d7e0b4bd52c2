-- Messages and all that hangs on them. Times are microseconds since 1970 in
-- UTC, 0 for none. Words in CHECK constraints are those of package queue; a
-- test holds them equal.

CREATE TABLE messages (
	seq            INTEGER PRIMARY KEY AUTOINCREMENT,
	id             TEXT NOT NULL UNIQUE CHECK (id <> ''),
	version        INTEGER NOT NULL,
	partner        TEXT NOT NULL,
	lane           TEXT NOT NULL,
	kind           TEXT NOT NULL,
	direction      TEXT NOT NULL CHECK (direction IN ('out', 'in')),
	protocol       TEXT NOT NULL,
	key            TEXT NOT NULL,
	key_given      INTEGER NOT NULL,
	edition        INTEGER NOT NULL,
	previous       TEXT NOT NULL,
	message_id     TEXT NOT NULL,
	bare_id        TEXT NOT NULL, -- message_id without brackets
	correlation    TEXT NOT NULL,
	actor          TEXT NOT NULL, -- JSON
	source         TEXT NOT NULL,
	sha256         TEXT NOT NULL,
	size           INTEGER NOT NULL,
	file_name      TEXT NOT NULL,
	content_type   TEXT NOT NULL,
	payload_kept   INTEGER NOT NULL, -- 0 once retention let the file go
	business       TEXT NOT NULL, -- JSON
	accepted       INTEGER NOT NULL,

	state          TEXT NOT NULL CHECK (state IN ('refused', 'queued', 'waiting', 'sending', 'awaiting-ack', 'delivered', 'dead', 'superseded', 'discarded', 'received')),
	why            TEXT NOT NULL,
	detail         TEXT NOT NULL,
	next_at        INTEGER NOT NULL,
	timer          INTEGER NOT NULL, -- queue.Message.Timer
	round          INTEGER NOT NULL,
	attempts       INTEGER NOT NULL,
	limited        INTEGER NOT NULL,
	credential     INTEGER NOT NULL,
	total          INTEGER NOT NULL,
	crashes        INTEGER NOT NULL,
	resent         INTEGER NOT NULL,
	asked          INTEGER NOT NULL,
	uncertain      INTEGER NOT NULL,
	parked         INTEGER NOT NULL,
	refusal        INTEGER NOT NULL,
	overtaken      INTEGER NOT NULL,
	overdue        INTEGER NOT NULL,
	warned         INTEGER NOT NULL,
	proof          TEXT NOT NULL,
	incarnation    TEXT NOT NULL,
	build          INTEGER NOT NULL,
	letter         TEXT NOT NULL,
	ack_asked      TEXT NOT NULL,
	first_failure  INTEGER NOT NULL,
	finished       INTEGER NOT NULL,
	warn_by        INTEGER NOT NULL,
	deliver_by     INTEGER NOT NULL,
	deadline_given INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX messages_key ON messages (partner, key, edition) WHERE state <> 'refused' AND key <> '';
CREATE INDEX messages_carried ON messages (bare_id) WHERE direction = 'out' AND bare_id <> '';
CREATE INDEX messages_line ON messages (lane, seq) WHERE state IN ('queued', 'waiting');
CREATE INDEX messages_due ON messages (lane, next_at, seq) WHERE state IN ('queued', 'waiting');
CREATE INDEX messages_deadline ON messages (lane, deliver_by) WHERE state IN ('queued', 'waiting') AND overdue = 0 AND deliver_by > 0;
CREATE INDEX messages_sending ON messages (lane, seq) WHERE state = 'sending';
CREATE INDEX messages_timer ON messages (timer, seq) WHERE timer > 0;
CREATE INDEX messages_partner ON messages (partner, seq);
CREATE INDEX messages_state ON messages (state, seq);
CREATE INDEX messages_uncertain ON messages (seq) WHERE uncertain = 1;
CREATE INDEX messages_overdue ON messages (seq) WHERE overdue = 1;
CREATE INDEX messages_ended ON messages (finished, payload_kept) WHERE state IN ('refused', 'delivered', 'superseded', 'discarded');
CREATE INDEX messages_payload ON messages (sha256) WHERE payload_kept = 1;

-- A change of state is one of queue's transitions. Inbound messages have their
-- own, simpler life.
CREATE TRIGGER messages_move BEFORE UPDATE OF state ON messages
WHEN old.state <> new.state AND old.direction = 'out' AND old.state || '>' || new.state NOT IN (
	'queued>sending', 'queued>delivered', 'queued>dead', 'queued>discarded', 'queued>superseded',
	'waiting>sending', 'waiting>delivered', 'waiting>dead', 'waiting>discarded', 'waiting>superseded',
	'sending>delivered', 'sending>awaiting-ack', 'sending>queued', 'sending>waiting', 'sending>dead',
	'awaiting-ack>delivered', 'awaiting-ack>waiting', 'awaiting-ack>dead',
	'dead>queued', 'dead>waiting', 'dead>delivered', 'dead>discarded', 'dead>superseded')
BEGIN SELECT RAISE(ABORT, 'no such transition'); END;

-- What a message is found by: business references, key, Message-ID,
-- correlation id, file name.
CREATE TABLE refs (
	value TEXT NOT NULL,
	seq   INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
	PRIMARY KEY (value, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_message ON refs (seq);

CREATE TABLE builds (
	message    TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	n          INTEGER NOT NULL,
	message_id TEXT NOT NULL,
	sha256     TEXT NOT NULL,
	size       INTEGER NOT NULL,
	kept       INTEGER NOT NULL, -- 0 once retention let the file go
	ack_asked  TEXT NOT NULL,
	token      TEXT NOT NULL,
	agreement  TEXT NOT NULL,
	record     BLOB,
	why        TEXT NOT NULL,
	sent       INTEGER NOT NULL,
	created    INTEGER NOT NULL,
	PRIMARY KEY (message, n)
) STRICT;
CREATE INDEX builds_kept ON builds (created) WHERE kept = 1;
CREATE INDEX builds_file ON builds (sha256) WHERE kept = 1;

CREATE TABLE attempts (
	message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	n       INTEGER NOT NULL,
	started INTEGER NOT NULL,
	raw     TEXT NOT NULL, -- spool name, '' once retention let the file go
	facts   TEXT NOT NULL, -- JSON of the rest of queue.Attempt
	PRIMARY KEY (message, n)
) STRICT;
CREATE INDEX attempts_raw ON attempts (started) WHERE raw <> '';
CREATE INDEX attempts_file ON attempts (raw) WHERE raw <> '';
