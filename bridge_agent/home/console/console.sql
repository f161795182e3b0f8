-- ever_signed_in: tells whether a credential was ever made; the first one is always a sign-in's
SELECT 1 FROM sqlite_sequence WHERE name = 'tokens' AND seq > 0;

-- open_jobs: how many jobs are open, by state
SELECT state, count(*) AS jobs FROM bridge_jobs
WHERE state IN ('queued', 'claimed', 'running', 'needs_attention')
GROUP BY state;

-- jobs_of_book: the newest jobs of one book
SELECT * FROM bridge_jobs WHERE library_id = :library_id AND path = :path
ORDER BY id DESC LIMIT :most;

-- transcript_of_book: the newest job that made a transcript of one book
SELECT * FROM bridge_jobs WHERE library_id = :library_id AND path = :path AND kind = :kind AND state = 'done'
ORDER BY id DESC LIMIT 1;
