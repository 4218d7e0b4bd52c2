-- The AS4 properties that a document was handed in with.

ALTER TABLE messages ADD COLUMN properties TEXT; -- JSON, NULL for none
