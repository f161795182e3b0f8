-- add_stretch: keeps the text of some seconds.
INSERT INTO stretches (id, start_ms, chapter, text) VALUES (:id, :start_ms, :chapter, :text);

-- index_stretch: makes its words findable.
INSERT INTO spoken (rowid, words) VALUES (:id, :words);

-- unindex_stretch: takes its words out again; they must be the ones that were put in.
INSERT INTO spoken (spoken, rowid, words) VALUES ('delete', :id, :words);

-- stretches_of: the stretches with ids of a range, in order.
SELECT id, start_ms, chapter, text FROM stretches WHERE id BETWEEN :first AND :last ORDER BY id;

-- remove_stretches: forgets the stretches with ids of a range.
DELETE FROM stretches WHERE id BETWEEN :first AND :last;

-- learn_word: counts a word's uses up.
INSERT INTO vocabulary (word, uses) VALUES (:word, :uses)
ON CONFLICT (word) DO UPDATE SET uses = uses + excluded.uses;

-- unlearn_word: counts a word's uses down.
UPDATE vocabulary SET uses = uses - :uses WHERE word = :word;

-- forget_words: drops words that nobody says any more.
DELETE FROM vocabulary WHERE uses <= 0;

-- known_word: whether a word is said at all.
SELECT uses FROM vocabulary WHERE word = :word;

-- words_like: the words that begin so, the commonest first.
SELECT word FROM vocabulary WHERE word >= :first AND word < :after ORDER BY uses DESC, word LIMIT :limit;

-- find: the next stretches that match.
SELECT rowid FROM spoken WHERE spoken MATCH :match AND rowid > :after ORDER BY rowid LIMIT :limit;

-- stretch: one stretch with those after it.
SELECT id, start_ms, chapter, text FROM stretches WHERE id BETWEEN :id AND :id + :more ORDER BY id;

-- place: whose stretch it is.
SELECT transcripts.title, transcripts.author, chapters.title AS chapter
FROM transcripts LEFT JOIN chapters ON transcript_id = transcripts.id AND number = :chapter
WHERE transcripts.id = :transcript_id;
