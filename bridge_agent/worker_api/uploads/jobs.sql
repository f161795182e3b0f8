-- add: a new job
INSERT INTO jobs (id, workload, parameters, state, created_at)
VALUES (:id, :workload, :parameters, 'open', :now)
RETURNING *;

-- one: a job by its id
SELECT * FROM jobs WHERE id = :id;

-- by_number: a job by its number
SELECT * FROM jobs WHERE number = :number;

-- in_state: the jobs in a state
SELECT * FROM jobs WHERE state = :state ORDER BY number;

-- settle: close an open job whose tasks have all come to their end; which state follows from them
UPDATE jobs SET
  state = CASE
    WHEN EXISTS (SELECT 1 FROM tasks WHERE job = :number AND state = 'failed') THEN 'failed'
    WHEN workload IN (SELECT value FROM json_each(:reduced)) THEN 'reducing'
    ELSE 'completed' END,
  finished_at = CASE
    WHEN EXISTS (SELECT 1 FROM tasks WHERE job = :number AND state = 'failed') THEN :now
    WHEN workload IN (SELECT value FROM json_each(:reduced)) THEN NULL
    ELSE :now END
WHERE number = :number AND state = 'open'
  AND EXISTS (SELECT 1 FROM tasks WHERE job = :number)
  AND NOT EXISTS (SELECT 1 FROM tasks WHERE job = :number AND state NOT IN ('completed', 'failed'))
RETURNING *;

-- reduce: an open job whose results are put together now
UPDATE jobs SET state = 'reducing' WHERE number = :number AND state = 'open' RETURNING *;

-- complete: the final result is there
UPDATE jobs SET state = 'completed', result_id = :result_id, finished_at = :now
WHERE number = :number AND state = 'reducing'
RETURNING *;

-- fail: it can't be had
UPDATE jobs SET state = 'failed', error_code = :error_code, finished_at = :now
WHERE number = :number AND state IN ('open', 'reducing')
RETURNING *;

-- cancel: nobody wants it any more
UPDATE jobs SET state = 'cancelled', finished_at = :now WHERE number = :number AND state = 'open' RETURNING *;

-- finished_before: jobs that ended before a time, the oldest first
SELECT * FROM jobs WHERE finished_at < :before ORDER BY finished_at, number;

-- finished: jobs that have ended, the one that did so first first, with the bytes that they take
SELECT jobs.*, coalesce((SELECT sum(size) FROM artifacts WHERE job = jobs.number), 0)
  + coalesce((SELECT sum(input_size) FROM tasks WHERE job = jobs.number), 0) AS bytes
FROM jobs WHERE finished_at IS NOT NULL ORDER BY finished_at, number;

-- bytes: what all jobs take
SELECT coalesce((SELECT sum(size) FROM artifacts), 0) + coalesce((SELECT sum(input_size) FROM tasks), 0) AS bytes;

-- ids: all jobs
SELECT id FROM jobs;

-- forget: drop a job, its tasks and the rows of its artifacts
DELETE FROM jobs WHERE number = :number;

-- keep_parts: how many parts of audio were in each state at the end
UPDATE jobs SET parts = :parts WHERE number = :number;

-- forget_id: drop a job that nobody was told of
DELETE FROM jobs WHERE id = :id;
