-- insert: a new job, or nothing where the same is open (R-051)
INSERT INTO bridge_jobs (kind, library_id, path, params, state, priority, created_at, updated_at)
VALUES (:kind, :library_id, :path, :params, 'queued', :priority, :now, :now)
ON CONFLICT (kind, library_id, path)
  WHERE state IN ('queued', 'claimed', 'running', 'needs_attention') DO NOTHING
RETURNING *;

-- open_one: the open job of a kind, library and path
SELECT * FROM bridge_jobs
WHERE kind = :kind AND library_id = :library_id AND path = :path
  AND state IN ('queued', 'claimed', 'running', 'needs_attention');

-- get: one job
SELECT * FROM bridge_jobs WHERE id = ?;

-- claim: chooses and marks in one statement: the highest priority, then the oldest, then the lowest id (R-054)
UPDATE bridge_jobs
SET state = 'claimed', attempts = attempts + 1, tries = tries + 1, claim_id = :claim_id,
    lease_expires_at = :expires_at, lease_deadline = :deadline, updated_at = :now
WHERE state = 'queued' AND id = (
  SELECT id FROM bridge_jobs INDEXED BY bridge_jobs_queue
  WHERE state = 'queued' AND kind IN (SELECT value FROM json_each(:kinds))
  ORDER BY priority DESC, created_at, id
  LIMIT 1
)
RETURNING *;

-- claim_again: the job that a repeated poll was already given, while its claim is held; renews its lease
UPDATE bridge_jobs
SET lease_expires_at = :expires_at, lease_deadline = :deadline
WHERE claim_id = :claim_id AND state IN ('claimed', 'running', 'needs_attention')
RETURNING *;

-- give_back: a claim that reached nobody; the try does not count, the attempt stays used
UPDATE bridge_jobs
SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
    finished_at = CASE WHEN cancel_requested THEN :now END,
    tries = tries - 1, claim_id = NULL, lease_expires_at = NULL, lease_deadline = NULL, updated_at = :now
WHERE id = :id AND attempts = :attempt AND state = 'claimed'
RETURNING *;

-- report: what the holder says, fenced by the attempt; an open state renews the lease (R-052, R-061, R-064)
UPDATE bridge_jobs
SET state = :state,
    progress = coalesce(:progress, progress),
    result = coalesce(:result, result),
    error = coalesce(:error, CASE WHEN :state IN ('running', 'done') THEN NULL ELSE error END),
    claim_id = CASE WHEN :ends THEN NULL ELSE claim_id END,
    lease_expires_at = CASE WHEN :ends THEN NULL ELSE :expires_at END,
    lease_deadline = CASE WHEN :ends THEN NULL ELSE :deadline END,
    finished_at = CASE WHEN :ends THEN :now END,
    updated_at = :now
WHERE id = :id AND attempts = :attempt AND state IN ('claimed', 'running', 'needs_attention')
RETURNING *;

-- renew: an upload from the holder keeps its lease, fenced like a report
UPDATE bridge_jobs
SET lease_expires_at = :expires_at, lease_deadline = :deadline
WHERE id = :id AND attempts = :attempt AND state IN ('claimed', 'running', 'needs_attention')
RETURNING id;

-- sweep: what becomes of the jobs whose lease has run out; the rules are protocol.leases.lapse (R-067…R-069)
UPDATE bridge_jobs
SET state = CASE WHEN cancel_requested THEN 'cancelled' WHEN tries >= :most THEN 'failed' ELSE 'queued' END,
    error = CASE
      WHEN cancel_requested THEN error
      WHEN tries >= :most THEN :stopped_reporting
    END,
    progress = CASE WHEN cancel_requested OR tries >= :most THEN progress END,
    result = CASE WHEN cancel_requested OR tries >= :most THEN result END,
    finished_at = CASE WHEN cancel_requested OR tries >= :most THEN :now END,
    claim_id = NULL, lease_expires_at = NULL, lease_deadline = NULL, updated_at = :now
WHERE lease_deadline <= :due AND state IN ('claimed', 'running', 'needs_attention')
RETURNING *;

-- earliest: when the next lease runs out
SELECT min(lease_deadline) AS deadline FROM bridge_jobs WHERE lease_deadline IS NOT NULL;

-- cancel: ends what nobody works on, asks the holder of the rest to stop (R-071, R-072)
UPDATE bridge_jobs
SET cancel_requested = 1,
    state = CASE WHEN state IN ('queued', 'needs_attention') THEN 'cancelled' ELSE state END,
    finished_at = CASE WHEN state IN ('queued', 'needs_attention') THEN :now END,
    claim_id = CASE WHEN state IN ('queued', 'needs_attention') THEN NULL ELSE claim_id END,
    lease_expires_at = CASE WHEN state IN ('queued', 'needs_attention') THEN NULL ELSE lease_expires_at END,
    lease_deadline = CASE WHEN state IN ('queued', 'needs_attention') THEN NULL ELSE lease_deadline END,
    updated_at = :now
WHERE id = :id AND state IN ('queued', 'claimed', 'running', 'needs_attention')
RETURNING *;

-- newest: all jobs before an id, newest first
SELECT * FROM bridge_jobs
WHERE id < :before
  AND (:kind IS NULL OR kind = :kind)
  AND (:library_id IS NULL OR library_id = :library_id)
ORDER BY id DESC
LIMIT :limit;

-- newest_in_state: jobs of one state before an id, newest first
SELECT * FROM bridge_jobs
WHERE state = :state AND id < :before
  AND (:kind IS NULL OR kind = :kind)
  AND (:library_id IS NULL OR library_id = :library_id)
ORDER BY id DESC
LIMIT :limit;

-- held: every held job with the wall time of its lease, for a start
SELECT id, lease_expires_at FROM bridge_jobs WHERE lease_deadline IS NOT NULL;

-- set_deadline: a lease's deadline in this process's monotonic seconds
UPDATE bridge_jobs SET lease_deadline = :deadline WHERE id = :id;

-- follow_move: jobs follow their moved book; an open one whose place is taken stays behind (R-049)
UPDATE OR IGNORE bridge_jobs SET path = :new WHERE library_id = :library_id AND path = :old
RETURNING *;

-- end_left_behind: a queued job whose book moved to where the same is already open
UPDATE bridge_jobs
SET state = 'cancelled', finished_at = :now, updated_at = :now, cancel_requested = 1, error = :why
WHERE library_id = :library_id AND path = :old AND state = 'queued'
RETURNING *;

-- delete_library: jobs go with their library (R-049)
DELETE FROM bridge_jobs WHERE library_id = ? RETURNING id;

-- libraries: the libraries that jobs belong to, one step of the index each, however many jobs there are
WITH RECURSIVE found (library_id) AS (
  SELECT min(library_id) FROM bridge_jobs
  UNION ALL
  SELECT (SELECT min(j.library_id) FROM bridge_jobs AS j WHERE j.library_id > found.library_id)
  FROM found WHERE found.library_id IS NOT NULL
)
SELECT library_id FROM found WHERE library_id IS NOT NULL;
