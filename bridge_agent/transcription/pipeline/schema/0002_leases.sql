-- What is known of a part's latest claim by a worker on the network, and what it handed in. It is fenced as
-- the task is: it speaks of `holder`'s claim `attempt` and of no other.
CREATE TABLE leases (
  task_id INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  holder TEXT NOT NULL,
  -- What the worker told of its work, as its wire has it.
  notes TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(notes)),
  -- Its last sign of life.
  beat_at TEXT NOT NULL,
  ready_at TEXT,
  -- Of the result that it handed in, so that the same result again is no news.
  digest TEXT,
  -- The tokens whose workers said that they can't do this part, whenever that was.
  refused TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(refused))
) STRICT;

-- How often the part was claimed to be cut: workers count their own claims alone, from 1.
ALTER TABLE tasks ADD COLUMN cuts INTEGER NOT NULL DEFAULT 0 CHECK (cuts >= 0);
UPDATE tasks SET cuts = min(attempt, 1);
