-- When a worker that registered itself last claimed, give or take some minutes: a token's oldest of these make
-- room for new ones.
ALTER TABLE registrations ADD COLUMN used_at TEXT NOT NULL DEFAULT '';
UPDATE registrations SET used_at = created_at;
DROP INDEX registrations_of;
CREATE INDEX registrations_of ON registrations (token_id, used_at);
