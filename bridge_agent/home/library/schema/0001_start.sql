CREATE TABLE libraries (
  -- AUTOINCREMENT: the id of a removed library is never given to another one, which jobs would then follow.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  root TEXT NOT NULL,
  added_at TEXT NOT NULL,
  -- The last scan that ended; a scan that the program's end cut short leaves NULL and is made up for.
  scan_state TEXT CHECK (scan_state IS NULL OR scan_state IN ('done', 'failed')),
  scan_files INTEGER NOT NULL DEFAULT 0,
  scan_finished_at TEXT,
  scan_error TEXT,
  -- How many books the last scan saw vanish at once and did not believe; the next one that is asked for may.
  doubted INTEGER NOT NULL DEFAULT 0,
  -- Which version of the rules sorted its files into books; another one sorts them all anew.
  rules INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE books (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  library_id INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
  -- Byte-exact as on disk, relative to the root; a book that is one loose file has that file's path.
  path TEXT NOT NULL,
  -- The same in NFC, for comparing only.
  path_key TEXT NOT NULL,
  title TEXT NOT NULL,
  author TEXT NOT NULL,
  series TEXT NOT NULL,
  sequence TEXT NOT NULL,
  narrator TEXT NOT NULL,
  sort_key TEXT NOT NULL,
  -- " word word word ": folded title, author, series and narrator, as the search index holds them.
  words TEXT NOT NULL,
  duration REAL,
  size INTEGER NOT NULL,
  files INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('whole', 'incomplete', 'missing')),
  -- Of the content: sizes, durations and sound of its tracks, in no order.
  evidence TEXT NOT NULL,
  -- Of everything that is stored about it, so that a scan writes only what changed.
  digest TEXT NOT NULL,
  UNIQUE (library_id, path)
) STRICT;

-- With the words in it, a search that very many books match walks this index alone.
CREATE INDEX books_by_title ON books (library_id, sort_key, path, words);
CREATE INDEX books_by_key ON books (library_id, path_key);
CREATE INDEX books_there ON books (library_id) WHERE state != 'missing';

-- What only a book's own page shows, kept apart so that lists stay quick.
CREATE TABLE book_details (
  book_id INTEGER PRIMARY KEY REFERENCES books (id) ON DELETE CASCADE,
  details TEXT NOT NULL CHECK (json_valid(details))
) STRICT;

CREATE TABLE files (
  library_id INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  -- The path in NFC where that differs from the path; NULL where it is the same.
  path_key TEXT,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  -- What was read out of it (tags, a sidecar's metadata), so that an unchanged file is never read again.
  facts TEXT CHECK (facts IS NULL OR json_valid(facts)),
  -- 0 until the shelf that it lies on was sorted into books with it.
  grouped INTEGER NOT NULL DEFAULT 0 CHECK (grouped IN (0, 1)),
  -- 0: it was there once, and the book it belongs to lacks it now.
  present INTEGER NOT NULL DEFAULT 1 CHECK (present IN (0, 1)),
  book_id INTEGER REFERENCES books (id) ON DELETE SET NULL,
  role TEXT CHECK (role IS NULL OR role IN ('track', 'version', 'cover', 'sidecar')),
  -- Reading order within its role, from 0.
  position INTEGER,
  duration REAL,
  PRIMARY KEY (library_id, path),
  CHECK (book_id IS NULL OR (role IS NOT NULL AND position IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX files_by_book ON files (book_id, position) WHERE book_id IS NOT NULL;
CREATE INDEX files_by_key ON files (library_id, path_key) WHERE path_key IS NOT NULL;
CREATE INDEX files_to_group ON files (library_id) WHERE grouped = 0;

-- rowid is the book's id. The texts are folded before they go in, so the tokenizer only splits them. A prefix
-- with an index of its own is read as far as needed; one without is put together whole, however common it is.
CREATE VIRTUAL TABLE book_search USING fts5 (
  words, tokenize = 'unicode61 remove_diacritics 0', prefix = '1 2 3 4 5 6', detail = none, columnsize = 0
);

CREATE TRIGGER books_unsearch AFTER DELETE ON books BEGIN
  DELETE FROM book_search WHERE rowid = old.id;
END;

-- Books that were found at another path, until the jobs have followed them.
CREATE TABLE moves (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  library_id INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
  old_path TEXT NOT NULL,
  new_path TEXT NOT NULL
) STRICT;
