-- libraries: all libraries with how many books are there, in the order they were added.
SELECT id, name, root, scan_state, scan_files, scan_finished_at, scan_error, doubted,
  (SELECT count(*) FROM books WHERE library_id = libraries.id AND state != 'missing') AS books
FROM libraries ORDER BY id;

-- add_library: puts a library in and gives its id.
INSERT INTO libraries (name, root, added_at) VALUES (:name, :root, :added_at) RETURNING id;

-- remove_library: forgets a library with all its books, files and moves.
DELETE FROM libraries WHERE id = :library_id RETURNING id;

-- count_books: how many books of a library are there.
SELECT count(*) FROM books WHERE library_id = :library_id AND state != 'missing';

-- list_books: a page of books by title.
SELECT id, path, title, author, series, sequence, duration, size, files, state, sort_key FROM books
WHERE library_id = :library_id AND (sort_key, path) > (:after_key, :after_path)
ORDER BY sort_key, path LIMIT :limit;

-- search_ids: books that hold all words, of all libraries, up to a limit.
SELECT rowid FROM book_search WHERE book_search MATCH :match LIMIT :limit;

-- list_found: a page by title of those of the given books that hold all words in full.
-- The plus keeps SQLite from walking the whole library by title instead of looking the ids up.
SELECT id, path, title, author, series, sequence, duration, size, files, state, sort_key FROM books
WHERE id IN (SELECT value FROM json_each(:ids)) AND +library_id = :library_id
  AND (+sort_key, path) > (:after_key, :after_path)
  AND instr(words, :w0) AND instr(words, :w1) AND instr(words, :w2)
  AND instr(words, :w3) AND instr(words, :w4) AND instr(words, :w5)
ORDER BY +sort_key, path LIMIT :limit;

-- list_matching: a page by title of the books that hold all words, for words that very many books hold.
SELECT id, path, title, author, series, sequence, duration, size, files, state, sort_key FROM books
WHERE id IN (
  SELECT id FROM books INDEXED BY books_by_title
  WHERE library_id = :library_id AND (sort_key, path) > (:after_key, :after_path)
    AND instr(words, :w0) AND instr(words, :w1) AND instr(words, :w2)
    AND instr(words, :w3) AND instr(words, :w4) AND instr(words, :w5)
  ORDER BY sort_key, path LIMIT :limit
)
ORDER BY +sort_key, path;

-- book_at: the book with this very path.
SELECT * FROM books WHERE library_id = :library_id AND path = :path;

-- book_at_key: the book whose path is the same in another Unicode form.
SELECT * FROM books INDEXED BY books_by_key
WHERE library_id = :library_id AND path_key = :path_key ORDER BY path LIMIT 1;

-- sample: the first whole book among the first five by title (R-097).
SELECT * FROM (
  SELECT * FROM books WHERE library_id = :library_id ORDER BY sort_key, path LIMIT 5
) WHERE state = 'whole' ORDER BY sort_key, path LIMIT 1;

-- details_of: what a book's own page shows.
SELECT details FROM book_details WHERE book_id = :book_id;

-- tracks_of: a book's tracks in reading order; of a missing book, those it had.
SELECT path, size, duration, present FROM files
WHERE book_id = :book_id AND role = 'track' AND (present = 1 OR :missing) ORDER BY position;

-- media_at: an indexed file that may be served.
SELECT path FROM files
WHERE library_id = :library_id AND path = :path AND present = 1 AND book_id IS NOT NULL
  AND role IN ('track', 'version', 'cover');

-- media_at_key: the same by another Unicode form of its path.
SELECT path FROM files INDEXED BY files_by_key
WHERE library_id = :library_id AND path_key = :path AND present = 1
  AND book_id IS NOT NULL AND role IN ('track', 'version', 'cover')
ORDER BY path LIMIT 1;

-- moves: what moved and was not yet told, in the order it happened.
SELECT id, library_id, old_path, new_path FROM moves ORDER BY id;

-- end_move: forgets a move that was told.
DELETE FROM moves WHERE id = :id;
