-- Whoever asked for a recording has what came of it: its words are gone, who did which part is known for a day.
ALTER TABLE recordings ADD COLUMN closed INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1));
