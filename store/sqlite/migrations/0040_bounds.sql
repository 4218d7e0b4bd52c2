-- What keeps every step bounded, however much there is.

-- The line of a lane without confirmed replays: what an open breaker buries.
CREATE INDEX messages_buriable ON messages (lane, seq) WHERE state IN ('queued', 'waiting') AND asked = 0;

-- What a replay reset, so that undoing it gives it back.
ALTER TABLE letters ADD COLUMN before TEXT; -- JSON

-- One partner's part of a bulk replay, and which partners have one; the letters
-- that are on their way.
CREATE INDEX replay_items_line ON replay_items (job, status, partner, n);
CREATE INDEX replay_items_underway ON replay_items (job, n) WHERE status = 'replayed' AND detail = '';

-- Letters of an outage in one status, oldest message first.
DROP INDEX letters_outage_line;
CREATE INDEX letters_outage_status ON letters (outage, status, seq, n) WHERE outage <> '';

-- Incidents that are over, and notifications of none, by age.
CREATE INDEX incidents_closed ON incidents (closed) WHERE closed > 0;
CREATE INDEX notifications_alone ON notifications (sent) WHERE incident = '' AND sent > 0;

-- Audit entries by age.
CREATE INDEX events_audit_age ON events (at) WHERE actor <> '';

-- An outage is dropped when no letter of it is left, and its counter with it.
CREATE TRIGGER outages_uncounted AFTER DELETE ON outages BEGIN
	DELETE FROM outage_counts WHERE outage = old.id AND letters <= 0;
END;
