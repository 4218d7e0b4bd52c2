-- What the console's pages ask for, however many messages and letters there
-- are.

-- Open and replaying letters by what they have in common, counted by triggers.
CREATE TABLE letter_groups (
	partner   TEXT NOT NULL,
	reason    TEXT NOT NULL,
	cause     TEXT NOT NULL,
	outage    TEXT NOT NULL,
	open      INTEGER NOT NULL,
	replaying INTEGER NOT NULL,
	uncertain INTEGER NOT NULL, -- of both
	PRIMARY KEY (partner, reason, cause, outage)
) STRICT, WITHOUT ROWID;
INSERT INTO letter_groups (partner, reason, cause, outage, open, replaying, uncertain)
	SELECT partner, reason, cause, outage, sum(status = 'open'), sum(status = 'replaying'), sum(uncertain) FROM letters WHERE status <> 'closed'
	GROUP BY partner, reason, cause, outage;

CREATE TRIGGER letters_grouped AFTER INSERT ON letters WHEN new.status <> 'closed' BEGIN
	INSERT INTO letter_groups (partner, reason, cause, outage, open, replaying, uncertain)
	VALUES (new.partner, new.reason, new.cause, new.outage, new.status = 'open', new.status = 'replaying', new.uncertain)
	ON CONFLICT (partner, reason, cause, outage) DO UPDATE SET open = open + excluded.open, replaying = replaying + excluded.replaying, uncertain = uncertain + excluded.uncertain;
END;

CREATE TRIGGER letters_regrouped AFTER UPDATE OF status, reason, cause, outage, uncertain ON letters
WHEN old.status <> new.status OR old.reason <> new.reason OR old.cause <> new.cause OR old.outage <> new.outage OR old.uncertain <> new.uncertain BEGIN
	UPDATE letter_groups SET open = open - (old.status = 'open'), replaying = replaying - (old.status = 'replaying'), uncertain = uncertain - old.uncertain
	WHERE old.status <> 'closed' AND partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage;
	INSERT INTO letter_groups (partner, reason, cause, outage, open, replaying, uncertain)
	SELECT new.partner, new.reason, new.cause, new.outage, new.status = 'open', new.status = 'replaying', new.uncertain WHERE new.status <> 'closed'
	ON CONFLICT (partner, reason, cause, outage) DO UPDATE SET open = open + excluded.open, replaying = replaying + excluded.replaying, uncertain = uncertain + excluded.uncertain;
	DELETE FROM letter_groups WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND open <= 0 AND replaying <= 0;
END;

CREATE TRIGGER letters_ungrouped AFTER DELETE ON letters WHEN old.status <> 'closed' BEGIN
	UPDATE letter_groups SET open = open - (old.status = 'open'), replaying = replaying - (old.status = 'replaying'), uncertain = uncertain - old.uncertain
	WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage;
	DELETE FROM letter_groups WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND open <= 0 AND replaying <= 0;
END;

-- The oldest and newest of a group, and those of a span of time.
DROP INDEX letters_groups;
CREATE INDEX letters_groups ON letters (partner, reason, cause, outage, created, status, uncertain) WHERE status <> 'closed';

-- Lists of what is rare among much else.
CREATE INDEX letters_cause ON letters (partner, cause, n) WHERE status = 'open' AND cause <> '';
CREATE INDEX letters_closed ON letters (n) WHERE status = 'closed';
CREATE INDEX letters_settled ON letters (partner, n) WHERE status = 'closed';
CREATE INDEX messages_dead ON messages (partner, seq) WHERE state = 'dead';
CREATE INDEX messages_refused ON messages (partner, seq) WHERE state = 'refused';
CREATE INDEX messages_unsure ON messages (partner, seq) WHERE uncertain = 1;
CREATE INDEX messages_in ON messages (seq) WHERE direction = 'in';
CREATE INDEX messages_received ON messages (partner, seq) WHERE direction = 'in';

-- Where a time lies in the order of arrival.
CREATE INDEX messages_accepted ON messages (accepted, seq);
