-- Kept transcripts. `entry` is what the list shows, `words` the folded title, author and path for its search.
CREATE TABLE transcripts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  reuse_key TEXT NOT NULL UNIQUE,
  folder TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  author TEXT NOT NULL,
  words TEXT NOT NULL,
  entry BLOB NOT NULL
) STRICT;

CREATE TABLE chapters (
  transcript_id INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  title TEXT NOT NULL,
  PRIMARY KEY (transcript_id, number)
) STRICT, WITHOUT ROWID;

-- What was said, some seconds a row. Ids run from the newest transcript to the oldest and through each in
-- order: a search that reads them upwards needs no sorting.
CREATE TABLE stretches (
  id INTEGER PRIMARY KEY,
  start_ms INTEGER NOT NULL,
  chapter INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;

-- The index knows folded words and pairs of them, parted by spaces; the text stands once, in `stretches`.
CREATE VIRTUAL TABLE spoken USING fts5(words, content='', columnsize=0, tokenize='ascii');

-- Every word of the index and how often it was said: what a beginning of a word can mean.
CREATE TABLE vocabulary (
  word TEXT PRIMARY KEY,
  uses INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
