-- any_user: tells whether there is an account at all
SELECT 1 FROM users LIMIT 1;

-- list: all accounts in the order in which they were made
SELECT id, username, role, enabled FROM users ORDER BY id;

-- by_name: one account with its password's hash
SELECT id, username, role, enabled, password_hash FROM users WHERE username = ?;

-- create: a new account, or nothing where the name is taken
INSERT INTO users (username, password_hash, role, created_at) VALUES (?, ?, ?, ?)
ON CONFLICT (username) DO NOTHING
RETURNING id, username, role, enabled;

-- change: sets what is given and leaves the rest
UPDATE users
SET enabled = coalesce(:enabled, enabled),
    role = coalesce(:role, role),
    password_hash = coalesce(:password_hash, password_hash)
WHERE id = :id
RETURNING id, username, role, enabled;

-- any_admin: tells whether an enabled admin is left
SELECT 1 FROM users WHERE role = 'admin' AND enabled = 1 LIMIT 1;

-- end_sessions: ends the sessions of an account whose password changed, the one that changed it apart
DELETE FROM tokens WHERE user_id = :id AND kind IN ('session', 'cast') AND hash IS NOT :keep;
