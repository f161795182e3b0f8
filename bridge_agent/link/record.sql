-- load: the one server this Bridge is paired with
SELECT server_url, server_id, server_name, paired_at, libraries FROM pairing WHERE only = 1

-- save: a pairing in place of an earlier one
INSERT INTO pairing (only, server_url, server_id, server_name, paired_at, libraries)
VALUES (1, ?, ?, ?, ?, ?)
ON CONFLICT (only) DO UPDATE SET
  server_url = excluded.server_url, server_id = excluded.server_id, server_name = excluded.server_name,
  paired_at = excluded.paired_at, libraries = excluded.libraries

-- save_libraries: what the server lists now
UPDATE pairing SET libraries = ? WHERE only = 1 AND server_id = ?

-- delete: unpair
DELETE FROM pairing

-- spent: the hash of the environment's code that needs no second try
SELECT value FROM meta WHERE name = 'spent_code'

-- spend: remember a code's hash
INSERT INTO meta (name, value) VALUES ('spent_code', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
