-- survey: what was learnt of a file
SELECT survey FROM surveys WHERE file_key = :file_key;

-- keep_survey: learn a file
INSERT INTO surveys (file_key, survey, used_at) VALUES (:file_key, :survey, :now)
ON CONFLICT (file_key) DO UPDATE SET survey = excluded.survey, used_at = excluded.used_at;

-- use_survey: it is wanted again
UPDATE surveys SET used_at = :now WHERE file_key = :file_key;

-- language: the language that was heard
SELECT language, sure FROM languages WHERE survey_key = :survey_key;

-- keep_language: learn a book's language
INSERT INTO languages (survey_key, language, sure, used_at) VALUES (:survey_key, :language, :sure, :now)
ON CONFLICT (survey_key) DO UPDATE SET
  language = excluded.language, sure = excluded.sure, used_at = excluded.used_at;

-- forget_surveys: what nobody has asked for in a long while
DELETE FROM surveys WHERE used_at < :before;

-- forget_languages: the same of languages
DELETE FROM languages WHERE used_at < :before;

-- speeds: how fast executors were with a model
SELECT executor, speed FROM speeds WHERE model = :model AND quality = :quality;

-- keep_speed: remember it
INSERT INTO speeds (executor, model, quality, speed) VALUES (:executor, :model, :quality, :speed)
ON CONFLICT (executor, model, quality) DO UPDATE SET speed = excluded.speed;
