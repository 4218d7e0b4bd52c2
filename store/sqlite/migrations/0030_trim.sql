-- Events that belong to no message and are no audit entries, by age: what
-- retention drops.

CREATE INDEX events_idle ON events (at) WHERE message = '' AND actor = '';
