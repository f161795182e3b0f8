-- Facts that outlive a start: the server's id, the library roots already taken from the settings.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE users (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  username TEXT NOT NULL UNIQUE COLLATE NOCASE,
  password_hash TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'user')),
  enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  created_at TEXT NOT NULL
) STRICT;

-- Every credential of every kind, by the SHA-256 of the whole token (R-026).
CREATE TABLE tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  kind TEXT NOT NULL CHECK (kind IN ('session', 'api_key', 'cast', 'bridge')),
  user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  -- A session slides; a cast token ends; an API key and a bridge token last until they are revoked.
  expires_at TEXT CHECK ((expires_at IS NULL) = (kind IN ('api_key', 'bridge'))),
  -- Never set on a bridge token: a heartbeat is not its admin's activity (R-032).
  last_seen_at TEXT CHECK (kind != 'bridge' OR last_seen_at IS NULL)
) STRICT;

CREATE INDEX tokens_by_user ON tokens (user_id, kind);
-- One Bridge a server (R-011).
CREATE UNIQUE INDEX tokens_one_bridge ON tokens (kind) WHERE kind = 'bridge';

-- Codes that sign another device in; used once, gone when used.
CREATE TABLE device_codes (
  hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
  user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at TEXT NOT NULL
) STRICT;

-- The single row about pairing and the last heartbeat (R-004, R-039).
CREATE TABLE bridge_status (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  code_hash TEXT CHECK (length(code_hash) = 64),
  code_by INTEGER REFERENCES users (id) ON DELETE SET NULL,
  code_expires_at TEXT,
  code_deadline REAL,
  paired_at TEXT,
  paired_by INTEGER REFERENCES users (id) ON DELETE SET NULL,
  heartbeat TEXT CHECK (heartbeat IS NULL OR json_valid(heartbeat)),
  heartbeat_at TEXT,
  heartbeat_moment REAL,
  CHECK ((code_hash IS NULL) = (code_expires_at IS NULL)),
  CHECK ((code_hash IS NULL) = (code_deadline IS NULL)),
  CHECK ((heartbeat IS NULL) = (heartbeat_at IS NULL)),
  CHECK ((heartbeat IS NULL) = (heartbeat_moment IS NULL))
) STRICT;

-- The intent and the lease (R-049): keyed by library and path, with no foreign key to the book index.
CREATE TABLE bridge_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  library_id INTEGER NOT NULL CHECK (library_id > 0),
  path TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  state TEXT NOT NULL CHECK (
    state IN ('queued', 'claimed', 'running', 'needs_attention', 'done', 'failed', 'cancelled')
  ),
  priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
  -- The fencing token: it only ever grows, and no attempt is used twice (law 1).
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- How many claims count toward the limit: one that reached nobody is given back and does not.
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND attempts),
  claim_id TEXT,
  lease_expires_at TEXT,
  -- Monotonic seconds of the running process; made anew from lease_expires_at at each start (law 5).
  lease_deadline REAL,
  cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
  progress TEXT CHECK (progress IS NULL OR json_valid(progress)),
  result TEXT CHECK (result IS NULL OR json_valid(result)),
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  finished_at TEXT,
  CHECK ((lease_deadline IS NOT NULL) = (state IN ('claimed', 'running', 'needs_attention'))),
  CHECK ((lease_expires_at IS NULL) = (lease_deadline IS NULL)),
  CHECK (claim_id IS NULL OR lease_deadline IS NOT NULL),
  CHECK ((finished_at IS NOT NULL) = (state IN ('done', 'failed', 'cancelled')))
) STRICT;

-- At most one open job a kind, library and path (R-051).
CREATE UNIQUE INDEX bridge_jobs_open ON bridge_jobs (kind, library_id, path)
  WHERE state IN ('queued', 'claimed', 'running', 'needs_attention');
-- The order in which jobs are handed out (R-054); ended jobs are not in it, however many there are.
CREATE INDEX bridge_jobs_queue ON bridge_jobs (priority DESC, created_at, id, kind) WHERE state = 'queued';
CREATE INDEX bridge_jobs_leases ON bridge_jobs (lease_deadline) WHERE lease_deadline IS NOT NULL;
CREATE INDEX bridge_jobs_claims ON bridge_jobs (claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX bridge_jobs_by_state ON bridge_jobs (state, id);
CREATE INDEX bridge_jobs_by_book ON bridge_jobs (library_id, path);

CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id INTEGER NOT NULL REFERENCES bridge_jobs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
  created_at TEXT NOT NULL,
  UNIQUE (job_id, attempt, name)
) STRICT;
