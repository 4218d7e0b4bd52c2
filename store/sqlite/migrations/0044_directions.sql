-- What a partner sent us is processed again, what we send him is replayed: no
-- group of letters holds both.

DROP TRIGGER letters_grouped;
DROP TRIGGER letters_regrouped;
DROP TRIGGER letters_ungrouped;
DROP TABLE letter_groups;

-- Open and replaying letters by what they have in common, counted by triggers.
-- The direction of a letter never changes.
CREATE TABLE letter_groups (
	partner   TEXT NOT NULL,
	reason    TEXT NOT NULL,
	cause     TEXT NOT NULL,
	outage    TEXT NOT NULL,
	direction TEXT NOT NULL,
	open      INTEGER NOT NULL,
	replaying INTEGER NOT NULL,
	uncertain INTEGER NOT NULL, -- of both
	PRIMARY KEY (partner, reason, cause, outage, direction)
) STRICT, WITHOUT ROWID;
INSERT INTO letter_groups (partner, reason, cause, outage, direction, open, replaying, uncertain)
	SELECT partner, reason, cause, outage, direction, sum(status = 'open'), sum(status = 'replaying'), sum(uncertain) FROM letters WHERE status <> 'closed'
	GROUP BY partner, reason, cause, outage, direction;

CREATE TRIGGER letters_grouped AFTER INSERT ON letters WHEN new.status <> 'closed' BEGIN
	INSERT INTO letter_groups (partner, reason, cause, outage, direction, open, replaying, uncertain)
	VALUES (new.partner, new.reason, new.cause, new.outage, new.direction, new.status = 'open', new.status = 'replaying', new.uncertain)
	ON CONFLICT (partner, reason, cause, outage, direction) DO UPDATE SET open = open + excluded.open, replaying = replaying + excluded.replaying, uncertain = uncertain + excluded.uncertain;
END;

CREATE TRIGGER letters_regrouped AFTER UPDATE OF status, reason, cause, outage, uncertain ON letters
WHEN old.status <> new.status OR old.reason <> new.reason OR old.cause <> new.cause OR old.outage <> new.outage OR old.uncertain <> new.uncertain BEGIN
	UPDATE letter_groups SET open = open - (old.status = 'open'), replaying = replaying - (old.status = 'replaying'), uncertain = uncertain - old.uncertain
	WHERE old.status <> 'closed' AND partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND direction = old.direction;
	INSERT INTO letter_groups (partner, reason, cause, outage, direction, open, replaying, uncertain)
	SELECT new.partner, new.reason, new.cause, new.outage, new.direction, new.status = 'open', new.status = 'replaying', new.uncertain WHERE new.status <> 'closed'
	ON CONFLICT (partner, reason, cause, outage, direction) DO UPDATE SET open = open + excluded.open, replaying = replaying + excluded.replaying, uncertain = uncertain + excluded.uncertain;
	DELETE FROM letter_groups WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND direction = old.direction AND open <= 0 AND replaying <= 0;
END;

CREATE TRIGGER letters_ungrouped AFTER DELETE ON letters WHEN old.status <> 'closed' BEGIN
	UPDATE letter_groups SET open = open - (old.status = 'open'), replaying = replaying - (old.status = 'replaying'), uncertain = uncertain - old.uncertain
	WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND direction = old.direction;
	DELETE FROM letter_groups WHERE partner = old.partner AND reason = old.reason AND cause = old.cause AND outage = old.outage AND direction = old.direction AND open <= 0 AND replaying <= 0;
END;

DROP INDEX letters_groups;
CREATE INDEX letters_groups ON letters (partner, reason, cause, outage, direction, created, status, uncertain) WHERE status <> 'closed';

-- Of very many letters the few that partners sent.
CREATE INDEX letters_in ON letters (partner, n) WHERE direction = 'in' AND status = 'open';
