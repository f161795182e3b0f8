-- add: bytes that lie on the disk now, or come along; nothing where the claim has handed in some already
INSERT INTO artifacts (id, kind, job, task_id, attempt, name, content_type, sha256, size, content, created_at)
VALUES (:id, :kind, :job, :task_id, :attempt, :name, :content_type, :sha256, :size, :content, :now)
ON CONFLICT (task_id, attempt) WHERE task_id IS NOT NULL DO NOTHING
RETURNING *;

-- one: an artifact by its id
SELECT artifacts.*, (SELECT id FROM jobs WHERE jobs.number = artifacts.job) AS job_id
FROM artifacts WHERE id = :id;

-- of_claim: what a claim has handed in
SELECT artifacts.*, (SELECT id FROM jobs WHERE jobs.number = artifacts.job) AS job_id
FROM artifacts WHERE task_id = :task_id AND attempt = :attempt;

-- of_parts: what was handed in for parts of the pipeline's, all of it
SELECT id FROM artifacts WHERE job IS NULL;

-- forget_parts: drop what was handed in for parts before a time
DELETE FROM artifacts WHERE job IS NULL AND created_at < :before RETURNING id;

-- source_of: the file that a job was uploaded with
SELECT * FROM artifacts WHERE job = :job AND kind = 'source';
