-- A job: what somebody uploaded or described, and what became of it.
CREATE TABLE jobs (
  -- The order in which jobs came, never used twice.
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  workload TEXT NOT NULL,
  parameters TEXT NOT NULL CHECK (json_valid(parameters)),
  -- Of an open one, pending and running follow from its tasks.
  state TEXT NOT NULL CHECK (state IN ('open', 'reducing', 'completed', 'failed', 'cancelled')),
  error_code TEXT,
  -- The final result among the artifacts.
  result_id TEXT,
  -- How many parts of audio were in each state at its end: those are no tasks here and go with their recording.
  parts TEXT CHECK (parts IS NULL OR json_valid(parts)),
  created_at TEXT NOT NULL,
  finished_at TEXT,
  CHECK ((finished_at IS NULL) = (state IN ('open', 'reducing')))
) STRICT;

CREATE INDEX jobs_by_state ON jobs (state, number);

-- A task: one shard. A job's tasks have numbers in their own order, so the number is the order of claims.
CREATE TABLE tasks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
  chunk_index INTEGER NOT NULL CHECK (chunk_index >= 0),
  workload TEXT NOT NULL,
  parameters TEXT NOT NULL CHECK (json_valid(parameters)),
  -- Where a job that was described has its input; an uploaded shard is a stretch of its job's file of shards.
  input_uri TEXT,
  input_sha256 TEXT NOT NULL,
  input_type TEXT,
  input_start INTEGER,
  input_size INTEGER,
  state TEXT NOT NULL CHECK (
    state IN ('pending', 'leased', 'running', 'completed', 'failed', 'cancelled')
  ),
  -- The fencing token: counted up at each claim, never down.
  attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  max_attempts INTEGER NOT NULL CHECK (max_attempts > 0),
  -- Who holds it: the worker's id as it was written in the claim, and whose token that came with.
  owner TEXT,
  token_id INTEGER,
  lease_ends_at TEXT,
  next_run_at TEXT,
  result_id TEXT,
  metrics TEXT CHECK (metrics IS NULL OR json_valid(metrics)),
  error_code TEXT,
  error_message TEXT,
  updated_at TEXT NOT NULL,
  UNIQUE (job, chunk_index),
  CHECK ((input_uri IS NULL) = (input_start IS NOT NULL) AND (input_uri IS NULL) = (input_size IS NOT NULL)),
  CHECK ((owner IS NOT NULL) = (state IN ('leased', 'running'))),
  CHECK ((owner IS NULL) = (lease_ends_at IS NULL) AND (owner IS NULL) = (token_id IS NULL)),
  CHECK (state <> 'completed' OR result_id IS NOT NULL)
) STRICT;

CREATE INDEX tasks_in_line ON tasks (state, number);
CREATE INDEX tasks_of ON tasks (job, state);
CREATE INDEX tasks_leased ON tasks (lease_ends_at) WHERE lease_ends_at IS NOT NULL;

-- An artifact: bytes on the disk, by the id that is their file's name.
CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('source', 'partial', 'result')),
  -- Whose it is: a job that is kept here, or a part of the pipeline's (then by its task alone).
  job INTEGER REFERENCES jobs (number) ON DELETE CASCADE,
  task_id TEXT,
  attempt INTEGER,
  name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  created_at TEXT NOT NULL,
  CHECK ((kind = 'partial') = (task_id IS NOT NULL) AND (task_id IS NULL) = (attempt IS NULL))
) STRICT;

-- Of two that a claim hands in, the first stays.
CREATE UNIQUE INDEX artifacts_of_claims ON artifacts (task_id, attempt) WHERE task_id IS NOT NULL;
CREATE INDEX artifacts_of_jobs ON artifacts (job);
