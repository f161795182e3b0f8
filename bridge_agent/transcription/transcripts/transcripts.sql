-- put: keeps a transcript, or what came anew of the same files and settings.
INSERT INTO transcripts (reuse_key, folder, title, author, words, entry)
VALUES (:reuse_key, :folder, :title, :author, :words, :entry)
ON CONFLICT (reuse_key) DO UPDATE SET folder = excluded.folder, title = excluded.title,
  author = excluded.author, words = excluded.words, entry = excluded.entry
RETURNING id;

-- of_key: the transcript of these files and settings.
SELECT id, folder, entry FROM transcripts WHERE reuse_key = :reuse_key;

-- get: one transcript.
SELECT id, folder, entry FROM transcripts WHERE id = :id;

-- list: the newest transcripts before an id whose title, author or path holds all the words.
SELECT id, folder, entry FROM transcripts
WHERE id < :before AND instr(words, :w0) AND instr(words, :w1) AND instr(words, :w2) AND instr(words, :w3)
ORDER BY id DESC LIMIT :limit;

-- folders: all folders that belong to a transcript.
SELECT id, folder FROM transcripts;

-- remove: forgets a transcript.
DELETE FROM transcripts WHERE id = :id RETURNING folder;

-- remove_chapters: forgets the names of a transcript's chapters.
DELETE FROM chapters WHERE transcript_id = :transcript_id;

-- add_chapter: names a chapter.
INSERT INTO chapters (transcript_id, number, title) VALUES (:transcript_id, :number, :title);
