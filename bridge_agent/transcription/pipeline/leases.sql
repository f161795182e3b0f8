-- lease: choose a cut part for a worker and mark it claimed, in one statement; over the limit it dies instead
UPDATE tasks SET
  attempt = attempt + 1,
  tries = tries + 1,
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
  WHERE state = 'converted'
    AND recording_id IN (SELECT value FROM json_each(:recordings))
    AND (:only IS NULL OR id = :only)
    AND (claim_ends_at IS NULL OR claim_ends_at <= :now)
    AND id NOT IN (SELECT value FROM json_each(:held))
    -- A pause that was begun in the future was set by a clock that has been put back since: it is over.
    AND (next_run_at IS NULL OR next_run_at <= :now OR updated_at > :now)
    AND NOT EXISTS (
      SELECT 1 FROM leases, json_each(leases.refused) AS refuser
      WHERE leases.task_id = tasks.id AND refuser.value = :refuser
    )
  -- A worker takes the newest where it asks so; which recording an owner wants first stays as it is.
  ORDER BY priority DESC, :way * recording_id, :way * number, :way * id
  LIMIT 1
)
RETURNING *;

-- waiting_since: when the oldest recording was asked for of which a part may be claimed now
SELECT min(recordings.created_at) AS at FROM tasks JOIN recordings ON recordings.id = tasks.recording_id
WHERE tasks.state = 'converted'
  AND tasks.recording_id IN (SELECT value FROM json_each(:recordings))
  AND (claim_ends_at IS NULL OR claim_ends_at <= :now)
  AND tasks.id NOT IN (SELECT value FROM json_each(:held))
  AND (next_run_at IS NULL OR next_run_at <= :now OR tasks.updated_at > :now);

-- begin: remember the claim that was just made; what an earlier one said is gone, who refused the part is not
INSERT INTO leases (task_id, attempt, holder, notes, beat_at)
VALUES (:id, :attempt, :holder, :notes, :now)
ON CONFLICT (task_id) DO UPDATE SET
  attempt = excluded.attempt, holder = excluded.holder, notes = excluded.notes,
  beat_at = excluded.beat_at, ready_at = NULL, digest = NULL;

-- take_up: a worker finds its own part again that is ready, or whose work was broken off; that try counts
UPDATE tasks SET
  tries = CASE WHEN phase = 'ready' THEN tries ELSE tries + 1 END,
  state = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN 'dead' ELSE state END,
  fell_from = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN state END,
  holder = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN NULL ELSE holder END,
  claimed_at = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN NULL ELSE claimed_at END,
  claim_ends_at = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN NULL ELSE :ends END,
  phase = CASE WHEN phase <> 'ready' AND tries >= :most_tries THEN NULL ELSE 'transcribing' END,
  updated_at = :now
WHERE id = (
  SELECT tasks.id FROM tasks JOIN leases
    ON leases.task_id = tasks.id AND leases.attempt = tasks.attempt AND leases.holder = tasks.holder
  WHERE tasks.state = 'converted' AND tasks.holder = :holder AND leases.ready_at IS NOT NULL
    AND (
      tasks.phase = 'ready'
      OR (tasks.phase = 'transcribing' AND tasks.id NOT IN (SELECT value FROM json_each(:held)))
    )
  ORDER BY
    CASE WHEN :way > 0 THEN leases.ready_at END, CASE WHEN :way < 0 THEN leases.ready_at END DESC,
    :way * tasks.recording_id, :way * tasks.number, :way * tasks.id
  LIMIT 1
)
RETURNING *;

-- step: a holder that still works lets its claim live on and says how far it is
UPDATE tasks SET claim_ends_at = :ends, phase = coalesce(:phase, phase), updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder AND state = 'converted'
  AND (:was IS NULL OR phase IN (SELECT value FROM json_each(:was)))
RETURNING *;

-- beat: a sign of life, with what was said along with it
UPDATE leases SET beat_at = :now, ready_at = CASE WHEN :ready THEN :now ELSE ready_at END, notes = :notes
WHERE task_id = :id AND attempt = :attempt AND holder = :holder;

-- lapse: the claim's time is over by the clock that counts; whoever comes first may have the part,
-- and no wall clock that is put back makes it wait once more
UPDATE tasks SET claim_ends_at = '1970-01-01T00:00:00.000Z', updated_at = :now
WHERE id = :id AND attempt = :attempt AND holder = :holder AND claim_ends_at > '1970-01-01T00:00:00.000Z'
RETURNING *;

-- hand_in: remember what was handed in
UPDATE leases SET digest = :digest WHERE task_id = :id AND attempt = :attempt AND holder = :holder;

-- refuse: this worker is not asked to do this part again
UPDATE leases SET refused = json_insert(refused, '$[#]', :refuser)
WHERE task_id = :id AND attempt = :attempt AND holder = :holder;

-- refusers: who can't do a part
SELECT refused FROM leases WHERE task_id = :id;

-- one: what is known of a part's latest claim
SELECT * FROM leases WHERE task_id = :id;

-- held: the parts that workers hold
SELECT * FROM tasks WHERE holder GLOB :holders ORDER BY id;
