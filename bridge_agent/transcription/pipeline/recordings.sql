-- begin: a new recording
INSERT INTO recordings (sender, addressee, title, author, settings, state, created_at, updated_at)
VALUES (:sender, :addressee, :title, :author, :settings, 'open', :now, :now)
RETURNING *;

-- asked: the recording that somebody has asked for already, where it goes on or its parts are all there
SELECT * FROM recordings
WHERE sender = :sender AND addressee = :addressee AND state IN ('open', 'done') AND NOT closed
ORDER BY id DESC LIMIT 1;

-- go_on: the same asker again: what it calls the book may have changed meanwhile, all else is the same
UPDATE recordings SET title = :title, author = :author, settings = :settings, state = 'open',
  finished_at = NULL, error = NULL, updated_at = :now
WHERE id = :id AND state IN ('open', 'done')
RETURNING *;

-- planned: a plan is made
UPDATE recordings SET plan = :plan, updated_at = :now WHERE id = :id AND state = 'open' RETURNING *;

-- complete: all parts are done
UPDATE recordings SET state = 'done', error = NULL, finished_at = :now, updated_at = :now
WHERE id = :id AND state = 'open' AND plan IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tasks WHERE recording_id = :id AND state <> 'done')
RETURNING *;

-- fail: it can't be had whole
UPDATE recordings SET state = 'failed', error = :error, finished_at = :now, updated_at = :now
WHERE id = :id AND state = 'open'
RETURNING *;

-- cancel: nobody wants it any more
UPDATE recordings SET state = 'cancelled', finished_at = :now, updated_at = :now
WHERE id = :id AND state = 'open'
RETURNING *;

-- spent: count the seconds that were spent on it
UPDATE recordings SET seconds_spent = seconds_spent + :seconds, updated_at = :now WHERE id = :id;

-- set_back: a failed recording goes on, since the owner set one of its parts back
UPDATE recordings SET state = 'open', error = NULL, finished_at = NULL, updated_at = :now
WHERE id = :id AND state = 'failed';

-- one: a recording
SELECT * FROM recordings WHERE id = :id;

-- state: only that
SELECT state FROM recordings WHERE id = :id;

-- close: whoever asked has what came of it
UPDATE recordings SET closed = 1, updated_at = :now WHERE id = :id;

-- forget: nothing of a recording is wanted any more
DELETE FROM recordings WHERE id = :id;

-- forget_old: what nobody came back for; the times are looked at again here
DELETE FROM recordings WHERE updated_at < :before AND id NOT IN (SELECT value FROM json_each(:running))
RETURNING id;

-- over_before: what has been done or closed for long enough
SELECT id FROM recordings
WHERE (state = 'done' OR closed) AND updated_at < :before AND id NOT IN (SELECT value FROM json_each(:running));

-- ids_since: which recordings something happened to since a time
SELECT id FROM recordings WHERE updated_at >= :since;
