-- A list after IN that has more than two words is a table which SQLite makes anew
-- for each row that is written: a third of what a step of a message cost.

DROP TRIGGER messages_move;
DROP TRIGGER messages_counted;
DROP TRIGGER messages_recounted;
DROP INDEX messages_ended;

CREATE INDEX messages_ended ON messages (finished, payload_kept) WHERE state = 'refused' OR state = 'delivered' OR state = 'superseded' OR state = 'discarded';

-- A change of state is one of queue's transitions. Inbound messages have their
-- own, simpler life.
CREATE TRIGGER messages_move BEFORE UPDATE OF state ON messages
WHEN old.state <> new.state AND old.direction = 'out' AND instr(
	'|queued>sending|queued>delivered|queued>dead|queued>discarded|queued>superseded' ||
	'|waiting>sending|waiting>delivered|waiting>dead|waiting>discarded|waiting>superseded' ||
	'|sending>delivered|sending>awaiting-ack|sending>queued|sending>waiting|sending>dead' ||
	'|awaiting-ack>delivered|awaiting-ack>waiting|awaiting-ack>dead' ||
	'|dead>queued|dead>waiting|dead>delivered|dead>discarded|dead>superseded|', '|' || old.state || '>' || new.state || '|') = 0
BEGIN SELECT RAISE(ABORT, 'no such transition'); END;

CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
	INSERT INTO lane_counts (lane, partner, kind, depth, bytes, acks, dead)
	VALUES (new.lane, new.partner, new.kind,
		new.state = 'queued' OR new.state = 'waiting' OR new.state = 'sending',
		(new.state = 'queued' OR new.state = 'waiting' OR new.state = 'sending') * new.size,
		new.state = 'awaiting-ack', 0)
	ON CONFLICT (lane) DO UPDATE SET depth = depth + excluded.depth, bytes = bytes + excluded.bytes, acks = acks + excluded.acks;
END;

CREATE TRIGGER messages_recounted AFTER UPDATE OF state ON messages WHEN old.state <> new.state BEGIN
	UPDATE lane_counts SET
		depth = depth + (new.state = 'queued' OR new.state = 'waiting' OR new.state = 'sending') - (old.state = 'queued' OR old.state = 'waiting' OR old.state = 'sending'),
		bytes = bytes + ((new.state = 'queued' OR new.state = 'waiting' OR new.state = 'sending') - (old.state = 'queued' OR old.state = 'waiting' OR old.state = 'sending')) * new.size,
		acks = acks + (new.state = 'awaiting-ack') - (old.state = 'awaiting-ack')
	WHERE lane = new.lane;
END;
