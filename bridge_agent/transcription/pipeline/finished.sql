-- keep: a part's result; the first of two equal ones stays
INSERT INTO finished_parts (part_key, result, made_by, made_at, used_at)
VALUES (:part_key, :result, :made_by, :now, :now)
ON CONFLICT (part_key) DO UPDATE SET used_at = excluded.used_at;

-- there: whether a part is finished
SELECT part_key FROM finished_parts WHERE part_key IN (SELECT value FROM json_each(:part_keys));

-- use: finished parts are wanted again: they stay for another while
UPDATE finished_parts SET used_at = :now WHERE part_key IN (SELECT value FROM json_each(:part_keys));

-- of_recording: the results of a recording's parts
SELECT tasks.number, tasks.samples, finished_parts.result, finished_parts.made_by
FROM tasks JOIN finished_parts USING (part_key)
WHERE tasks.recording_id = :recording_id AND tasks.state = 'done'
ORDER BY tasks.number;

-- let_go: the parts of a book that is done go, except those that another recording still uses
DELETE FROM finished_parts
WHERE part_key IN (SELECT part_key FROM tasks WHERE recording_id = :recording_id)
  AND part_key NOT IN (
    SELECT tasks.part_key FROM tasks JOIN recordings ON recordings.id = tasks.recording_id
    WHERE tasks.recording_id <> :recording_id AND recordings.state IN ('open', 'done')
      AND NOT recordings.closed
  );

-- forget_old: parts that nobody has used for long, except those of a recording that is open
DELETE FROM finished_parts
WHERE used_at < :before AND part_key NOT IN (
  SELECT tasks.part_key FROM tasks JOIN recordings ON recordings.id = tasks.recording_id
  WHERE recordings.id IN (SELECT value FROM json_each(:running))
);
