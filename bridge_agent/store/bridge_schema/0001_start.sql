-- Facts about this Bridge that outlive a start: instance id, page password's hash, spent code's hash.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- The one server this Bridge is paired with; no row: unpaired. The token is in the vault, never here.
CREATE TABLE pairing (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  server_url TEXT NOT NULL,
  server_id TEXT NOT NULL,
  server_name TEXT NOT NULL,
  paired_at TEXT NOT NULL,
  libraries TEXT NOT NULL CHECK (json_valid(libraries))
) STRICT;

-- Where this machine sees a library; no row: at the server's own root.
CREATE TABLE mappings (
  server_id TEXT NOT NULL,
  library_id INTEGER NOT NULL CHECK (library_id > 0),
  path TEXT NOT NULL,
  PRIMARY KEY (server_id, library_id)
) STRICT;

-- The last mapping check of each library, as the heartbeat carries it.
CREATE TABLE mapping_checks (
  server_id TEXT NOT NULL,
  library_id INTEGER NOT NULL CHECK (library_id > 0),
  outcome TEXT NOT NULL CHECK (json_valid(outcome)),
  PRIMARY KEY (server_id, library_id)
) STRICT;

-- The execution truth (R-050): what this Bridge claimed, what it found, whether the server has taken it.
CREATE TABLE server_jobs (
  server_id TEXT NOT NULL,
  job_id INTEGER NOT NULL CHECK (job_id > 0),
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  kind TEXT NOT NULL,
  library_id INTEGER NOT NULL,
  path TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  state TEXT NOT NULL CHECK (
    state IN ('running', 'needs_attention', 'aside', 'done', 'failed', 'cancelled', 'lost')
  ),
  progress TEXT CHECK (progress IS NULL OR json_valid(progress)),
  result TEXT CHECK (result IS NULL OR json_valid(result)),
  error TEXT,
  -- Whether the server has answered the final report; a lost row has none to send.
  reported INTEGER NOT NULL DEFAULT 0 CHECK (reported IN (0, 1)),
  -- What became of it on the server, where that differs: "cancelled on the server", "the server has moved on".
  note TEXT,
  claimed_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT,
  PRIMARY KEY (server_id, job_id, attempt),
  CHECK ((finished_at IS NULL) = (state IN ('running', 'needs_attention', 'aside')))
) STRICT;

CREATE INDEX server_jobs_open ON server_jobs (server_id, job_id)
  WHERE state IN ('running', 'needs_attention', 'aside');
CREATE INDEX server_jobs_unreported ON server_jobs (server_id, finished_at)
  WHERE reported = 0 AND state IN ('done', 'failed', 'cancelled');
CREATE INDEX server_jobs_newest ON server_jobs (claimed_at DESC, job_id DESC, attempt DESC);

-- Sessions of the page, where it has a password: the SHA-256 of each cookie.
CREATE TABLE page_sessions (
  hash TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL
) STRICT;
