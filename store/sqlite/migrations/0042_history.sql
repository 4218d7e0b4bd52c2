-- What happened to a partner or in an outage, without what happened to single
-- messages; and audit entries of a partner.

CREATE INDEX events_partner ON events (partner, type, id) WHERE message = '' AND partner <> '';
CREATE INDEX events_outage ON events (outage, type, id) WHERE message = '' AND outage <> '';
CREATE INDEX events_audit_partner ON events (partner, id) WHERE actor <> '';
