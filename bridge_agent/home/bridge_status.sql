-- get: what is known of pairing and heartbeat, with whether a bridge token is there and who paired
SELECT s.*, u.username AS paired_by_name,
       EXISTS (SELECT 1 FROM tokens WHERE kind = 'bridge') AS paired
FROM bridge_status AS s LEFT JOIN users AS u ON u.id = s.paired_by;

-- keep_heartbeat: the last heartbeat replaces the one before (R-039)
UPDATE bridge_status SET heartbeat = :heartbeat, heartbeat_at = :text, heartbeat_moment = :seconds;

-- kinds: what the last heartbeat named, or nothing before the first
SELECT json_extract(heartbeat, '$.kinds') AS kinds FROM bridge_status WHERE heartbeat IS NOT NULL;

-- keep_code: a pairing code's hash; the one that still waited goes (R-004, R-005)
INSERT INTO bridge_status (only, code_hash, code_by, code_expires_at, code_deadline)
VALUES (1, :hash, :by, :expires_at, :deadline)
ON CONFLICT (only) DO UPDATE
SET code_hash = :hash, code_by = :by, code_expires_at = :expires_at, code_deadline = :deadline;

-- use_code: uses a code up and starts from nothing, where it is right, alive and its admin is one (R-010)
UPDATE bridge_status
SET code_hash = NULL, code_by = NULL, code_expires_at = NULL, code_deadline = NULL,
    heartbeat = NULL, heartbeat_at = NULL, heartbeat_moment = NULL,
    paired_at = :now, paired_by = code_by
WHERE code_hash = :hash AND code_deadline > :due
  AND code_by IN (SELECT id FROM users WHERE enabled = 1 AND role = 'admin')
RETURNING paired_by;

-- forget: nothing is known of a Bridge any more; a code that waits goes on waiting (R-024)
UPDATE bridge_status
SET heartbeat = NULL, heartbeat_at = NULL, heartbeat_moment = NULL, paired_at = NULL, paired_by = NULL;

-- rebase: the deadline and the moment in this process's monotonic seconds
UPDATE bridge_status SET code_deadline = :code_deadline, heartbeat_moment = :heartbeat_moment;
