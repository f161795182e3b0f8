-- A recording: one book for one asker. Its parts are the tasks.
CREATE TABLE recordings (
  -- Never used twice: a task's claim is fenced by its id and its attempt.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- How whoever asked is told, and who that is: of a server's job "server" and "SERVER_ID/JOB_ID".
  sender TEXT NOT NULL,
  addressee TEXT,
  title TEXT NOT NULL,
  author TEXT NOT NULL,
  -- The settings as asked for.
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed', 'cancelled')),
  plan TEXT CHECK (plan IS NULL OR json_valid(plan)),
  error TEXT,
  seconds_spent REAL NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  finished_at TEXT,
  CHECK ((finished_at IS NULL) = (state = 'open'))
) STRICT;

CREATE INDEX recordings_asked ON recordings (sender, addressee, id DESC);

-- A task: one part on its way. `state` alone decides whether it is handed out (P-046).
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  recording_id INTEGER NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  number INTEGER NOT NULL CHECK (number >= 0),
  part_key TEXT NOT NULL,
  samples INTEGER NOT NULL CHECK (samples >= 0),
  state TEXT NOT NULL CHECK (
    state IN ('created', 'converted', 'done', 'failed', 'dead', 'cancelled')
  ),
  -- The state it died or failed in: the one to set it back to.
  fell_from TEXT CHECK (fell_from IN ('created', 'converted')),
  -- The fencing token: counted up at each claim, never down.
  attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  -- Claims since the step last succeeded (P-040, P-041).
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  -- The owner's: a higher one goes first.
  priority INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  phase TEXT CHECK (phase IN ('downloading', 'ready', 'transcribing')),
  claimed_at TEXT,
  claim_ends_at TEXT,
  next_run_at TEXT,
  -- The cut audio, while there is some.
  sha256 TEXT,
  size INTEGER,
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (recording_id, number),
  CHECK ((holder IS NULL) = (claimed_at IS NULL) AND (holder IS NULL) = (claim_ends_at IS NULL)),
  CHECK (holder IS NULL OR state IN ('created', 'converted')),
  CHECK (holder IS NULL OR attempt > 0)
) STRICT;

-- The order of a claim: total, since the id ends it (P-012).
CREATE INDEX tasks_in_line ON tasks (state, priority DESC, recording_id, number, id);

-- Whoever sets a dead or failed task back gives it a fresh count, by whatever way the state was edited (P-043).
CREATE TRIGGER tasks_set_back AFTER UPDATE OF state ON tasks
WHEN old.state IN ('dead', 'failed') AND new.state IN ('created', 'converted')
BEGIN
  UPDATE tasks SET tries = 0, holder = NULL, phase = NULL, claimed_at = NULL, claim_ends_at = NULL,
    next_run_at = NULL, fell_from = NULL
  WHERE id = new.id;
END;

-- Parts that are finished, by what their words follow from, whoever asked for them (settled point 6).
CREATE TABLE finished_parts (
  part_key TEXT PRIMARY KEY,
  result TEXT NOT NULL CHECK (json_valid(result)),
  -- The executor's name as people know it.
  made_by TEXT NOT NULL,
  made_at TEXT NOT NULL,
  used_at TEXT NOT NULL
) STRICT;

-- What was learnt of audio files, so that no restart reads a whole book again.
CREATE TABLE surveys (
  -- A hash of the file's name in the book, its stamp and the decoder's version.
  file_key TEXT PRIMARY KEY,
  survey TEXT NOT NULL CHECK (json_valid(survey)),
  used_at TEXT NOT NULL
) STRICT;

-- The languages that were heard in books, by what they follow from.
CREATE TABLE languages (
  survey_key TEXT PRIMARY KEY,
  language TEXT,
  sure INTEGER NOT NULL CHECK (sure IN (0, 1)),
  used_at TEXT NOT NULL
) STRICT;

-- How fast executors did earlier books, in seconds of audio a second, so that time left is told from the start.
CREATE TABLE speeds (
  executor TEXT NOT NULL,
  model TEXT NOT NULL,
  quality TEXT NOT NULL,
  speed REAL NOT NULL CHECK (speed > 0),
  PRIMARY KEY (executor, model, quality)
) STRICT;
