-- find: one artifact of an attempt
SELECT * FROM artifacts WHERE job_id = :job_id AND attempt = :attempt AND name = :name;

-- count: how many artifacts an attempt has
SELECT count(*) AS count FROM artifacts WHERE job_id = :job_id AND attempt = :attempt;

-- keep: a stored artifact
INSERT INTO artifacts (job_id, attempt, name, content_type, sha256, size_bytes, created_at)
VALUES (:job_id, :attempt, :name, :content_type, :sha256, :size_bytes, :now)
RETURNING *;

-- latest: the artifacts of the latest attempt that has any
SELECT * FROM artifacts
WHERE job_id = :job_id
  AND attempt = (SELECT max(attempt) FROM artifacts WHERE job_id = :job_id)
ORDER BY name;

-- jobs: the jobs that have artifacts
SELECT DISTINCT job_id FROM artifacts;
