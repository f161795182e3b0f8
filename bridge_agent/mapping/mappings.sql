-- mappings: where this machine sees a server's libraries
SELECT library_id, path FROM mappings WHERE server_id = ?

-- outcomes: the last check of each of a server's libraries
SELECT outcome FROM mapping_checks WHERE server_id = ?

-- set: where this machine sees a library
INSERT INTO mappings (server_id, library_id, path) VALUES (?, ?, ?)
ON CONFLICT (server_id, library_id) DO UPDATE SET path = excluded.path

-- clear: the server's own path counts again
DELETE FROM mappings WHERE server_id = ? AND library_id = ?

-- keep: a check's outcome in place of the one before
INSERT INTO mapping_checks (server_id, library_id, outcome) VALUES (?, ?, ?)
ON CONFLICT (server_id, library_id) DO UPDATE SET outcome = excluded.outcome
