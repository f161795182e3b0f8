-- expire: end the leases whose time is over, and those of tokens that are no more; a task that was tried as
-- often as may be fails
UPDATE tasks SET
  state = CASE WHEN attempt < max_attempts THEN 'pending' ELSE 'failed' END,
  error_code = CASE WHEN attempt < max_attempts THEN error_code ELSE 'lease_expired' END,
  error_message = CASE WHEN attempt < max_attempts THEN error_message
    ELSE 'lease expired after the final attempt' END,
  owner = NULL, token_id = NULL, lease_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE state IN ('leased', 'running')
  AND (lease_ends_at <= :now OR token_id NOT IN (SELECT value FROM json_each(:tokens)))
RETURNING job, state;

-- claim: choose the next task and mark it leased, in one statement
UPDATE tasks SET
  state = 'leased', attempt = attempt + 1, owner = :owner, token_id = :token_id, lease_ends_at = :ends,
  next_run_at = NULL, updated_at = :now
WHERE number = (
  SELECT number FROM tasks
  WHERE state = 'pending'
    AND workload IN (SELECT value FROM json_each(:workloads))
    AND (next_run_at IS NULL OR next_run_at <= :now)
  ORDER BY number
  LIMIT 1
)
RETURNING *, (SELECT id FROM jobs WHERE jobs.number = tasks.job) AS job_id;

-- waiting_since: when the oldest job was made that a task of these workloads waits for
SELECT min(jobs.created_at) AS at FROM tasks JOIN jobs ON jobs.number = tasks.job
WHERE tasks.state = 'pending'
  AND tasks.workload IN (SELECT value FROM json_each(:workloads))
  AND (tasks.next_run_at IS NULL OR tasks.next_run_at <= :now);

-- unclaim: a claim that nobody was told of came to nothing; its attempt is not used again
UPDATE tasks SET
  state = 'pending', owner = NULL, token_id = NULL, lease_ends_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND owner = :owner AND state = 'leased';

-- renew: its holder still works on it
UPDATE tasks SET state = 'running', lease_ends_at = :ends, updated_at = :now
WHERE id = :id AND attempt = :attempt AND owner = :owner AND token_id = :token_id
  AND lease_ends_at > :now AND state IN ('leased', 'running')
RETURNING *, (SELECT id FROM jobs WHERE jobs.number = tasks.job) AS job_id;

-- complete: its holder has handed in what came of it
UPDATE tasks SET
  state = 'completed', result_id = :result_id, metrics = :metrics, error_code = NULL, error_message = NULL,
  owner = NULL, token_id = NULL, lease_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND owner = :owner AND token_id = :token_id
  AND lease_ends_at > :now AND state IN ('leased', 'running')
RETURNING *, (SELECT id FROM jobs WHERE jobs.number = tasks.job) AS job_id;

-- fail: its holder could not do it; tried again after a pause where that makes sense
UPDATE tasks SET
  state = CASE WHEN :retryable AND attempt < max_attempts THEN 'pending' ELSE 'failed' END,
  next_run_at = CASE WHEN :retryable AND attempt < max_attempts THEN :next_run_at END,
  error_code = :error_code, error_message = :error_message,
  owner = NULL, token_id = NULL, lease_ends_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND owner = :owner AND token_id = :token_id
  AND lease_ends_at > :now AND state IN ('leased', 'running')
RETURNING *, (SELECT id FROM jobs WHERE jobs.number = tasks.job) AS job_id;

-- cancel: what is not finished of a job is not wanted any more
UPDATE tasks SET
  state = 'cancelled', error_code = NULL, error_message = NULL,
  owner = NULL, token_id = NULL, lease_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE job = :job AND state IN ('pending', 'leased', 'running');

-- add: a new task
INSERT INTO tasks (
  id, job, chunk_index, workload, parameters, input_uri, input_sha256, input_type, input_start, input_size,
  state, max_attempts, updated_at
) VALUES (
  :id, :job, :chunk_index, :workload, :parameters, :input_uri, :input_sha256, :input_type, :input_start,
  :input_size, 'pending', :max_attempts, :now
);

-- one: a task
SELECT *, (SELECT id FROM jobs WHERE jobs.number = tasks.job) AS job_id FROM tasks WHERE id = :id;

-- counts: how many tasks of a job are in each state
SELECT state, count(*) AS tasks FROM tasks WHERE job = :job GROUP BY state;

-- results: what was handed in for a job, in its own order
SELECT result_id FROM tasks WHERE job = :job AND state = 'completed' ORDER BY chunk_index;

-- hold_to_bounds: after a restart no lease and no pause is longer than one can be, whatever the wall clock did
UPDATE tasks SET
  lease_ends_at = CASE WHEN lease_ends_at > :longest_lease THEN :longest_lease ELSE lease_ends_at END,
  next_run_at = CASE WHEN next_run_at > :longest_pause THEN :longest_pause ELSE next_run_at END
WHERE lease_ends_at > :longest_lease OR next_run_at > :longest_pause;
