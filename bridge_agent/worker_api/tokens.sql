-- all: the tokens there are
SELECT * FROM tokens ORDER BY id;

-- add: a worker is invited
INSERT INTO tokens (name, hash, model, created_at) VALUES (:name, :hash, :model, :now)
ON CONFLICT (name) DO NOTHING
RETURNING *;

-- revoke: a token is no more, and those that registered with it
DELETE FROM tokens WHERE id = :id RETURNING id;

-- seen: when a worker was last heard of
UPDATE tokens SET last_seen_at = :now WHERE id = :id;

-- pause: whether a worker is given work
UPDATE tokens SET paused = :paused WHERE id = :id RETURNING *;

-- park: why a worker is given no more work
UPDATE tokens SET parked = :reason WHERE id = :id RETURNING *;

-- describe: what a worker hears with
UPDATE tokens SET model = coalesce(:model, model), engine = :engine, device = :device WHERE id = :id
RETURNING *;

-- register: a worker says what it can do
INSERT INTO registrations (worker_id, token_id, name, capabilities, created_at, used_at)
VALUES (:worker_id, :token_id, :name, :capabilities, :now, :now);

-- forget_registrations: those of a token beyond the ones that were used latest
DELETE FROM registrations WHERE rowid IN (
  SELECT rowid FROM registrations WHERE token_id = :token_id
  ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET :most
);

-- use_registration: a worker that registered itself works
UPDATE registrations SET used_at = :now WHERE worker_id = :worker_id;

-- registration: a worker that registered itself
SELECT * FROM registrations WHERE worker_id = :worker_id;

-- keep_key: make a key, unless there is one
INSERT INTO keys (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- key: the key of a name
SELECT value FROM keys WHERE name = :name;
