-- mint: a new credential
INSERT INTO tokens (hash, kind, user_id, name, created_at, expires_at, last_seen_at)
VALUES (:hash, :kind, :user_id, :name, :now, :expires_at, :last_seen_at)
RETURNING id;

-- find: a live credential with its account; a bridge token lives only while its admin is one (R-030)
SELECT t.id AS token_id, t.kind, t.last_seen_at, u.id, u.username, u.role, u.enabled
FROM tokens AS t JOIN users AS u ON u.id = t.user_id
WHERE t.hash = :hash AND u.enabled = 1
  AND (t.expires_at IS NULL OR t.expires_at > :now)
  AND (t.kind != 'bridge' OR u.role = 'admin');

-- touch: notes that a credential was used, and moves a session's end on; never a bridge token (R-032)
UPDATE tokens
SET last_seen_at = :now,
    expires_at = CASE WHEN kind = 'session' THEN :expires_at ELSE expires_at END
WHERE id = :id AND kind IN ('session', 'api_key');

-- devices: what an account is signed in with; bridge tokens are not devices (R-032)
SELECT id, kind, name, created_at, last_seen_at, hash FROM tokens
WHERE user_id = :user_id AND kind IN ('session', 'api_key')
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id;

-- sign_out: ends an account's sessions and cast tokens, the one kept apart
DELETE FROM tokens WHERE user_id = :user_id AND kind IN ('session', 'cast') AND hash IS NOT :keep
RETURNING kind;

-- log_out: ends one session
DELETE FROM tokens WHERE hash = ? AND kind = 'session';

-- api_keys: all keys
SELECT id, name, created_at, last_seen_at FROM tokens WHERE kind = 'api_key' ORDER BY id;

-- revoke_api_key: ends one key
DELETE FROM tokens WHERE id = ? AND kind = 'api_key' RETURNING id;

-- revoke_bridge: ends every bridge token
DELETE FROM tokens WHERE kind = 'bridge';

-- has_bridge: tells whether a Bridge is paired
SELECT 1 FROM tokens WHERE kind = 'bridge' LIMIT 1;

-- drop_expired: forgets what has ended by itself
DELETE FROM tokens WHERE expires_at <= ?;

-- drop_expired_codes: forgets device codes that nobody used
DELETE FROM device_codes WHERE expires_at <= ?;

-- keep_device_code: a code that signs another device in
INSERT INTO device_codes (hash, user_id, expires_at) VALUES (?, ?, ?);

-- use_device_code: takes a code out and gives its account, where both are good
DELETE FROM device_codes
WHERE hash = :hash AND expires_at > :now
  AND user_id IN (SELECT id FROM users WHERE enabled = 1)
RETURNING user_id;

-- user_by_id: one account
SELECT id, username, role, enabled FROM users WHERE id = ?;
