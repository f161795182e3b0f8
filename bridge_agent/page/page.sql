-- password_hash: the stored hash of the page's password
SELECT value FROM meta WHERE name = 'page_password';

-- keep_password_hash: set or replace it
INSERT INTO meta (name, value) VALUES ('page_password', :hash)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- keep_first_password_hash: set it where none is set; two starts never make two
INSERT INTO meta (name, value) VALUES ('page_password', :hash)
ON CONFLICT (name) DO NOTHING RETURNING name;

-- forget_password_hash: take it away
DELETE FROM meta WHERE name = 'page_password';

-- add_session: a browser that gave the password
INSERT INTO page_sessions (hash, created_at, last_seen_at) VALUES (:hash, :now, :now);

-- session: when a session was seen last, if it still lives
SELECT last_seen_at FROM page_sessions WHERE hash = :hash AND last_seen_at > :oldest;

-- touch_session: slide its end; only for one that lives
UPDATE page_sessions SET last_seen_at = :now WHERE hash = :hash AND last_seen_at > :oldest RETURNING hash;

-- end_session: sign one browser out
DELETE FROM page_sessions WHERE hash = :hash;

-- end_all_sessions: after a change of the password
DELETE FROM page_sessions;

-- end_old_sessions: those that nobody has used for so long
DELETE FROM page_sessions WHERE last_seen_at <= :oldest;

-- counts: how many jobs there are in each state, for the metrics
SELECT state, count(*) AS jobs FROM server_jobs GROUP BY state;

-- unreported: how many final reports the server has not taken yet
SELECT count(*) AS jobs FROM server_jobs
WHERE reported = 0 AND state IN ('done', 'failed', 'cancelled');

-- answers: the least that an open store can say
SELECT 1;
