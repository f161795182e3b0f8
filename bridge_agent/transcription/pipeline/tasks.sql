-- claim: choose the next task of a state and mark it claimed, in one statement; over the limit it dies instead
UPDATE tasks SET
  attempt = attempt + 1,
  tries = tries + 1,
  cuts = cuts + (state = 'created'),
  state = CASE WHEN tries >= :most_tries THEN 'dead' ELSE state END,
  fell_from = CASE WHEN tries >= :most_tries THEN state END,
  holder = CASE WHEN tries >= :most_tries THEN NULL ELSE :holder END,
  phase = CASE WHEN tries >= :most_tries THEN NULL ELSE :phase END,
  claimed_at = CASE WHEN tries >= :most_tries THEN NULL ELSE :now END,
  claim_ends_at = CASE WHEN tries >= :most_tries THEN NULL ELSE :ends END,
  next_run_at = NULL,
  updated_at = :now
WHERE id = (
  SELECT id FROM tasks
  WHERE state = :state
    -- The plus keeps the index that has the order already.
    AND +recording_id IN (SELECT value FROM json_each(:recordings))
    AND (claim_ends_at IS NULL OR claim_ends_at <= :now)
    AND id NOT IN (SELECT value FROM json_each(:held))
    -- A pause that was begun in the future was set by a clock that has been put back since: it is over.
    AND (next_run_at IS NULL OR next_run_at <= :now OR updated_at > :now)
  ORDER BY priority DESC, recording_id, number, id
  LIMIT 1
)
RETURNING *;

-- converted: the part is cut; the holder writes the fields of its step and lets go
UPDATE tasks SET
  state = 'converted', sha256 = :sha256, size = :size, tries = 0, error = NULL,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder AND state = 'created'
RETURNING *;

-- heard: the part is transcribed
UPDATE tasks SET
  state = 'done', sha256 = NULL, size = NULL, tries = 0, error = NULL,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder AND state = 'converted'
RETURNING *;

-- uncut: the cut audio is not what it was: it is cut anew, the try counts
UPDATE tasks SET
  state = 'created', sha256 = NULL, size = NULL, error = :error,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder AND state = 'converted'
RETURNING *;

-- again: the step failed; after the pause somebody may try again
UPDATE tasks SET
  error = :error, next_run_at = :next_run_at,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder
RETURNING *;

-- wait: the step is waiting on something foreign, which is no failure: looked at again after its own delay
UPDATE tasks SET
  tries = 0, next_run_at = :next_run_at,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder
RETURNING *;

-- fail: the step has judged this part for good
UPDATE tasks SET
  state = 'failed', fell_from = state, error = :error,
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder
RETURNING *;

-- give_back: a claim that came to nothing without anybody's fault: the try does not count, the attempt stays
UPDATE tasks SET
  tries = max(tries - 1, 0),
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder
RETURNING *;

-- give_back_all: what the children of this machine held when the Bridge itself ended
UPDATE tasks SET
  tries = max(tries - 1, 0),
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE holder GLOB :holders
RETURNING *;

-- from_the_future: a claim of an earlier life whose clock went ahead of today's lasts as long from now on
UPDATE tasks SET
  claim_ends_at = strftime(
    '%Y-%m-%dT%H:%M:%fZ', julianday(:now) + max(julianday(claim_ends_at) - julianday(updated_at), 0)
  ),
  updated_at = :now
WHERE holder IS NOT NULL AND updated_at > :now;

-- lost_audio: cut audio that is not on disk any more is cut again, unless somebody holds the part meanwhile
UPDATE tasks SET state = 'created', sha256 = NULL, size = NULL, updated_at = :now
WHERE id = :id AND attempt = :attempt AND state = 'converted' AND holder IS NULL
RETURNING *;

-- set_back: the owner lets a dead or failed part go on from where it fell; the trigger gives it a fresh count
UPDATE tasks SET state = coalesce(:state, fell_from, 'created'), updated_at = :now
WHERE id = :id AND state IN ('dead', 'failed')
RETURNING id;

-- cancel: nobody wants the open parts of a recording any more
UPDATE tasks SET
  state = 'cancelled',
  holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL, next_run_at = NULL, updated_at = :now
WHERE recording_id = :recording_id AND state IN ('created', 'converted')
RETURNING *;

-- add: a new part of a recording
INSERT INTO tasks (recording_id, number, part_key, samples, state, created_at, updated_at)
VALUES (:recording_id, :number, :part_key, :samples, :state, :now, :now);

-- drop: the parts of a plan that is made anew
DELETE FROM tasks WHERE recording_id = :recording_id;

-- one: a task
SELECT * FROM tasks WHERE id = :id;

-- numbered: a part of a recording by its number
SELECT * FROM tasks WHERE recording_id = :recording_id AND number = :number;

-- of_recording: the parts of a recording in their order
SELECT * FROM tasks WHERE recording_id = :recording_id ORDER BY number, id;

-- in_state: the parts in a state, for the owner to choose by
SELECT * FROM tasks WHERE state = :state ORDER BY recording_id, number, id;

-- counts: how many parts of a recording are in each state, and how long they are together
SELECT state, count(*) AS parts, sum(samples) AS samples FROM tasks
WHERE recording_id = :recording_id GROUP BY state;

-- numbers: the parts of a recording that are in a state
SELECT number FROM tasks WHERE recording_id = :recording_id AND state = :state ORDER BY number;

-- lying: how many cut parts of a recording lie here, those in the hands of other machines not among them
SELECT count(*) AS parts FROM tasks
WHERE recording_id = :recording_id AND state = 'converted' AND (holder IS NULL OR holder GLOB :here);
