-- Tokens: each is a worker that was invited, by the name that people know. Only its hash is kept.
CREATE TABLE tokens (
  -- Never used twice: parts are held under it.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL UNIQUE,
  -- What it hears with, as its owner or it itself said.
  model TEXT,
  engine TEXT NOT NULL DEFAULT '',
  device TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  last_seen_at TEXT,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  -- Why it is given no more work, until a person resumes it.
  parked TEXT
) STRICT;

-- Workers that registered themselves under a token; they never do so again, so these outlive a restart.
CREATE TABLE registrations (
  worker_id TEXT PRIMARY KEY,
  token_id INTEGER NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  capabilities TEXT NOT NULL CHECK (json_valid(capabilities)),
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX registrations_of ON registrations (token_id, created_at);

-- What this listener keeps for itself: the key that its audio addresses are made with.
CREATE TABLE keys (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;
