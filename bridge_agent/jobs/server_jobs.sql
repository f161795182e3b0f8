-- begin: write a claim down; a row of the same claim that ended and was answered for is begun anew
INSERT INTO server_jobs (
  server_id, job_id, attempt, kind, library_id, path, params, state, claimed_at, started_at
) VALUES (
  :server_id, :job_id, :attempt, :kind, :library_id, :path, :params, 'running', :now, :now
)
ON CONFLICT (server_id, job_id, attempt) DO UPDATE SET
  kind = excluded.kind, library_id = excluded.library_id, path = excluded.path, params = excluded.params,
  state = 'running', progress = NULL, result = NULL, error = NULL, note = NULL, reported = 0,
  claimed_at = excluded.claimed_at, started_at = excluded.started_at, finished_at = NULL
WHERE server_jobs.state = 'lost'
  OR (server_jobs.state IN ('done', 'failed', 'cancelled') AND server_jobs.reported = 1)
RETURNING *;

-- outdate: a later attempt of a job makes its earlier ones lost
UPDATE server_jobs SET state = 'lost', note = :note, finished_at = :now
WHERE server_id = :server_id AND job_id = :job_id AND attempt < :attempt
  AND state IN ('running', 'needs_attention', 'aside')
RETURNING *;

-- move: put an open row into another open state
UPDATE server_jobs SET state = :state, error = :error, progress = coalesce(:progress, progress)
WHERE server_id = :server_id AND job_id = :job_id AND attempt = :attempt
  AND state IN ('running', 'needs_attention', 'aside')
RETURNING *;

-- finish: end an open row, once
UPDATE server_jobs SET
  state = :state, progress = coalesce(:progress, progress), result = :result, error = :error,
  note = :note, reported = :reported, finished_at = :now
WHERE server_id = :server_id AND job_id = :job_id AND attempt = :attempt
  AND state IN ('running', 'needs_attention', 'aside')
RETURNING *;

-- close_report: the server has answered for an ended row
UPDATE server_jobs SET reported = 1, note = :note
WHERE server_id = :server_id AND job_id = :job_id AND attempt = :attempt
  AND reported = 0 AND state IN ('done', 'failed', 'cancelled')
RETURNING *;

-- replace_final: the server does not take what was to be reported: a failure is, instead
UPDATE server_jobs SET state = 'failed', result = NULL, progress = NULL, error = :error
WHERE server_id = :server_id AND job_id = :job_id AND attempt = :attempt
  AND reported = 0 AND state IN ('done', 'failed', 'cancelled')
RETURNING *;

-- put_all_aside: nothing runs while the server does not take the token
UPDATE server_jobs SET state = 'aside'
WHERE state IN ('running', 'needs_attention')
RETURNING *;

-- lose_others: what other servers gave is lost once this Bridge is paired with this one
UPDATE server_jobs SET state = 'lost', note = :note, finished_at = :now
WHERE server_id <> :server_id AND state IN ('running', 'needs_attention', 'aside')
RETURNING *;

-- note_others: say of unsent final reports of other servers why they wait
UPDATE server_jobs SET note = :note
WHERE server_id <> :server_id AND reported = 0 AND state IN ('done', 'failed', 'cancelled')
RETURNING *;

-- open_of: the open rows of a server, oldest first
SELECT * FROM server_jobs
WHERE server_id = :server_id AND state IN ('running', 'needs_attention', 'aside')
ORDER BY claimed_at, job_id, attempt;

-- unreported_of: the ended rows of a server that it has not answered for, oldest first
SELECT * FROM server_jobs
WHERE server_id = :server_id AND reported = 0 AND state IN ('done', 'failed', 'cancelled')
ORDER BY finished_at, job_id, attempt;

-- all_open: every open row, oldest first
SELECT * FROM server_jobs
WHERE state IN ('running', 'needs_attention', 'aside')
ORDER BY claimed_at, job_id, attempt;

-- attempts: all attempts of a job, the latest first
SELECT * FROM server_jobs WHERE server_id = :server_id AND job_id = :job_id ORDER BY attempt DESC;

-- history: rows below a cursor, newest first
SELECT * FROM server_jobs
WHERE (:state IS NULL OR state = :state)
  AND (
    :claimed_at IS NULL
    OR (claimed_at, job_id, attempt, server_id) < (:claimed_at, :job_id, :attempt, :server_id)
  )
ORDER BY claimed_at DESC, job_id DESC, attempt DESC, server_id DESC
LIMIT :limit;

-- ended: the rows that ended last, newest first
SELECT * FROM server_jobs WHERE finished_at IS NOT NULL
ORDER BY finished_at DESC, job_id DESC, attempt DESC
LIMIT :limit;

-- forget: drop ended and answered rows that are old, or beyond the newest
DELETE FROM server_jobs
WHERE finished_at IS NOT NULL AND (reported = 1 OR state = 'lost')
  AND (
    finished_at < :before
    OR rowid NOT IN (
      SELECT rowid FROM server_jobs ORDER BY claimed_at DESC, job_id DESC, attempt DESC LIMIT :keep
    )
  );
