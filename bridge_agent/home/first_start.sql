-- get: a fact
SELECT value FROM meta WHERE name = ?;

-- keep_new: a fact that is not known yet
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING;

-- keep: a fact, new or changed
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;
