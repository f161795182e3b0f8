-- begin_scan: forgets how the last scan ended, so that one cut short is made up for at the next start.
UPDATE libraries SET scan_state = NULL WHERE id = :library_id RETURNING rules, doubted;

-- end_scan: writes down how a scan ended.
UPDATE libraries SET scan_state = :state, scan_files = :files, scan_finished_at = :finished_at,
  scan_error = :error, doubted = :doubted, rules = CASE :state WHEN 'done' THEN :rules ELSE rules END
WHERE id = :library_id;

-- known_files: a stretch of the files that were there at the last scan.
SELECT path, size, mtime_ns, grouped, role = 'track' AS track, book_id FROM files
WHERE library_id = :library_id AND path > :after AND present = 1 ORDER BY path LIMIT :limit;

-- files_at: everything known of a file, or of those below a folder.
SELECT path, size, mtime_ns, facts FROM files
WHERE library_id = :library_id AND present = 1 AND (path = :name OR (path > :name || '/' AND path < :name || '0'));

-- books_at: the books at a path or below it.
SELECT id, path, path_key, title, state, evidence, digest, duration, size FROM books
WHERE library_id = :library_id AND (path = :name OR (path > :name || '/' AND path < :name || '0'));

-- books_by_id: the books with the given ids.
SELECT id, path, path_key, title, state, evidence, digest, duration, size FROM books
WHERE id IN (SELECT value FROM json_each(:ids));

-- missing_books: the books that are missing.
SELECT id, path, path_key, title, state, evidence, digest, duration, size FROM books
WHERE library_id = :library_id AND state = 'missing';

-- tracks_by_id: the tracks of the given books, those that are gone among them.
SELECT book_id, path, size, duration, present, coalesce(json_extract(facts, '$.sound'), '') AS sound FROM files
WHERE book_id IN (SELECT value FROM json_each(:ids)) AND role = 'track' ORDER BY book_id, position;

-- put_facts: keeps what was read of a new or changed file until its shelf is sorted.
INSERT INTO files (library_id, path, path_key, size, mtime_ns, facts, duration)
VALUES (:library_id, :path, :path_key, :size, :mtime_ns, :facts, :duration)
ON CONFLICT (library_id, path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns,
  facts = excluded.facts, duration = excluded.duration, grouped = 0, present = 1;

-- put_role: gives a file its place in a book, or none.
UPDATE files SET book_id = :book_id, role = :role, position = :position, grouped = 1, present = 1
WHERE library_id = :library_id AND path = :path;

-- part_file: takes a file out of every book.
UPDATE files SET book_id = NULL, role = NULL, position = NULL, grouped = 1
WHERE library_id = :library_id AND path = :path;

-- lose_file: keeps a track that its book lacks now.
UPDATE files SET present = 0, grouped = 1 WHERE library_id = :library_id AND path = :path;

-- forget_file: forgets a file that is gone.
DELETE FROM files WHERE library_id = :library_id AND path = :path;

-- insert_book: puts a new book in and gives its id.
INSERT INTO books (library_id, path, path_key, title, author, series, sequence, narrator, sort_key, words,
  duration, size, files, state, evidence, digest)
VALUES (:library_id, :path, :path_key, :title, :author, :series, :sequence, :narrator, :sort_key, :words,
  :duration, :size, :files, :state, :evidence, :digest)
RETURNING id;

-- update_book: writes a known book anew, at its present path.
UPDATE books SET path = :path, path_key = :path_key, title = :title, author = :author, series = :series,
  sequence = :sequence, narrator = :narrator, sort_key = :sort_key, words = :words, duration = :duration,
  size = :size, files = :files, state = :state, evidence = :evidence, digest = :digest
WHERE id = :id;

-- park_book: frees the path of a book that is about to get another one.
UPDATE books SET path = char(1) || id, path_key = char(1) || id WHERE id = :id;

-- part_book: takes all its files out of a book, before it is given those at its new path.
UPDATE files SET book_id = NULL, role = NULL, position = NULL WHERE book_id = :id;

-- delete_book: forgets a book whose files are another book's now.
DELETE FROM books WHERE id = :id;

-- put_details: keeps what a book's own page shows.
INSERT INTO book_details (book_id, details) VALUES (:id, :details)
ON CONFLICT (book_id) DO UPDATE SET details = excluded.details;

-- unput_words: takes a book out of the search index.
DELETE FROM book_search WHERE rowid = :id;

-- put_words: puts a book into the search index.
INSERT INTO book_search (rowid, words) VALUES (:id, :words);

-- put_move: remembers a move until the jobs have followed.
INSERT INTO moves (library_id, old_path, new_path) VALUES (:library_id, :old_path, :new_path);

-- miss_book: marks a book as missing.
UPDATE books SET state = 'missing', digest = '' WHERE id = :id AND state != 'missing' RETURNING id;

-- miss_tracks: keeps the tracks of a missing book as they were.
UPDATE files SET present = 0, grouped = 1 WHERE book_id = :id AND role = 'track';

-- forget_rest: forgets the other files of a missing book.
DELETE FROM files WHERE book_id = :id AND role != 'track';
